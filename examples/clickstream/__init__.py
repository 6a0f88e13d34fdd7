"""Which of 5,000 pages are read most, from a sanitized clickstream."""
