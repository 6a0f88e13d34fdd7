"""Hold what sections of pipeline files, and of other documents, have in common."""

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema


class Section(BaseModel):
    """Refuse unknown keys, coerce no value, and never change once read."""

    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        strict=True,
        hide_input_in_errors=True,
        use_attribute_docstrings=True,
    )


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
