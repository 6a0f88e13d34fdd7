"""`fugu leakage`: what releases over time tell, for people and machines."""
