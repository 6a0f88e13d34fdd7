"""Worked examples: from raw topics to what an analyst reads."""
