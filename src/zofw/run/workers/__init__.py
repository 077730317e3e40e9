"""Queries answered elsewhere: executors, processes, dask clusters."""
