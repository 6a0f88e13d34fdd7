"""Test what is deployed beside Fugu."""
