"""Everything that touches the outside: Kafka, bytewax, files, the command line."""
