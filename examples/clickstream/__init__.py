"""Find the most read of 5,000 pages in a sanitized clickstream."""
