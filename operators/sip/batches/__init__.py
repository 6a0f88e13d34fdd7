"""Release a batch of symbols at once: one file per algorithm, and the choice among them."""
