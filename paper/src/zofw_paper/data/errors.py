"""The one error of this room."""

from __future__ import annotations


class DataError(ValueError):
    """Data that are missing, damaged, malformed or not what their name promises; it names the file."""
