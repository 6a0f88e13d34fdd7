from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from fugu.dataflows.base.section import Section
from fugu.dataflows.files.model_file import read_model_file
from fugu.dataflows.kinds.crr import CrrOperator
from fugu.dataflows.kinds.families.section import Files
from fugu.operators.budget import without_budget
from fugu.operators.mechanism import Mechanism
from fugu.operators.sip.distances import Hamming
from fugu.operators.sip.long_run import accuracy_up_to
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.robust_release import RobustRelease

AS_GOOD = 0.93
"""The share of wrong releases of randomized response, from which on a model is not worth it."""
_FEWEST_STREAMS, _MOST_STREAMS, _STEPS, _ENTRIES = 8, 200, 80, 20_000


class Within(Section):
    """Let each probability be off by a `share` of itself, and by an `amount`."""

    share: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The share of itself by which a probability may be off."""
    amount: Annotated[float, Field(ge=0, lt=1)] = 0.0
    """The amount by which a probability may be off."""

    @property
    def in_words(self) -> str:
        """Say how far probabilities may be off."""
        parts = [f"{self.share:.6g} of itself"] * (self.share > 0.0)
        parts += [f"{self.amount:.6g}"] * (self.amount > 0.0)
        return " and ".join(parts) or "nothing"


def _within(given: object) -> object:
    match given:
        case str(text) if text.endswith("%"):
            try:
                share = float(text.removesuffix("%")) / 100.0
            except ValueError:
                share = -1.0
            if 0.0 <= share < 1.0:
                return Within(share=share)
        case float(amount) | int(amount) if not isinstance(given, bool) and 0.0 <= amount < 1.0:
            return Within(amount=float(amount))
        case dict() | Within() | "learned":
            return given
    raise ValueError(
        "write how far each probability of the model may be off: 10% of itself, 0.02, or "
        "{share: 0.1, amount: 0.001} for both, less than 100% and less than 1; or learned, for the "
        "intervals of the model file"
    )


_FORMS: list[dict[str, object]] = [
    {"type": "string", "pattern": "^([0-9.]+%|learned)$"},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 1},
    {
        "type": "object",
        "properties": {"share": {"type": "number"}, "amount": {"type": "number"}},
        "additionalProperties": False,
    },
]


class RobustCrrOperator(CrrOperator):
    """Release as `crr`, privately relative to every model within intervals around the model."""

    order = 102
    example = CrrOperator.example + "within: 10%\n"
    protected = (
        "a user's sequence of symbols, with each model within the intervals and without one, per "
        "release"
    )
    mechanism_class = RobustRelease

    kind: Literal["robust_crr"]  # type: ignore[assignment]
    within: Annotated[
        Literal["learned"] | Within, BeforeValidator(_within), WithJsonSchema({"anyOf": _FORMS})
    ]
    """Say how far probabilities of the smoothed model may be off: `10%`, `0.02`, or `learned`."""

    def mechanism(self, files: Files) -> Mechanism:
        _, epsilon, distance, mode, kernel, gaps = self.choices(files)
        model = self.matrix(files)
        around = self._around(files, model)
        return RobustRelease(model, epsilon, distance, mode, kernel, gaps, intervals=around)

    def _around(self, files: Files, model: MarkovModel) -> ModelIntervals:
        """Return the set of models."""
        if isinstance(self.within, Within):
            given = self.within
            return ModelIntervals.around(model, share=given.share, amount=given.amount)
        intervals = read_model_file(files.resolve(self.model)).intervals
        if intervals is None:
            raise ValueError(
                f"within: learned, but {self.model} has no intervals; learn it with fugu model "
                "learn --intervals 0.95, or write how far it may be off, such as 10%"
            )
        return intervals.around(model)

    def parameters(self) -> dict[str, object]:
        return {
            **super().parameters(),
            "model": f"every one whose probabilities {self._in_words}",
        }

    @property
    def _in_words(self) -> str:
        if isinstance(self.within, Within):
            return f"differ from {self.model} after smoothing by at most {self.within.in_words}"
        return f"are in the intervals of {self.model}"

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        found = super().remarks(files, mechanism)
        robust = without_budget(mechanism)
        assert isinstance(robust, RobustRelease)
        as_good = as_good_without_a_model(robust)
        if as_good is not None:
            found.append(f"operator.within: {as_good}")
        return found

    def how_to_read(self) -> list[str]:
        confidence, shares = super().how_to_read()
        middle = "confidences and posteriors are those of the model in the middle of the set"
        return [confidence, shares, f"{middle}, and as right as that is."]


def as_good_without_a_model(robust: RobustRelease) -> str | None:
    """Say so where randomized response without a model is as accurate; None where it is not.

    The accuracy is simulated under the model in the middle, with a fixed seed.
    """
    n = robust.model.symbols
    if not isinstance(robust.distance, Hamming) or n == 1:
        return None
    streams = max(_FEWEST_STREAMS, min(_MOST_STREAMS, _ENTRIES // (n * n)))
    growth = robust.bound.growth
    response = growth / (growth + n - 1)
    right = accuracy_up_to(robust, streams, _STEPS, 1.0 - AS_GOOD * (1.0 - response))
    if right is None:
        return None
    return (
        f"so wide a set of models leaves little: {right:.1%} of releases would be right, and "
        f"kind: grr, which needs no model at all, has {response:.1%} at the same epsilon. Make "
        "the intervals narrower if you know more, or write kind: grr"
    )
