"""Carry what streams have spent, and what readers know of them, over to another law."""
