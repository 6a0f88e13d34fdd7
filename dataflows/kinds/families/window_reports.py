"""Share what reports of single streams under a budget of windows have in common."""

from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, model_validator

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.symbols import AlphabetOperator
from fugu.dataflows.kinds.families.ticks import OneInATick
from fugu.dataflows.records.symbols import SymbolReports
from fugu.dataflows.records.values import Values
from fugu.dataflows.stages.stage_kind import StageKind
from fugu.operators.budget_units import in_nats
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent_local.reports import ReportTicks
from fugu.operators.wevent_local.window_reports import WindowReports

RIVAL_WINDOW = 10
"""Count the records of a window where another kind is compared with windows."""


class TicksOfReports(OneInATick):
    """Declare ticks of event time, at each of which every known stream reports, whether it has a
    record or not; a record more than `max_jump` of them ahead is refused."""

    life: int | None = Field(default=None, ge=1)
    """For how many ticks a stream reports, from its first record on, before it waits for another
    record; without it, for good."""


class WindowReportsOperator(AlphabetOperator):
    """Report sets of symbols, with a budget for any `window` records, or ticks, in a row."""

    example = "alphabet: [rest, light, moderate, vigorous]\nepsilon: 4.0\nwindow: 8\n"
    protected = (
        "a stream's symbols, for any prior, per any `window` records in a row; or per any "
        "`window` ticks in a row, absence included"
    )
    reads = frozenset({"alphabet", "other", "ticks"})
    stage = StageKind.REPORTS
    no_dedupe = "a stream has one symbol in a tick, however often it was sent"
    promises_per: ClassVar[Literal["release", "window"]] = "window"
    source_budget = False
    no_budget = (
        "epsilon of {kind} is already that of any window of records, and goes on; delete it, or "
        "write a smaller epsilon"
    )

    epsilon: Annotated[Epsilon, Field(le=50)]
    """The nats that any `window` records, or ticks, of a stream in a row cost."""
    window: int = Field(ge=1, le=10_000)
    """Say how many records, or ticks, in a row share `epsilon`."""
    ticks: Literal["sequence"] | TicksOfReports = "sequence"
    """Say when a stream reports: at each of its records (`sequence`), or at every tick of event
    time."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        if len(self.alphabet) < 2:
            raise ValueError("alphabet must list two symbols or more: one alone says nothing")
        return self

    def mechanism(self, files: Files) -> Mechanism:
        assert self.mechanism_class is not None
        mechanism: WindowReports = self.mechanism_class(
            len(self.alphabet),
            self.window,
            float(self.epsilon),
            ticks=self._report_ticks(),
            **self.more,
        )
        return mechanism

    def _report_ticks(self) -> ReportTicks | None:
        ticks = self.in_ticks()
        if ticks is None:
            return None
        return ReportTicks(
            ticks.width,
            moved_by_streams=not ticks.time.heartbeats,
            seconds_refused=ticks.several == "error",
        )

    def in_ticks(self) -> Ticks | None:
        if isinstance(self.ticks, str):
            return None
        ticks, time = self.ticks, self.ticks.stream_time.as_declared
        return Ticks(
            *ticks.milliseconds, ticks.max_jump, several=ticks.several, time=time, life=ticks.life
        )

    @property
    def _counted(self) -> str:
        """Say what a window counts."""
        return "records" if isinstance(self.ticks, str) else "ticks"

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
            "epsilon": f"{self.epsilon:g} nats in any {self.window} {self._counted} in a row",
            **super().parameters(),
            **self._ticks_in_words(),
            "release": "a set of symbols, new or the last one again",
        }

    @property
    def _absent_in_words(self) -> str:
        """Say what counts of symbols mean where streams are absent."""
        return (
            "So counts of symbols are of streams that had a record when their report was made, and "
            "add up to these, not to all."
        )

    def _ticks_in_words(self) -> dict[str, object]:
        declared, ticks = self.ticks, self.in_ticks()
        if ticks is None or isinstance(declared, str):
            return {"a report is due": "at every record of a stream"}
        life = "for good" if ticks.life is None else f"for {ticks.life:,} ticks"
        return {
            "a report is due": f"at every tick from a stream's first record on, {life}, whether "
            "it has a record or not",
            "ticks": ticks.in_words,
            "stream time": ticks.time.in_words,
            "too far ahead": ticks.silence_in_words,
            "of several records counts": declared.counting_in_words,
        }

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        """Return the same as for other kinds; no budget can limit a whole life here."""
        ticks = self.in_ticks()
        if ticks is None:
            return super().not_covered(copies=copies, budget=True, partials=partials)
        begins = "when a stream begins: its reports do so with the tick of its first record"
        if ticks.life is not None:
            begins += (
                f", and again with the first record after {ticks.life:,} ticks; in between "
                "everybody sees that it has none"
            )
        if ticks.time.heartbeats:
            return [begins]
        return [
            begins,
            "whether a stream has a record in a tick, as far as its records move stream time "
            "(ticks.stream_time.distinct_keys) and so decide whose records are late: declare "
            "heartbeats instead",
        ]

    def how_to_read(self) -> list[str]:
        absent = [
            "every known stream has a release at every tick, also without a record, dated at its "
            "end. A new report of such a stream holds no symbol, up to chance. "
            + self._absent_in_words,
        ]
        return [
            *(absent if self.in_ticks() else []),
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

    @property
    def _absent_in_words(self) -> str:
        return (
            "But mostly it repeats its last one, because its absence is taken for no change. So "
            "counts of symbols say where streams were last, and not how many are there now "
            "(uniform_ldp and sample_ldp say that)."
        )

    def parameters(self) -> dict[str, object]:
        return {
            **super().parameters(),
            "the last report is compared": {
                "response": "by a noisy answer whether it holds the true symbol",
                "laplace": "by its distance from the true symbol, with Laplace noise",
            }[self.dissimilarity],
        }
