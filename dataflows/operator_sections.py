"""The `operator` section of a pipeline file: one typed section for each family of mechanisms."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

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


def _decimal(number: object) -> object:
    if isinstance(number, bool) or not isinstance(number, int | float):
        raise ValueError("write a number")
    return Decimal(str(number))


Exact = Annotated[Decimal, BeforeValidator(_decimal), Field(allow_inf_nan=False)]
"""A number as it is written, digit by digit."""


class SymbolOperator(Section):
    """One symbol of an alphabet in; epsilon in nats per release."""

    reads: ClassVar[frozenset[str]] = frozenset({"alphabet", "other"})

    alphabet: Annotated[list[str] | list[int], BeforeValidator(_alphabet)]
    epsilon: Annotated[Epsilon, Field(le=50)]
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
            "epsilon": f"{self.epsilon:g} nats per release",
            "alphabet": ", ".join(str(symbol) for symbol in self.alphabet),
            "unknown symbols": "dead letter" if self.other is None else f"become {self.other}",
        }


class MarkovOperator(SymbolOperator):
    """One symbol out, relative to a Markov model."""

    kind: Literal["crr", "paper_crr"]
    model: str
    accept_unsound: bool = False

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.kind == "paper_crr" and not self.accept_unsound:
            raise ValueError(
                "paper_crr breaks its own privacy claim and is a baseline for comparison; "
                "write kind: crr, or accept_unsound: true if you know why you want it"
            )
        return self

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {**super().parameters(), "model": self.model}

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "confidence is the probability that the released symbol is the true one, given all "
            "releases of the stream; 1 minus its mean is the expected share of wrong releases.",
            "released shares are biased towards likely symbols; average the posteriors instead "
            "(ConditionalRandomizedResponse.observe over the releases of each key, in order).",
        ]


class LaplaceOperator(Section):
    """One number in, clamped to a declared range, the number with noise out."""

    reads: ClassVar[frozenset[str]] = frozenset({"unit"})

    kind: Literal["laplace"]
    lower: Exact
    upper: Exact
    epsilon: Annotated[Epsilon, Field(le=20)]
    unit: Exact = Decimal(1)

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.unit <= 0 or Fraction(1) % Fraction(self.unit) != 0:
            raise ValueError(
                "unit: must be 1 divided by a whole number, such as 1, 0.5, 0.1 or 0.01"
            )
        if any(Fraction(bound) % Fraction(self.unit) != 0 for bound in (self.lower, self.upper)):
            raise ValueError("lower and upper must be whole numbers of unit")
        if self.lower >= self.upper:
            raise ValueError("lower must be below upper")
        return self

    @property
    def units_per_one(self) -> int:
        """How many units make 1."""
        return int(1 / Fraction(self.unit))

    def in_units(self, number: Decimal) -> int:
        """A bound of the range in units."""
        return int(Fraction(number) / Fraction(self.unit))

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        return {
            "epsilon": f"{self.epsilon:g} nats per release",
            "range": f"{self.lower} to {self.upper}; what is outside is read as the nearer end",
            "unit": str(self.unit),
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "a released number is the true one, clamped to the range, plus noise with mean 0 and "
            "the standard deviation above: sums and means are unbiased, and may leave the range.",
            "the mean of n releases errs by the standard deviation divided by the root of n.",
            "clamping is not undone: a range that is too narrow biases what lies outside.",
        ]


class AdaptiveOperator(SymbolOperator):
    """Publish anew or repeat, relative to a Markov model; `epsilon` is that of a fresh symbol."""

    kind: Literal["adaptive_crr"]
    model: str
    decision_epsilon: Annotated[Epsilon, Field(le=50)]
    distance: Literal["symbol", "steps"] = "symbol"

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        good_enough = {
            "symbol": "if it is still the true symbol",
            "steps": "if it is no further from the true symbol than a fresh one is expected to be",
        }[self.distance]
        return {
            **super().parameters(),
            "epsilon": f"{self.epsilon:g} nats per fresh release",
            "decision": f"{self.decision_epsilon:g} nats per record, fresh or repeated",
            "the last release is repeated": f"{good_enough}, up to noise",
            "model": self.model,
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            'a release marked "repeated" says that the last one is, up to noise, still good enough:'
            " that is information, and it is counted in the promise. Do not leave it out.",
            "confidence is the probability that the published symbol is the true one, given "
            "everything published; 1 minus its mean is the expected share of wrong symbols.",
            "published shares are biased towards likely symbols and towards what was there before; "
            "average the posteriors instead (AdaptiveRelease.observe, over all records in order).",
        ]


class ColdStartOperator(SymbolOperator):
    """No model is declared: every stream learns one from its own first releases."""

    kind: Literal["cold_start_crr"]
    positions: Annotated[int, Field(ge=1)] | None = None
    alpha: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    when_short: Literal["refuse", "accept"] = "refuse"

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        first = "as many as are enough" if self.positions is None else f"{self.positions:,}"
        return {
            **super().parameters(),
            "records before a model is learned": first,
            "model": "each stream's own, learned once from its first releases and then frozen",
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "confidence is null until a stream has learned its model; until then count releases as "
            "those of randomized response, and undo the bias.",
            "afterwards confidence is the probability that the released symbol is the true one "
            "under that model, which is learned from noise: it is right as far as the model is.",
            "how many records a stream has behind it tells which of the two applies; when the "
            "switch comes depends on nothing but that number.",
        ]


Operator = Annotated[
    MarkovOperator | AdaptiveOperator | ColdStartOperator | LaplaceOperator,
    Field(discriminator="kind"),
]
