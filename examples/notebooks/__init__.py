"""Three notebooks for analysts, who read sanitized topics with `fugu.read`."""
