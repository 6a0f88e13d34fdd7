"""JSON in and out: records as they arrive, values as mechanisms read them, releases as JSON."""
