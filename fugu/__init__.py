"""Privacy mechanisms for streams, by name."""
