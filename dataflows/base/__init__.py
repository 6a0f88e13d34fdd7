"""Hold what every floor above uses: errors, batches of records, ticks, durations, logs, metrics."""
