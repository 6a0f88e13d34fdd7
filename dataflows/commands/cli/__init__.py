"""Hold the entry point of the `fugu` command."""
