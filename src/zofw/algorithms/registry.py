"""The methods by name."""

from __future__ import annotations

from zofw.registry import Registry

methods = Registry("method")
