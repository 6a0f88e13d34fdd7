"""Share what reports of single streams under a budget of windows have in common."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import AlphabetOperator
from fugu.dataflows.records.codec import Values
from fugu.dataflows.records.symbol_reports import SymbolReports
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent_local.window_reports import WindowReports

RIVAL_WINDOW = 10
"""Count the records of a window where another kind is compared with windows."""


class WindowReportsOperator(AlphabetOperator):
    """Report sets of symbols, with a budget for any `window` records of a stream in a row."""

    example = "alphabet: [rest, light, moderate, vigorous]\nepsilon: 4.0\nwindow: 8\n"
    protected = "a stream's symbols, for any prior, per any `window` records in a row"
    promises_per: ClassVar[Literal["release", "window"]] = "window"
    source_budget = False
    no_budget = (
        "epsilon of {kind} is already that of any window of records, and goes on; delete it, or "
        "write a smaller epsilon"
    )

    epsilon: Annotated[Epsilon, Field(le=50)]
    """The nats that any `window` records of a stream in a row cost."""
    window: int = Field(ge=1, le=10_000)
    """Say how many records in a row share `epsilon`."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.alphabet) < 2:
            raise ValueError("alphabet must list two symbols or more: one alone says nothing")
        return self

    def mechanism(self, files: Files) -> Mechanism:
        assert self.mechanism_class is not None
        mechanism: WindowReports = self.mechanism_class(
            len(self.alphabet), self.window, float(self.epsilon), **self.more
        )
        return mechanism

    @property
    def more(self) -> dict[str, object]:
        """Return what else the mechanism of a kind takes."""
        return {}

    def values(self, fields: Sequence[str]) -> Values:
        return SymbolReports(fields[0], self.alphabet, other=self.other)

    @property
    def nats_per_release(self) -> float:
        return self.epsilon / self.window

    @classmethod
    def spending(cls, nats: float, own: Self | None = None) -> dict[str, object]:
        window = RIVAL_WINDOW if own is None else own.window
        return {"epsilon": nats * window, "window": window}

    def nats_of_one_value(self, mechanism: Mechanism) -> float | None:
        """Return what a decision and the largest report cost."""
        assert isinstance(mechanism, WindowReports)
        return in_nats(mechanism.rule.decision + mechanism.rule.largest)

    def parameters(self) -> dict[str, object]:
        return {
            "epsilon": f"{self.epsilon:g} nats in any {self.window} records in a row",
            **super().parameters(),
            "release": "a set of symbols, new or the last one again",
        }

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        """Return the same as for other kinds; no budget can limit a whole life here."""
        return super().not_covered(copies=copies, budget=True, partials=partials)

    def how_to_read(self) -> list[str]:
        return [
            "a release is a set: each symbol is in it, or missing from it, by chance with the "
            "probability f = 1 / (exp(epsilon / 2) + 1), where epsilon stands beside the set.",
            "do not compare shares of sets: a new report says (bit - f) / (1 - 2 f) of each "
            "symbol, divided by the probability of a new report if it is true, and a repeated one "
            "says 0 (share_reader, estimated_counts). Reports in force that hold the truth are "
            "kept more often, so they lean towards it.",
            'what is marked "repeated" is the report in force: the truth was, up to noise, still '
            "like it, or the budget of the window did not allow a new one.",
        ]


class ComparingReportsOperator(WindowReportsOperator):
    """Report a set anew where the last one has become wrong."""

    dissimilarity: Literal["response", "laplace"] = "response"
    """Say how the last report is compared with the truth: by a noisy answer whether it holds it, or
    by its distance with Laplace noise against the error of a new one."""

    @property
    def more(self) -> dict[str, object]:
        return {"dissimilarity": self.dissimilarity}

    def parameters(self) -> dict[str, object]:
        return {
            **super().parameters(),
            "the last report is compared": {
                "response": "by a noisy answer whether it holds the true symbol",
                "laplace": "by its distance from the true symbol, with Laplace noise",
            }[self.dissimilarity],
        }
