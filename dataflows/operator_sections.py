"""The `operator` section of a pipeline file: one typed section for each family of mechanisms."""

from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from dataflows.points_file import problem_with
from dataflows.section import Section
from operators.sip.batched_release import LARGEST_WINDOW
from operators.sip.kernels import Mode, Search
from operators.sip.linear_program_kernel import LARGEST_ALPHABET

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
    if isinstance(number, bool) or not isinstance(number, int | float | Decimal):
        raise ValueError("write a number")
    return Decimal(str(number))


Exact = Annotated[Decimal, BeforeValidator(_decimal), Field(allow_inf_nan=False)]
"""A number as it is written, digit by digit."""


class PlacedSymbols(Section):
    """Where each symbol lies: a points file, or one list of coordinates for each symbol."""

    points: str | list[list[float]]


def _distance(distance: object) -> object:
    points = distance.get("points") if isinstance(distance, dict) else None
    inline = isinstance(points, list) and all(
        isinstance(point, list) and all(type(number) in (int, float) for number in point)
        for point in points
    )
    placed = isinstance(distance, dict) and len(distance) == 1 and (inline or type(points) is str)
    if distance not in ("hamming", "ordered") and not placed:
        raise ValueError(
            "write hamming, ordered, {points: FILE}, or {points: [[0, 0], [0, 1]]} with a list "
            "of coordinates for each symbol"
        )
    return distance


Placed = Annotated[Literal["hamming", "ordered"] | PlacedSymbols, BeforeValidator(_distance)]
"""How far apart two symbols are."""


def _fitting(distance: str | PlacedSymbols, before: ValidationInfo) -> str | PlacedSymbols:
    if isinstance(distance, PlacedSymbols) and isinstance(distance.points, list):
        symbols = before.data.get("alphabet", distance.points)
        problem = problem_with(distance.points, len(symbols))
        if problem is not None:
            raise ValueError(problem)
    return distance


def _in_words(distance: str | PlacedSymbols) -> str:
    match distance:
        case PlacedSymbols(points=str(file)):
            return f"Euclidean, between the points of {file}"
        case PlacedSymbols():
            return "Euclidean, between the listed points"
        case name:
            return name


class AlphabetOperator(Section):
    """Symbols of an alphabet in."""

    reads: ClassVar[frozenset[str]] = frozenset({"alphabet", "other"})

    alphabet: Annotated[list[str] | list[int], BeforeValidator(_alphabet)]
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


class MarkovOperator(SymbolOperator):
    """One symbol out, relative to a Markov model."""

    kind: Literal["crr", "paper_crr"]
    model: str
    mode: Mode = "optimal"
    distance: Placed = "hamming"
    kernel: Search = "heuristic"
    accept_unsound: bool = False

    @field_validator("distance")
    @classmethod
    def _check_points(
        cls, distance: str | PlacedSymbols, before: ValidationInfo
    ) -> str | PlacedSymbols:
        return _fitting(distance, before)

    @field_validator("mode", "distance", "kernel")
    @classmethod
    def _check_choice(cls, choice: object, before: ValidationInfo) -> object:
        if before.data.get("kind") == "paper_crr":
            raise ValueError("paper_crr has no such choice; delete it, or write kind: crr")
        usual = choice in ("optimal", "full_support", "hamming", "heuristic")
        if before.data.get("mode") == "full_support" and not usual:
            raise ValueError(
                "has no effect with mode: full_support, which always proposes the true symbol; "
                "delete one of the two"
            )
        symbols = len(before.data.get("alphabet", []))
        if choice == "linear_program" and symbols > LARGEST_ALPHABET:
            raise ValueError(
                f"linear_program takes at most {LARGEST_ALPHABET} symbols, and the alphabet has "
                f"{symbols}; write heuristic"
            )
        return choice

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
        return {
            **super().parameters(),
            "model": self.model,
            "mode": self.mode,
            "distance": _in_words(self.distance),
            "kernel": self.kernel,
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            "confidence is the probability that the released symbol is the true one, given all "
            "releases of the stream; 1 minus its mean is the expected share of wrong releases.",
            "released shares are biased towards likely symbols; average the posteriors instead "
            "(ConditionalRandomizedResponse.observe over the releases of each key, in order).",
        ]


class RandomizedResponseOperator(SymbolOperator):
    """The true symbol or by chance another one; or, for `oue`, a set that holds it by chance."""

    kind: Literal["grr", "oue"]
    output: Literal["bits", "symbol"] | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.alphabet) < 2:
            raise ValueError("alphabet must list two symbols or more: one alone says nothing")
        if self.kind == "grr" and self.output is not None:
            raise ValueError("output is for kind: oue only; grr releases a symbol. Delete it")
        return self

    @property
    def releases_sets(self) -> bool:
        """Whether a release is a set of symbols."""
        return self.kind == "oue" and self.output != "symbol"

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        released = "a set of symbols" if self.releases_sets else "one symbol"
        return {**super().parameters(), "release": released}

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        what = (
            "a release is a set: the true symbol is in it half of the time, and others are by "
            "chance; it may be empty."
            if self.releases_sets
            else "a released symbol is the true one with the first probability above, any given "
            "other one with the second."
        )
        return [
            f"{what} Nothing tells which is the case.",
            "do not compare released shares: count how many releases report each symbol, and undo "
            "the bias (operators.frequency_estimates, with error bars).",
            'leave out what is marked "repeated": it says nothing new.',
        ]


class BatchedMarkovOperator(AlphabetOperator):
    """Symbols in, `window` of them out at once; epsilon in nats for the whole batch."""

    kind: Literal["batched_crr"]
    window: Annotated[int, Field(ge=1, le=LARGEST_WINDOW)]
    epsilon_per_batch: Annotated[Epsilon, Field(le=50)]
    model: str
    distance: Placed = "hamming"
    kernel: Search = "linear_program"

    @field_validator("distance")
    @classmethod
    def _check_points(
        cls, distance: str | PlacedSymbols, before: ValidationInfo
    ) -> str | PlacedSymbols:
        return _fitting(distance, before)

    @property
    def epsilon(self) -> float:
        """Nats per release, and a release is a batch."""
        return self.epsilon_per_batch

    def parameters(self) -> dict[str, object]:
        """What people want to see of it."""
        each = self.epsilon_per_batch / self.window
        return {
            "epsilon": f"{self.epsilon_per_batch:g} nats per batch, {each:g} nats per record",
            "window": f"{self.window} records are held back and released together",
            **super().parameters(),
            "model": self.model,
            "distance": _in_words(self.distance),
            "kernel": self.kernel,
        }

    def how_to_read(self) -> list[str]:
        """What an analyst must know of the output."""
        return [
            f"a release is a list: the symbols of {self.window} records of one key, oldest first. "
            "It has the key and the time of the last of them; records before it have no output.",
            "records of a stream that ends within a batch stay held back.",
            "confidence is the expected share of true symbols in the list, given all releases of "
            "the stream; 1 minus its mean is the expected share of wrong ones.",
            "a repeated list is the last one again and says nothing new, and while a budget is "
            "exhausted there is one for every record.",
            "released shares are biased towards likely symbols; average the posteriors instead "
            "(BatchedRelease.observe over the releases of each key, in order).",
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
    MarkovOperator
    | BatchedMarkovOperator
    | AdaptiveOperator
    | ColdStartOperator
    | RandomizedResponseOperator
    | LaplaceOperator,
    Field(discriminator="kind"),
]
