"""Heart rates by the minute, published unchanged and displaced in time."""
