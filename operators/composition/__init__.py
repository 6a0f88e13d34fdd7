"""Compose promises about the same data, by several accounts, or say why they have no sum."""
