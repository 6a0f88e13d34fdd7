"""What `fugu audit` does: exact worst cases, and attacks on the real operator."""
