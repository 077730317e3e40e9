"""Docstrings for a terminal: formulas as characters."""

from __future__ import annotations

import re

NAMES = r"\le \ge \sum \max \min \infty \in \| \langle \rangle \times \dots \succeq \sigma \lambda \mu \top \pm \sqrt"
SIGNS = dict(
    zip(
        NAMES.split(),
        ["≤", "≥", "Σ", "max", "min", "∞", "∈", "‖", "⟨", "⟩", "×", "…", "⪰", "σ", "λ", "μ", "T", "±", "√"],
        strict=True,
    )
)
SIGNS |= {r"\,": " ", r"\ ": " ", r"\log": "log", r"\Bigl": "", r"\Bigr": "", r"\bigl": "", r"\bigr": ""}
PART = r"(?:\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}|\s*(\d|[a-zA-Z]))"  # {…} or one character
SCRIPTS = {
    "_": dict(zip("0123456789ipnjmk∞", "₀₁₂₃₄₅₆₇₈₉ᵢₚₙⱼₘₖ∞", strict=True)),
    "^": dict(zip("0123456789Tn", "⁰¹²³⁴⁵⁶⁷⁸⁹ᵀⁿ", strict=True)),
}


def plain(text: str) -> str:
    """The text with its roles removed and its formulas written in characters.

    Examples
    --------
    >>> plain(r"The ball :math:`\\{x : \\|x\\|_2 \\le r\\}` of `L2Ball`.")
    'The ball {x : ‖x‖₂ ≤ r} of L2Ball.'
    """
    text = re.sub(r":math:`([^`]*)`", lambda match: _formula(match[1]), text)
    return re.sub(r"(?::\w+:)?`+~?([^`]*)`+", r"\1", text)


def _formula(tex: str) -> str:
    tex = tex.replace(r"\mathbb{R}", "ℝ")
    tex = re.sub(r"\\(?:mathrm|mathcal|operatorname|text)\{([^{}]*)\}", r"\1", tex)
    tex = re.sub(rf"\\t?frac{PART}{PART}", r"\1\2/\3\4", tex)
    tex = re.sub(r"\\bar ?(\w)", "\\1\u0304", tex)
    tex = tex.replace(r"\{", "⦃").replace(r"\}", "⦄")  # braces that are meant, apart from those that group
    for sign in sorted(SIGNS, key=len, reverse=True):
        end = r"(?![a-zA-Z])" if sign[-1].isalpha() else ""
        tex = re.sub(re.escape(sign) + end, SIGNS[sign], tex)
    tex = re.sub(r"([_^])(?:\{([^{}]*)\}|(\S))", _script, tex)
    return " ".join(tex.replace("⦃", "{").replace("⦄", "}").split())


def _script(match: re.Match[str]) -> str:
    """An index or a power: small characters where there are any, else written out."""
    mark, text = match[1], (match[2] or match[3]).replace(" ", "")
    small = [SCRIPTS[mark].get(character, "") for character in text]
    if all(small):
        return "".join(small)
    return f"{mark}{text}" if len(text) < 3 else f"{mark}({text})"
