"""Write tables of pages."""

from collections.abc import Sequence


def in_lines(rows: Sequence[Sequence[str]]) -> str:
    """Write rows, of which the first holds the headings and the second dashes, as a table."""
    return "".join(f"| {' | '.join(row)} |\n" for row in rows).replace("| --- ", "|---")
