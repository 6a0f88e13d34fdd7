"""`fugu policy ...`."""

from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.commands.cli.arguments import AsJson, Plot

app = typer.Typer(no_args_is_help=True, help="Check and look at policies: what to hide, and when.")

DocumentPath = Annotated[
    Path, typer.Argument(metavar="POLICIES", help="The policy document (YAML or JSON).")
]


@app.command("check")
def policy_check(path: DocumentPath, as_json: AsJson = False) -> None:
    """Check a policy document; exit with 1 if it cannot be used.

    Prints collections and policies, how often they occur, what they ask for at most, and remarks on
    what may not be meant.
    """
    from fugu.dataflows.commands.policy_check import check

    check(path, as_json)


@app.command("show")
def policy_show(
    path: DocumentPath,
    from_: Annotated[
        datetime | None,
        typer.Option(
            "--from", formats=["%Y-%m-%d"], metavar="DAY", help="Else that of the first occurrence."
        ),
    ] = None,
    until: Annotated[
        datetime | None,
        typer.Option(formats=["%Y-%m-%d"], metavar="DAY", help="The last day; else a week."),
    ] = None,
    plot: Plot = None,
    as_json: AsJson = False,
) -> None:
    """Show what is hidden when, what that takes, and how much noise it saves.

    For every stretch of time: who hides what, the sensitivity of a tick, and the largest delta of
    an interval, that is, how many of its ticks can differ.
    """
    from fugu.dataflows.commands.policy_show import Options, show

    first, last = (None if moment is None else moment.date() for moment in (from_, until))
    show(path, Options(first, last, plot, as_json))
