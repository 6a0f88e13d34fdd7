"""Running totals by factorised noise."""
