"""Hold what kinds of operators share with their families."""
