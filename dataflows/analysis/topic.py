"""Answer questions about a sanitized topic, as far as its promise allows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from fugu.dataflows.analysis import figures
from fugu.dataflows.analysis.displaced import shifted_back
from fugu.dataflows.analysis.estimates import Estimates
from fugu.dataflows.analysis.users import estimated_means, estimated_shares
from fugu.dataflows.analysis.window_totals import totals
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.base.printable import visible
from fugu.dataflows.base.ticks import MILLISECOND, between
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.estimates.model_check import ModelCheck
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.strategy import Strategy

_WIDTHS = between("1ms", "3660d")
By = str | None


@dataclass(frozen=True, eq=False)
class Topic:
    """Hold the records of a sanitized topic with what was promised of them.

    `records` is a table of Arrow with `user`, `time`, `value`, `kind`, `release` and whatever else
    releases show; `kind` is `fresh`, or says why a record says nothing new. No release is there
    twice. All of it is public, and whatever is computed from it keeps the promise.
    """

    table: pa.Table
    """The columns that estimates are made of."""
    promises: Sequence[Promise]
    begins: Mapping[int, int] = field(default_factory=dict)
    """The first offset of each partition that could still be read, where it is known."""
    since: int | None = None
    files: Mapping[str, Path] = field(default_factory=dict)
    whole: Callable[[], pa.Table] | None = None
    """Reads the columns that estimates do not need; None where they are there."""

    @cached_property
    def records(self) -> pa.Table:
        """Return all columns of the records."""
        return self.table if self.whole is None else self.whole()

    @property
    def promise(self) -> Promise:
        """Return what was promised; of several, the newest under which a record was released."""
        laws = self.table["law"]
        return self.promises[pc.max(laws).as_py() if len(laws) else -1]

    def under(self, promise: Promise) -> "Topic":
        """Return the records that were released under one of several promises."""
        number = list(self.promises).index(promise)
        own = self.records.filter(pc.equal(self.table["law"], number))
        own = own.set_column(own.column_names.index("law"), "law", pa.array([0] * len(own)))
        return replace(self, table=own, promises=[promise], whole=None)

    def shares(
        self, by: By = None, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Estimates:
        """Estimate the share of each symbol among the records of such users.

        The correction is that of the law of the releases. Bars are over users, and hold the share
        among all users like these. `by` is a length of time, such as `1h`: one estimate for each.
        A model that does not describe what was released raises a warning (`ModelAlarm`).
        """
        promise = self._alone("shares")
        if promise.released_as in ("number", "series", "payload", "figures"):
            raise CannotBeEstimated(
                f"shares: {promise.law.kind} releases no symbols of users; ask for means(), "
                "series() or totals()"
            )
        mechanism = self._mechanism
        self._require_whole_streams(promise)
        asked = self._asked(by)
        return estimated_shares(self.table, promise, mechanism, asked, confidence, simultaneous)

    def means(
        self, by: By = None, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Estimates:
        """Estimate the mean of the numbers of such users, with bars over users."""
        promise = self._alone("means")
        if promise.released_as == "payload" and by is not None:
            raise CannotBeEstimated(
                f"means: {promise.law.kind} hides when a value came, so there is no mean of a "
                "window of time; leave by out"
            )
        numeric = pa.types.is_floating(self.table["value"].type)
        if promise.released_as not in ("number", "series", "payload") or not numeric:
            raise CannotBeEstimated(
                f"means: {promise.law.kind} releases no number of each user; ask for shares(), "
                "series() or totals()"
            )
        asked = self._asked(by)
        return estimated_means(self.table, promise, asked, confidence, simultaneous)

    def series(self, *, confidence: float = 0.95, simultaneous: bool = False) -> figures.Series:
        """Return the figures of every tick; bars of repeated ones widen with their age.

        `series().smoothed()` uses what was measured before and after each tick.
        """
        promise = self._alone("series")
        level, strategy = (confidence, simultaneous), self._strategy(promise)
        return figures.series(self.table, promise, self.since, level, strategy)

    def totals(
        self, window: int, *, confidence: float = 0.95, simultaneous: bool = False
    ) -> Estimates:
        """Return sums of figures over `window` ticks in a row."""
        promise = self._alone("totals")
        level, strategy = (confidence, simultaneous), self._strategy(promise)
        return totals(self.table, promise, self.since, window, level, strategy)

    def shift_back(self, average: int = 1) -> pa.Table:
        """Return values that are displaced in time, moved back by their mean delay.

        A table with `user`, `time` or `tick`, and `value`: of single ticks, or the average of so
        many ticks around each, of those that hold a value. A single value is no nearer to the truth
        for it; averages over a window and more are.
        """
        return shifted_back(self.table, self._alone("shift_back"), average)

    def check(self) -> ModelCheck | None:
        """Compare what was released with the model; None where there is none to compare with."""
        return self.shares().check

    def _alone(self, question: str) -> Promise:
        """Return the promise that all records were released under."""
        laws = np.unique(self.table["law"].to_numpy()).tolist()
        if len(laws) > 1:
            raise CannotBeEstimated(
                f"{question}: records were released under {len(laws)} laws; ask "
                "topic.under(promise) for one of topic.promises"
            )
        promise = self.promises[laws[0]] if laws else self.promise
        if promise.released_as == "person":
            raise CannotBeEstimated(
                f"{question}: {promise.law.kind} adds no noise that could be undone, and leaves "
                "points and people out, so that nothing known gives a bar. topic.records has what "
                "was released, as JSON in value; docs/anonymity.md says what was lost"
            )
        return promise

    @cached_property
    def _mechanism(self) -> Mechanism:
        return self._alone("shares").mechanism(self.files)

    def _strategy(self, promise: Promise) -> Strategy | None:
        """Return the strategy whose tests decide what is repeated, where it can be followed."""
        if promise.released_as != "figures" or not promise.rebuildable:
            return None
        if promise.noise != "laplace" or any(promise.begins.values()) or any(self.begins.values()):
            return None
        found = promise.mechanism(self.files)
        return found if isinstance(found, Strategy) and found.rule.decides else None

    def _require_whole_streams(self, promise: Promise) -> None:
        """Refuse to follow streams whose beginning is not there."""
        if not promise.depends_on_the_past:
            return
        if any(promise.begins.values()):
            raise CannotBeEstimated(
                f"shares: this law of {promise.law.kind} took streams over from an earlier one, "
                "and what it made of them is not public; estimate under the first promise"
            )
        lost = {partition: begin for partition, begin in self.begins.items() if begin > 0}
        if lost:
            partition, begin = next(iter(sorted(lost.items())))
            raise CannotBeEstimated(
                f"shares: partition {partition} begins at offset {begin}, and the law of "
                f"{promise.law.kind} depends on the releases before it, which are gone. Export the "
                "topic while it is whole (fugu export), and read that"
            )

    def _asked(self, by: By) -> tuple[int | None, int | None]:
        return None if by is None else width_of(by), self.since

    def __repr__(self) -> str:
        promise = self.promise
        return visible(
            f"<fugu.Topic {promise.sink.topic}: {len(self.table):,} releases of "
            f"{promise.law.kind}, promise {promise.guarantee_id}>"
        )

    def _repr_html_(self) -> str:
        return f"<pre>{escape(f'{self!r}')}\n\n{escape(f'{self.promise}')}</pre>"


def width_of(by: str) -> int:
    """Return a length of time in milliseconds; `CannotBeEstimated` says how it is written."""
    try:
        return _WIDTHS(by) // MILLISECOND
    except ValueError:
        raise CannotBeEstimated(
            f"by: write a length of time, such as 15m, 1h or 1d, not {by!r}"
        ) from None
