"""Report for `fugu leakage` what releases over time tell."""
