"""Attack anonymised windows, and measure what is lost in them, for `fugu audit` and `evaluate`."""
