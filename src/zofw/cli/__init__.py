"""The command line; other packages add commands."""
