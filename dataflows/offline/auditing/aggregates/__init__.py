"""Audit figures over many people: records of a made-up population through the whole pipeline."""
