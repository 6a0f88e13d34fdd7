"""Share what counts from private reports of all users have in common (LDP-IDS)."""

from collections.abc import Sequence
from math import ceil
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from fugu.dataflows.base.section import Epsilon
from fugu.dataflows.base.ticks import Ticks
from fugu.dataflows.kinds.families.aggregates import AggregateOperator, TickSection
from fugu.dataflows.kinds.families.section import Evaluation, Files, Noise
from fugu.dataflows.kinds.families.symbols import Alphabet
from fugu.dataflows.records.alphabet import Alphabet as Groups
from fugu.dataflows.records.contributions import Contributions
from fugu.dataflows.records.values import Values
from fugu.operators.ldp_ids.collector import Collector
from fugu.operators.mechanism import Mechanism

_NAMES = {
    "sue": "symmetric unary encoding: a bit for each group, each flipped by chance",
    "grr": "generalized randomized response: one group, the true one or by chance another",
    "oue": "optimized unary encoding: a bit for each group, set by chance",
}


class CollectedOperator(AggregateOperator):
    """Count users in each group from reports that are private before anybody adds them up.

    `source.value` names the field that holds the group. A kind names its `collector`.
    """

    example = "groups: [north, south]\nticks: {width: 15m}\nepsilon: 2.0\nwindow: 4\n"
    protected = "one user's groups, against the collector too, per any `window` ticks in a row"
    evaluation: ClassVar[Evaluation] = "collected"
    noise: ClassVar[Noise | None] = "normal"  # of many reports
    claims_about = "all users together"
    instead = {  # noqa: RUF012
        "sum": "sum: {kind} counts users in groups; delete it",
        "protects": "protects: {kind} protects the group of a user who is there; delete it",
        "flags": "flags: {kind} does not have it; delete it",
        "correlation": "correlation: {kind} does not have it; delete it",
    }
    stays_because = "each partition keeps what its own users have spent"
    collector: ClassVar[type[Collector]]

    groups: Annotated[Alphabet, Field(min_length=2)]
    """The groups that get a figure each, at least two."""
    ticks: TickSection
    """Say how event time is cut into ticks."""
    epsilon: Annotated[Epsilon, Field(le=20)]
    """The nats that the reports of a user cost in any `window` ticks in a row."""
    window: int = Field(ge=1, le=10_000)
    """Say how many ticks in a row share `epsilon`."""
    oracle: Literal["sue", "grr", "oue"] = "sue"
    """Say how a group is reported: as bits (`sue`, `oue`), or as one group (`grr`)."""

    @property
    def people_can_move(self) -> bool:
        """Return False, because the budgets of users who move would begin anew."""
        return False

    def mechanism(self, files: Files) -> Mechanism:
        return self.collected()

    def collected(self) -> Collector:
        """Return the mechanism, which needs no files."""
        return self.collector(
            self.group_count,
            self.window,
            float(self.epsilon),
            self.oracle,
            tick_milliseconds=self.in_ticks().width,
        )

    def values(self, fields: Sequence[str]) -> Values:
        return Contributions(Groups(fields[0], self.groups, other=self.other), None)

    def in_ticks(self) -> Ticks:
        ticks = self.ticks
        return Ticks(*ticks.milliseconds, ticks.max_jump, time=ticks.stream_time.as_declared)

    @property
    def units_per_one(self) -> int:
        return 1

    @property
    def largest_contribution(self) -> int:
        return 1

    @property
    def sensitivity(self) -> int:
        return 2

    @property
    def statistic(self) -> str:
        return "how many users"

    def not_covered(self, *, copies: bool, budget: bool, partials: str) -> list[str]:
        return [
            "whoever reads the source or the state of its partitions, which hold true groups; the "
            f"internal log ({partials}) and the collector have private reports only"
        ]

    def parameters(self) -> dict[str, object]:
        words = self.in_words()
        del words["one contribution changes a tick by"]
        return {
            **words,
            "epsilon": f"{self.epsilon:g} nats for a user in any {self.window} ticks in a row",
            "reports": f"{self.oracle}: {_NAMES[self.oracle]}",
        }

    @property
    def users_needed(self) -> int:
        """Return with how many users in a tick counts err less than an equal part of them is."""
        variance = self.collected().audit()["variance of a count per user, first publication"]
        return ceil(float(str(variance)) * self.group_count**2)

    def how_to_read(self) -> list[str]:
        return [
            f"with fewer than about {self.users_needed:,} users in a tick, counts err by more than "
            f"an equal part of them, 1/{self.group_count}, is. Local reports need many users: "
            "larger epsilons, shorter windows and fewer groups need fewer; an aggregate such as "
            "pba, whose collector is trusted, needs far fewer.",
            "value estimates how many of the users who were there are in a group; it is unbiased, "
            "may be negative or above their number, and no whole number.",
            "standard_error is that of value at the tick that it was estimated at (the root of the "
            "mean over groups), null before the first; published says whether that is this tick.",
            "users is the exact number of users who were there: presence is not hidden. reports "
            "says how many of them the figures come from.",
            "records that came late, and users beyond state.max_keys, are not in the figures.",
        ]


class AskingOperator(CollectedOperator):
    """Let the collector decide at every tick what its users are asked."""

    on_disk_because = "what it asks users stands in the internal log, which only shards hear yet"
