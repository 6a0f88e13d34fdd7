"""Share what kinds of randomized response have in common."""

from collections.abc import Mapping, Sequence
from typing import Self

from pydantic import model_validator

from fugu.dataflows.kinds.families.symbols import SymbolOperator
from fugu.dataflows.records.symbols import PlainSymbols, SymbolSets
from fugu.dataflows.records.values import Values
from fugu.operators.mechanism import Mechanism
from fugu.operators.responses.frequency_estimates import ReportingLaw


class ResponseOperator(SymbolOperator):
    """Release true symbols or others by chance, without a model."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.alphabet) < 2:
            raise ValueError("alphabet must list two symbols or more: one alone says nothing")
        return self

    @property
    def releases_sets(self) -> bool:
        """Return whether a release is a set of symbols."""
        return False

    def values(self, fields: Sequence[str]) -> Values:
        form = SymbolSets if self.releases_sets else PlainSymbols
        return form(fields[0], self.alphabet, other=self.other)

    def estimator(self, mechanism: Mechanism) -> Mapping[str, float]:
        assert isinstance(mechanism, ReportingLaw)
        return {
            "reported_if_true": mechanism.reported_if_true,
            "reported_if_other": mechanism.reported_if_other,
        }

    def parameters(self) -> dict[str, object]:
        released = "a set of symbols" if self.releases_sets else "one symbol"
        return {**super().parameters(), "release": released}

    def how_to_read(self) -> list[str]:
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
            "the bias (fugu.operators.responses.frequency_estimates, with error bars).",
            'leave out what is marked "repeated": it says nothing new.',
        ]
