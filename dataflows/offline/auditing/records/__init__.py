"""Audit kinds that release something for each record, or for each batch of records."""
