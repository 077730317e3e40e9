"""Weights that sum to one, and parameters in any other convex set, for Optuna."""

from zofw.adapters import ZOSampler

__all__ = ["ZOSampler"]
