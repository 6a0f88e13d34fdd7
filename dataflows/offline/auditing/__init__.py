"""Audit an operator: compute exact worst cases, and attack the real operator."""
