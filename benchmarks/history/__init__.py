"""Times that are kept from commit to commit: ``asv run --python=same``, ``asv publish``, ``asv preview``."""
