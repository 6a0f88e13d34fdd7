"""The `fugu` command."""

from dataflows.cli.fugu import app, main

__all__ = ["app", "main"]
