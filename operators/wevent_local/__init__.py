"""Release reports of single streams with a budget for any window of records (w-event LDP)."""
