"""Hold what sections of pipeline files and of other documents have in common."""

import ast
import inspect
import re
import sys
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    WithJsonSchema,
)
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema


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


_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 43
"""A secret of 32 bytes is longer, in hexadecimal and in base64."""


def is_name_of_variable(value: object) -> bool:
    """Return whether a value can be the name of an environment variable, and no secret of Fugu.

    >>> is_name_of_variable("FUGU_SECRET"), is_name_of_variable("deadbeef" * 8)
    (True, False)
    """
    if not isinstance(value, str) or len(value) > _LONGEST_NAME:
        return False
    return _NAME.fullmatch(value) is not None


def described_schema(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Return the JSON Schema of a model; every field with a docstring has a description.

    Pydantic would read docstrings from the source of every section at every start, which costs as
    much as reading the pipeline file.
    """
    return model.model_json_schema(mode=mode, schema_generator=_Describing)


class _Describing(GenerateJsonSchema):
    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        written = super().model_schema(schema)
        model = schema["cls"]
        for name, told in _docstrings(model).items():
            entry = written["properties"].get(model.model_fields[name].alias or name)
            if entry is not None:
                entry.setdefault("description", told)
        return written


def _docstrings(model: type[BaseModel]) -> dict[str, str]:
    """Return the docstrings of the fields of a model, also of those that it inherits."""
    told: dict[str, str] = {}
    for base in reversed(model.__mro__):
        if issubclass(base, BaseModel) and base is not BaseModel:
            own = _in_source(base)
            told = {name: text for name, text in told.items() if not _declared(base, name)} | own
    return {name: text for name, text in told.items() if name in model.model_fields}


def _declared(base: type, name: str) -> bool:
    return name in inspect.get_annotations(base)


@cache
def _in_source(base: type) -> dict[str, str]:
    """Return the docstrings of the fields that a class declares itself."""
    declared = _classes(base.__module__)[base.__name__]
    found = {}
    for statement, following in zip(declared.body, declared.body[1:], strict=False):
        match statement, following:
            case (
                ast.AnnAssign(target=ast.Name(id=name)),
                ast.Expr(value=ast.Constant(value=str(text))),
            ):
                found[name] = inspect.cleandoc(text)
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    parsed = ast.parse(inspect.getsource(sys.modules[module]))
    return {one.name: one for one in parsed.body if isinstance(one, ast.ClassDef)}
