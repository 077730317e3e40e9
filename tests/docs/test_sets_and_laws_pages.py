"""Every set and every law has its row, and the constants there are the code's."""

from __future__ import annotations

import numpy as np
import pytest
from pages import DOCS, facts

import zofw
from zofw.atoms import Blocks, Dense, RankOne, Sparse
from zofw.problems.registry import problems

SETS = facts.front_matter(DOCS / "sets.md")["sets"]
LAWS = facts.front_matter(DOCS / "laws.md")["laws"]
FORMS = {"dense": Dense, "sparse": Sparse, "rank one": RankOne, "blocks": Blocks}


def test_sets_and_rows_are_the_same():
    assert set(SETS) == set(zofw.sets()), "Every set has its row in the front matter of docs/sets.md."


@pytest.mark.parametrize("name", SETS)
def test_a_row_tells_what_the_set_is(name):
    row = SETS[name]
    region = eval(row["instance"], vars(zofw).copy())
    dim, names = row["dim"], row["symbols"] | {"d": row["dim"]}
    assert type(region) is zofw.sets()[name] and type(region).__name__ == row["class"]
    assert hasattr(region, "project") == (row["projection"] != "—")
    form = row["atom"].partition(",")[0]
    assert isinstance(region.atom(np.arange(dim) - 1.5), FORMS[form])
    if row["diameter"] is not None:
        assert region.diameter(dim) == pytest.approx(facts.evaluate(row["diameter"], names))
    ball = region.inball(dim)
    assert (ball is None) == (row["inball"] is None)
    if (ball is not None and not str(row["inball"]).isalpha()) or row["inball"] == "r":
        assert ball[1] == pytest.approx(facts.evaluate(row["inball"], names))


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
    """A set says its diameter, a source and an example; a law its moments; a problem its formula. Doctests run the examples."""
    wanted = {
        **dict.fromkeys(zofw.sets().values(), ("diameter", "References", ">>>")),
        **dict.fromkeys(zofw.laws().values(), ("E[UUᵀ]", "E‖UUᵀx‖²", ">>>")),
        **dict.fromkeys(problems.values(), (") = ", ">>>")),
    }
    found = {
        cls.__name__: [word for word in words if word not in cls.__doc__] for cls, words in wanted.items()
    }
    lacking = [f"{name} does not say {words}" for name, words in found.items() if words]
    assert not lacking, "; ".join(lacking)
