"""Turn records into values of a mechanism's domain, and releases into records."""
