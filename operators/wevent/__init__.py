"""w-event strategies: sums of many users, released tick by tick, under a budget per window."""
