"""A series over all users, released tick by tick, with a filter that learns from releases only."""
