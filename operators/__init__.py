"""Pure privacy mechanisms: numpy and the standard library only; no Kafka, no clock, no files."""
