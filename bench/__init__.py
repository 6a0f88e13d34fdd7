"""Benchmarks on a real Kafka: `make bench`. They measure and never judge; nothing here is timed."""
