"""Timings as ratios: zofw against the NumPy a researcher would write, both sides interleaved in one run."""
