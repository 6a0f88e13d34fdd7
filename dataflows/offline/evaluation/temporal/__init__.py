"""How useful releases are whose values are true, and whose ticks are not."""
