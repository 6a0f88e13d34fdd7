"""Operators whose values are symbols of a declared alphabet."""

from typing import Annotated, ClassVar, Self

from pydantic import BeforeValidator, Field, model_validator

from dataflows.section import Section

Epsilon = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def _alphabet(symbols: object) -> object:
    if not isinstance(symbols, list) or not symbols:
        raise ValueError("write a list of symbols, such as [rest, light, vigorous]")
    for number, symbol in enumerate(symbols, start=1):
        if type(symbol) not in (str, int):
            raise ValueError(
                f"symbol {number} is neither text nor an integer; put quotes around it "
                "(YAML reads a bare on, off, yes, no, null or 1.5 as something else)"
            )
    if len({type(symbol) for symbol in symbols}) > 1:
        raise ValueError("symbols must be all text or all integers; put quotes around every one")
    if len(set(symbols)) != len(symbols):
        raise ValueError("every symbol may be listed once")
    return symbols


Alphabet = Annotated[list[str] | list[int], BeforeValidator(_alphabet)]


class AlphabetOperator(Section):
    """Symbols of an alphabet in."""

    reads: ClassVar[frozenset[str]] = frozenset({"alphabet", "other"})

    alphabet: Alphabet
    other: str | int | None = None

    @model_validator(mode="after")
    def _check_other(self) -> Self:
        if self.other is not None and self.other not in self.alphabet:
            raise ValueError(
                "other must be one of the alphabet: it is the symbol released in place of "
                "unknown ones"
            )
        return self

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {
            "alphabet": ", ".join(str(symbol) for symbol in self.alphabet),
            "unknown symbols": "dead letter" if self.other is None else f"become {self.other}",
        }


class SymbolOperator(AlphabetOperator):
    """One symbol in; epsilon in nats per release."""

    epsilon: Annotated[Epsilon, Field(le=50)]

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {"epsilon": f"{self.epsilon:g} nats per release", **super().parameters()}
