"""Reading sanitized topics: columns, estimates, refusals, exports."""
