"""The laws by name."""

from __future__ import annotations

from zofw.registry import Registry

laws = Registry("law of directions")
