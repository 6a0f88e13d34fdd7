"""`python -m fugu` is `fugu`."""

from fugu.dataflows.commands.cli import main

main()
