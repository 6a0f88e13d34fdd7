"""What a pipeline remembers: one table of rows per partition, and the files it lives in."""
