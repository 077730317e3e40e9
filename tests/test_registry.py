"""Names for classes."""

from __future__ import annotations

import pytest

from zofw.registry import Registry, UnknownName


def test_registry_is_a_mapping_that_refuses_collisions() -> None:
    shapes = Registry("shape")
    with pytest.raises(KeyError, match=r"There is no shape named 'disc'; there is nothing yet\."):
        shapes["disc"]

    @shapes.register("disc")
    class Disc: ...

    shapes.add("ring", type("Ring", (), {}))
    assert shapes["disc"] is Disc
    assert list(shapes) == ["disc", "ring"]
    assert len(shapes) == 2
    assert "disc" in shapes
    assert "cone" not in shapes
    assert repr(shapes) == "Registry('shape': disc, ring)"
    with pytest.raises(
        ValueError,
        match=r"The shape name 'disc' is already taken by .*Disc; register Ring under another name",
    ):
        shapes.add("disc", shapes["ring"])
    with pytest.raises(UnknownName, match=r"There is no shape named 'disk'; did you mean 'disc'\?"):
        shapes["disk"]
    with pytest.raises(UnknownName, match="there is 'disc', 'ring'"):
        shapes["octagon"]
    assert not hasattr(shapes, "__setitem__")
