"""One file per command of `fugu`."""
