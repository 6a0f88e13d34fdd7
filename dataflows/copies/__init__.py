"""Run one copy of a pipeline whose state is in Kafka, with the partitions that its group gives."""
