"""The `fugu` command."""

from fugu.dataflows.commands.cli.fugu import app, main

__all__ = ["app", "main"]
