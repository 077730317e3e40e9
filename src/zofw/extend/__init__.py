"""Laws of methods, of laws of directions and of problems, and skeletons of them."""

from __future__ import annotations

from zofw.core import MethodLike
from zofw.extend import bookkeeping, mathematics
from zofw.extend.law import check_law
from zofw.extend.problem import check_problem
from zofw.sets.check import Report, examine

METHOD_LAWS = (*mathematics.LAWS, *bookkeeping.LAWS)


def check_method(method: MethodLike) -> Report:
    """Run the laws of a method on any method, and explain each that is broken.

    Parameters
    ----------
    method
        A registered name, or settings: an object with ``init`` and ``step``.

    Returns
    -------
    Report
        One finding for each law; ``report.ok``, ``print(report)``,
        ``report.raise_if_failed()``.
    """
    subject = mathematics.MethodSubject(method)
    return Report(repr(subject.settings), None, tuple(examine(law, subject) for law in METHOD_LAWS))


__all__ = ["METHOD_LAWS", "check_law", "check_method", "check_problem"]
