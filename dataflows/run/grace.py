"""How long a graceful stop may take."""

GRACE_SECONDS = 25.0
"""Then a process is killed. Container platforms kill after 30 s."""
