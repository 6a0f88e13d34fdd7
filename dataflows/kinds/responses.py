"""Randomized response: no model is needed."""

from typing import Literal, Self

from pydantic import model_validator

from fugu.dataflows.kinds.alphabets import SymbolOperator


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
            "the bias (fugu.operators.responses.frequency_estimates, with error bars).",
            'leave out what is marked "repeated": it says nothing new.',
        ]
