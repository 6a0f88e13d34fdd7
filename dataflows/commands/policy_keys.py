"""Make a key by which an owner of policies signs changes of them."""

import re
from pathlib import Path
from typing import Annotated

import typer

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.policies.signatures import public_key_of, write_private_key


def keys(
    out: Annotated[
        Path, typer.Option(metavar="FILE", help="A new file, for the private key (PEM).")
    ],
    name: Annotated[str, typer.Option(help="The name of the owner.")] = "owner",
) -> None:
    """Make a key pair, and print the line of the policy document that makes its holder an owner."""
    if not re.fullmatch(r"[a-zA-Z0-9._-]{1,249}", name):
        raise ConfigurationError("--name: use letters, digits, dot, underscore and minus only")
    public = public_key_of(write_private_key(out))
    typer.echo(f"{out} holds the private key; let nobody read it. For the document:", err=True)
    typer.echo(f"owners: [{{name: {name}, ed25519: {public}}}]")
