"""The ledger: a compacted topic that says what every pipeline promises and what streams spent."""
