"""Facts that a method states: its page, the tables and the laws it is tested by are made of them.

A formula is an arithmetic expression in n, d, t, ``refresh``, the method's settings and the letters that stand for some of
them. The suite compares it with a session and the pages show it, so the number on a page is the number that a run is charged.
What only readers need (when to use the method, its rates) is in the head of its page in ``docs/methods``.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

LETTERS = {"S": "batch_size", "b": "directions", "q": "period", "rho": "averaging"}
"""Letters of formulas and their settings; other settings keep their names in formulas."""

OPERATORS: dict[type[ast.AST], Callable[..., float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
    ast.Eq: operator.eq,
}
FUNCTIONS: dict[str, Callable[..., float]] = {"ceil": math.ceil, "sqrt": math.sqrt, "min": min, "max": max}


@dataclass(frozen=True)
class Estimate:
    """The law of the first estimate g of ∇f = c for a linear f with n = 1, as formulas.

    Attributes
    ----------
    spread
        E‖g − E g‖²/‖E g‖², the trace of the covariance.
    along
        The variance of ⟨g, c⟩ over the square of its mean; None if it depends on c.
    mean
        a with E g = a·c; None if g is known up to a factor only, as for a method that projects
        x − ηg.
    later
        w with E[g_t | the past] = w∇f(x_t) + (1 − w)g_{t−1} in every iteration: "1" for an
        unbiased estimate, ρ for an average. g_{t−1} is the field ``g`` of the state. None for
        any other law.
    """

    spread: str
    along: str | None = None
    mean: str | None = "1"
    later: str | None = None


@dataclass(frozen=True)
class Facts:
    """The facts that one method states.

    Attributes
    ----------
    queries
        Evaluations of single components in iteration t, a formula; ``adaptive`` if there is
        none.
    lmo
        LMO calls of an iteration: a formula, or the minimum and the maximum; 0 for a method
        that projects.
    estimate
        The law of the first estimate, if it is known.
    share, within
        On easy noiseless sums the method attains this share of Frank-Wolfe's decrease within so
        many queries.
    units
        Settings with a unit of f, and the power of f's scale by which they are multiplied when
        f is.
    """

    queries: str
    lmo: str | tuple[str, str] = "1"
    estimate: Estimate | None = None
    share: float = 0.8
    within: int = 5_000
    units: Mapping[str, int] = field(default_factory=dict)

    def names(self, settings: object, n: int, d: int) -> dict[str, float]:
        """Return the numbers that names and letters stand for in resolved settings."""
        own = vars(settings)
        return own | {letter: own[name] for letter, name in letters_of(own).items()} | {"n": n, "d": d}


def letters_of(settings: Iterable[str]) -> dict[str, str]:
    """Return the letters of formulas that stand for one of these settings, and which."""
    return {letter: name for letter, name in LETTERS.items() if name in {*settings}}


def evaluate(formula: str | float, names: Mapping[str, float]) -> float:
    """Return the value of a formula, which may contain only arithmetic.

    >>> evaluate("2*n*b if refresh else 4*S*b", {"n": 10, "b": 2, "S": 3, "refresh": False})
    24
    """
    return _value(ast.parse(str(formula), mode="eval").body, names)


def _value(node: ast.expr, names: Mapping[str, float]) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return value
        case ast.Name(id="inf"):
            return math.inf
        case ast.Name(id=name):
            return names[name]
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            return OPERATORS[type(op)](_value(left, names), _value(right, names))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, names)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return _value(body if _value(test, names) else orelse, names)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
            return FUNCTIONS[name](*(_value(argument, names) for argument in args))
    raise ValueError(
        f"A formula is made of numbers, letters and arithmetic; {ast.unparse(node)!r} is neither."
    )
