"""Choose the family of an operator."""
