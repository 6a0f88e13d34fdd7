"""Remember what a pipeline must not forget: a table of rows per partition, and its files."""
