"""What a run has become, as values: the run itself, its limits, its trace, its result."""
