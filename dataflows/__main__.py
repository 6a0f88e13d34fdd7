"""`python -m dataflows` is `fugu`."""

from dataflows.cli import main

main()
