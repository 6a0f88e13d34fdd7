"""Share what operators over symbols of a declared alphabet have in common."""

from collections.abc import Sequence
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, ValidationInfo, WithJsonSchema, model_validator

from fugu.dataflows.base.section import Epsilon, named_file
from fugu.dataflows.files.alphabet_file import read_alphabet, require_not_too_many
from fugu.dataflows.kinds.families.section import OperatorSection
from fugu.dataflows.records.symbols import Symbols
from fugu.dataflows.records.values import Values

_MOST_SHOWN = 20


def _alphabet(given: object, about: ValidationInfo) -> object:
    match given:
        case {"file": str(name), **others} if not others:
            path = named_file(name, about)
            try:
                return _checked(read_alphabet(path), "entry" if path.suffix == ".json" else "line")
            except ValueError as error:
                raise ValueError(f"{path}: {error}") from None
        case [_, *_]:
            return _checked(given, "symbol")
    raise ValueError(
        "write a list of symbols, such as [rest, light, vigorous], or {file: FILE} with one on "
        "each line"
    )


def _checked(symbols: object, entry: str) -> object:
    if not isinstance(symbols, list) or not symbols:
        raise ValueError("lists no symbols; write at least one")
    require_not_too_many(len(symbols))
    for number, symbol in enumerate(symbols, start=1):
        if type(symbol) not in (str, int):
            raise ValueError(
                f"{entry} {number} is neither text nor an integer; put quotes around it "
                "(YAML reads a bare on, off, yes, no, null or 1.5 as something else)"
            )
        if type(symbol) is not type(symbols[0]):
            raise ValueError(
                f"{entry} {number} is not of the kind of {entry} 1: symbols must be all text or "
                "all integers; put quotes around every one"
            )
    first: dict[object, int] = {}
    for number, symbol in enumerate(symbols, start=1):
        if first.setdefault(symbol, number) != number:
            raise ValueError(
                f"{entry} {number} is {entry} {first[symbol]} again; every symbol may be listed "
                "once"
            )
    return symbols


_FORMS = [
    *({"type": "array", "items": {"type": kind}, "minItems": 1} for kind in ("string", "integer")),
    {
        "type": "object",
        "properties": {"file": {"type": "string"}},
        "required": ["file"],
        "additionalProperties": False,
    },
]
Alphabet = Annotated[
    list[str] | list[int], BeforeValidator(_alphabet), WithJsonSchema({"anyOf": _FORMS})
]


def in_short(symbols: Sequence[str | int]) -> str:
    """List all symbols of a small alphabet; say how many a large one has, and its ends.

    >>> in_short([f"page-{number}" for number in range(1, 5001)])
    '5,000 symbols: page-1, page-2, …, page-5000'
    """
    names = [str(symbol) for symbol in symbols]
    if len(names) > _MOST_SHOWN:
        return f"{len(names):,} symbols: {names[0]}, {names[1]}, …, {names[-1]}"
    return ", ".join(names)


class AlphabetOperator(OperatorSection):
    """Read symbols of an alphabet: listed here, or in a file that is read with the section."""

    example = "alphabet: [rest, light, moderate, vigorous]\nepsilon: 1.0\n"
    protected = "each symbol, for any prior, per release"
    reads = frozenset({"alphabet", "other"})

    alphabet: Alphabet
    """All symbols: a list, or `{file: FILE}` with one on each line."""
    other: str | int | None = None
    """The symbol that stands for unknown ones; without it, they become dead letters."""

    @model_validator(mode="after")
    def _check_other(self) -> Self:
        if self.other is not None and self.other not in self.alphabet:
            raise ValueError(
                "other must be one of the alphabet: it is the symbol released in place of "
                "unknown ones"
            )
        return self

    def values(self, fields: Sequence[str]) -> Values:
        return Symbols(fields[0], self.alphabet, other=self.other)

    def parameters(self) -> dict[str, object]:
        return {
            "alphabet": in_short(self.alphabet),
            "unknown symbols": "dead letter" if self.other is None else f"become {self.other}",
        }


class SymbolOperator(AlphabetOperator):
    """Release something for each symbol; epsilon counts nats per release."""

    epsilon: Annotated[Epsilon, Field(le=50)]
    """The nats that a release costs."""

    def parameters(self) -> dict[str, object]:
        return {"epsilon": f"{self.epsilon:g} nats per release", **super().parameters()}
