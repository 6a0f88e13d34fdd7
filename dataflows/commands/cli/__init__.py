"""Declare the arguments of the `fugu` command, and call what does the work."""
