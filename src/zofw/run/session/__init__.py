"""The rules of a run: ask, tell, fail, drop, extend, stop."""
