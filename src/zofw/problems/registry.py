"""The problems by name."""

from __future__ import annotations

from zofw.core import Problem
from zofw.registry import Registry

problems: Registry[Problem] = Registry("problem")
