"""What `fugu evaluate` does: the real operator over a sample, and how useful its releases are."""
