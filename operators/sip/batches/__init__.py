"""How a batch of symbols is released at once: one file per algorithm, and the choice among them."""
