"""Report numbers in the local model by continuous laws, as rivals for `fugu evaluate` need them."""
