"""Show the kinds of operators: `fugu kinds`, and the table of the README."""

from inspect import cleandoc
from typing import Annotated

import typer
from rich.table import Table

from fugu.dataflows.commands.arguments import AsJson
from fugu.dataflows.commands.output import Terminal, print_json
from fugu.dataflows.kinds import KINDS

HEADINGS = ("kind", "what it releases", "what is protected")


def rows() -> list[tuple[str, str, str]]:
    """Return kind, first line of its documentation, and what is protected."""
    return [
        (kind, cleandoc(section.__doc__ or "").split("\n")[0].rstrip("."), section.protected)
        for kind, section in KINDS.items()
    ]


def markdown() -> str:
    """Write the table as it stands in the README."""
    lines = [HEADINGS, ("---",) * 3, *((f"`{kind}`", *rest) for kind, *rest in rows())]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines).replace("| --- ", "|---")


def show_kinds(
    as_json: AsJson = False,
    as_markdown: Annotated[
        bool, typer.Option("--markdown", help="Print the table of the README.")
    ] = False,
) -> None:
    """Show every kind of operator: what it releases, and what is protected."""
    if as_markdown:
        print(markdown(), end="")
    elif as_json:
        entries = [
            dict(zip(HEADINGS, row, strict=True)) | {"example": KINDS[row[0]].example}
            for row in rows()
        ]
        print_json(entries)
    else:
        table = Table(*HEADINGS)
        for row in rows():
            table.add_row(*row)
        Terminal().print(table)
