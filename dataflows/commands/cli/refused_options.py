"""Say what is wrong with an option in the words of the command line alone."""

from typing import Any

import typer
from typer.core import TyperGroup

_OF_PYDANTIC = "Value error, "


class Commands(TyperGroup):
    """Take out of refusals of options what the library that checks them writes before the text."""

    def invoke(self, ctx: typer.Context) -> Any:  # type: ignore[override]
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            error.message = error.message.removeprefix(_OF_PYDANTIC)
            raise
