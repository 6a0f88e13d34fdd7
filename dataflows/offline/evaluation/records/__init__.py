"""Evaluate operators that release symbols or numbers, record by record."""
