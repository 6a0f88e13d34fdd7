"""Choose how a kind is audited."""
