"""The command line: information, skeletons and checks, the request desk; other packages add commands."""
