"""The laws by name."""

from __future__ import annotations

from zofw.core import Law
from zofw.registry import Registry

laws: Registry[Law] = Registry("law of directions")
