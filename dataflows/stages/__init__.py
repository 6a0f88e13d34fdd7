"""Advance the streams of one partition by a batch: per record, per tick, and for aggregates."""
