"""Every set and every law has its row, and the constants there are the code's."""

from __future__ import annotations

import numpy as np
import pytest
from pages import DOCS, facts_of_the_pages

import zofw
from zofw.atoms import Blocks, Dense, RankOne, Sparse
from zofw.problems import problems

facts = facts_of_the_pages()

LAWS = facts.front_matter(DOCS / "laws.md")["laws"]
EXAMPLES: dict[str, tuple[str, int, dict[str, float]]] = {
    "l1-ball": ("L1Ball(2.0)", 6, {"r": 2.0}),
    "l2-ball": ("L2Ball(2.0)", 6, {"r": 2.0}),
    "linf-ball": ("LinfBall(2.0)", 6, {"r": 2.0}),
    "lp-ball": ("LpBall(2.0, 3.0)", 6, {"r": 2.0, "p": 3.0}),
    "box": ("Box(-1.0, 2.0)", 6, {"l": -1.0, "u": 2.0}),
    "simplex": ("Simplex(2.0)", 6, {"a": 2.0}),
    "capped-simplex": ("CappedSimplex(2.0, 1.0)", 6, {"a": 2.0, "c": 1.0}),
    "k-sparse": ("KSparse(2, 1.5)", 6, {"k": 2, "r": 1.5}),
    "group-ball": ("GroupBall([[0, 1, 2], [3, 4, 5]], 1.5)", 6, {"r": 1.5, "m": 2}),
    "nuclear-ball": ("NuclearBall(2.0, (2, 3))", 6, {"r": 2.0, "m": 2, "k": 3}),
    "spectral-ball": ("SpectralBall(2.0, (2, 3))", 6, {"r": 2.0, "m": 2, "k": 3}),
    "spectraplex": ("Spectraplex(3, 2.0)", 9, {"a": 2.0, "k": 3}),
    "birkhoff": ("Birkhoff(3)", 9, {"k": 3}),
    "convex-hull": ("ConvexHull([[0.0, 0.0], [3.0, 0.0], [0.0, 4.0]])", 2, {}),
    "polytope": ("Polytope(A_ub=[[1.0, 1.0]], b_ub=[10.0], bounds=(0.0, 1.0))", 2, {}),
    "product": ("Product([Simplex(), L1Ball(2.0)], [2, 4])", 6, {}),
}
"""An instance of every set, its dimension, and the letters of its facts."""
FORMS = {"dense": Dense, "sparse": Sparse, "rank one": RankOne, "blocks": Blocks}


def test_every_set_has_an_example():
    assert set(EXAMPLES) == set(zofw.sets()), "Give every set a line in EXAMPLES."


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_set_is_as_it_states(name):
    instance, dim, symbols = EXAMPLES[name]
    region = eval(instance, vars(zofw).copy())
    stated, names = region.facts, symbols | {"d": dim}
    assert type(region) is zofw.sets()[name] and "facts" in vars(type(region))
    assert hasattr(region, "project") == (stated.projection != "—")
    form = stated.atom.partition(",")[0]
    assert isinstance(region.atom(np.arange(dim) - 1.5), FORMS[form])
    if stated.diameter is not None:
        assert region.diameter(dim) == pytest.approx(facts.evaluate(stated.diameter, names))
    ball = region.inball(dim)
    assert (ball is None) == (stated.inball is None)
    if ball is not None and (not stated.inball.isalpha() or stated.inball in names):
        assert ball[1] == pytest.approx(facts.evaluate(stated.inball, names))


def test_laws_and_rows_are_the_same():
    assert set(LAWS) == set(zofw.laws()), "Every law has its row in the front matter of docs/laws.md."


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize(("d", "b"), [(5, 1), (12, 5), (9, 9)])
def test_a_row_states_the_constants_of_the_law(name, d, b):
    row, law, names = LAWS[name], zofw.laws()[name](), {"d": d, "b": b}
    scale, moment = law.scale(d, b), law.second_moment(d, b)
    assert type(law).__name__ == row["class"]
    stated = {
        key: facts.evaluate(row[key], names) for key in ("scale", "second_moment", "step", "contraction")
    }
    assert stated["scale"] == pytest.approx(scale)
    assert stated["second_moment"] == pytest.approx(moment)
    assert stated["step"] == pytest.approx(1 / (scale * moment))
    assert stated["contraction"] == pytest.approx(1 - 1 / (scale**2 * moment), abs=1e-12)
    if row["most"] is None:
        law.check(d, d + 1)
    else:
        with pytest.raises(ValueError, match="at most"):
            law.check(d, d + 1)


def test_docstrings_teach_the_mathematics():
    """A set says a source and an example; a law its moments; a problem its formula. Doctests run the examples."""
    wanted = {
        **dict.fromkeys(zofw.sets().values(), ("References", ">>>")),
        **dict.fromkeys(zofw.laws().values(), ("E[UUᵀ]", "E‖UUᵀx‖²", ">>>")),
        **dict.fromkeys(problems.values(), (") = ", ">>>")),
    }
    found = {
        cls.__name__: [word for word in words if word not in cls.__doc__] for cls, words in wanted.items()
    }
    lacking = [f"{name} does not say {words}" for name, words in found.items() if words]
    assert not lacking, "; ".join(lacking)
