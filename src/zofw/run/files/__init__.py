"""A run on disk: documents without pickle, a journal, a lock."""
