"""Hold what sections of pipeline files, and of other documents, have in common."""

from decimal import Decimal
from pathlib import Path
from typing import Annotated

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
)


class Section(BaseModel):
    """Refuse unknown keys, coerce no value, and never change once read."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
    )


INTEGERS = range(-(2**63), 2**64)
"""The integers that JSON, as it is read and written here, can hold."""
Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _decimal(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise ValueError("write a number")
    return Decimal(str(number))


Exact = Annotated[
    Decimal,
    BeforeValidator(_decimal),
    Field(allow_inf_nan=False),
    WithJsonSchema({"type": "number"}),
]
"""A number as it is written, digit by digit."""


NO_FILES = object()
"""The context of a section that others wrote: it names no file of this machine."""


def named_file(given: str, about: ValidationInfo) -> Path:
    """Return the path of a file that a section names, relative to the folder in the context."""
    if about.context is NO_FILES:
        raise ValueError("a section that others wrote may name no file of this machine")
    return Path(about.context or "") / Path(given).expanduser()
