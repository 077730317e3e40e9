"""The data sets for examples."""

from __future__ import annotations

import pytest

from zofw.data import load


def test_a_name_of_the_paper_says_where_it_is():
    with pytest.raises(
        ValueError, match=r"load_svmlight_file, or a set of the paper with zofw_paper.data.load"
    ):
        load("a9a")
