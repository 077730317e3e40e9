"""The problems by name."""

from __future__ import annotations

from zofw.registry import Registry

problems = Registry("problem")
