"""`python -m fugu` is `fugu`."""

from fugu.dataflows.commands.cli.fugu import main

main()
