"""From a query to its answer: parts, errors, signals."""
