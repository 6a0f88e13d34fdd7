"""Import a command when it is named: `fugu run` need not wait for what `fugu evaluate` imports."""

from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

import typer
from typer.main import get_command

from fugu.dataflows.commands.cli.interrupted import interruptible
from fugu.dataflows.commands.cli.refused_options import Commands

PLACES = {
    "init": "init:init",
    "validate": "validate:validate",
    "kinds": "kinds:show_kinds",
    "schema": "schema:schema",
    "compile": "compile:compile_code",
    "explain": "explain:explain",
    "report": "report:report",
    "peek": "peek:peek",
    "top": "top:top",
    "export": "export:export_topic",
    "sample": "sample:sample",
    "migrate": "migrate:migrate",
    "ledger": "ledger:ledger",
    "redrive": "redrive:redrive",
    "audit": "audit:audit",
    "evaluate": "evaluate:evaluate",
    "leakage": "leakage:leakage",
}
"""Modules of this folder, and the functions that are commands."""
GROUPS = {
    "state": (
        "Look at, check, move or rotate a stopped state.",
        {
            "show": "state:show",
            "verify": "state:verify",
            "export": "state:export",
            "import": "state:import_",
            "rotate": "state:rotate",
            "repartition": "state_repartition:repartition",
            "rebuild": "state_rebuild:rebuild",
            "claim": "state_claim:claim",
            "move": "state_move:move",
        },
    ),
    "model": (
        "Make and look at models of streams.",
        {"learn": "model_learn:learn", "show": "model_show:show"},
    ),
    "taxonomy": (
        "Look at trees of sensitive values, which anonymize generalises by.",
        {"show": "taxonomy_show:show"},
    ),
    "policy": (
        "Check, show, change and prove policies: what to hide, and when.",
        {
            "check": "policy_check:check",
            "show": "policy_show:show",
            "force": "policy_force:force",
            "change": "policy_change:change_policies",
            "proof": "policy_proof:proof",
            "keys": "policy_keys:keys",
        },
    ),
}


class LoadedCommands(Commands):
    """Have the commands of PLACES and GROUPS, too, each of them from when it is asked for."""

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """Return the names of all commands, in the order of the help."""
        return [*dict.fromkeys([*self.commands, *PLACES, *GROUPS])]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """Return the command of this name; without one, None, and all are there to be suggested."""
        known = self.list_commands(ctx)
        for name in [cmd_name] if cmd_name in known else known:
            if name not in self.commands:
                self.commands[name] = _load(name)
        return self.commands.get(cmd_name)


def _load(name: str) -> Any:
    about, places = GROUPS.get(name, (None, {name: PLACES.get(name, "")}))
    app = typer.Typer(
        name=name,
        no_args_is_help=about is not None,
        help=about,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    if about is not None:
        app.callback()(lambda: None)
    for command, place in places.items():
        module, function = place.split(":")
        found = getattr(import_module(f"fugu.dataflows.commands.{module}"), function)
        app.command(command)(interruptible(_judged(found)))
    return get_command(app)


def _judged(command: Callable[..., object]) -> Callable[..., None]:
    """Exit with 1 where a command returns false."""

    @wraps(command)
    def judged(*arguments: object, **options: object) -> None:
        if command(*arguments, **options) is False:
            raise typer.Exit(1)

    return judged
