"""Make the JSON Schema of a model, with the docstrings of its fields as descriptions.

Pydantic would read them from the source of every section at every start, which costs as much as
reading the pipeline file.
"""

import ast
import inspect
import sys
from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaMode, JsonSchemaValue
from pydantic_core import core_schema


def described_schema(model: type[BaseModel], mode: JsonSchemaMode = "validation") -> dict[str, Any]:
    """Return the JSON Schema of a model; every field with a docstring has a description."""
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
