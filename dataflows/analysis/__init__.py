"""Read sanitized topics as columns, and estimate what they tell, with honest error bars."""
