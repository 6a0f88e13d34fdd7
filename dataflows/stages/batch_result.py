"""Select records of a batch, put releases at them, and publish the batch from there.

What belongs to a record is a column beside it, never a place in a list: places of one selection of
records mean other records in another one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from fugu.dataflows.base.batches import Decoded, Reason, Sanitized, Spending
from fugu.dataflows.base.errors import BudgetExhausted
from fugu.operators.columns import joined, taken
from fugu.operators.mechanism import Integers, Kind, Releases


@dataclass(frozen=True)
class Selection:
    """Hold some of the accepted records of a batch, with the rows of their keys.

    `batch_rows` has a row for every record of the batch, and `places` are those of the selected
    ones in it.
    """

    batch: Decoded
    batch_rows: Integers
    places: Integers

    @classmethod
    def whole(cls, batch: Decoded, rows: Integers) -> "Selection":
        """Return all records of a batch."""
        return cls(batch, rows, np.arange(len(rows)))

    def __len__(self) -> int:
        return len(self.places)

    @cached_property
    def records(self) -> Decoded:
        """Return the columns of the selected records."""
        return self.batch.at(self.places)

    @property
    def rows(self) -> Integers:
        """Return the row of each selected record."""
        return self.batch_rows[self.places]

    @property
    def others(self) -> dict[int, int]:
        """Return offset and timestamp of the records of the batch that are not selected."""
        rest = self.batch.at(np.delete(np.arange(len(self.batch_rows)), self.places))
        return dict(zip(rest.offsets, rest.timestamps, strict=True))

    def at(self, places: Integers) -> "Selection":
        """Return some of the selected records, by their places among these."""
        return Selection(self.batch, self.batch_rows, self.places[places])

    def joined(self, others: Sequence["Selection"]) -> "Selection":
        """Return these records and then those of other selections of the same batch."""
        places = [one.places for one in (self, *others)]
        return Selection(self.batch, self.batch_rows, np.concatenate(places))


@dataclass(frozen=True)
class Advanced:
    """Hold records that were released, with a release and a level for each of them.

    The level is the one of its budget that the stream reached with this record, 0 if it has been
    there before.
    """

    selection: Selection
    releases: Releases
    levels: Integers

    def __post_init__(self) -> None:
        if not len(self.selection) == len(self.releases.values) == len(self.levels):
            raise ValueError("a record has exactly one release and one level")

    def at(self, places: Integers) -> "Advanced":
        """Return some of the records, by their places among these."""
        releases = _taken(self.releases, places)
        return Advanced(self.selection.at(places), releases, self.levels[places])


def in_input_order(rounds: Sequence[Advanced]) -> Advanced:
    """Return several rounds over one batch as one."""
    first, *others = (one.selection for one in rounds)
    released = [one.releases for one in rounds]
    together = Advanced(
        first.joined(others),
        Releases(
            np.concatenate([one.values for one in released]),
            joined([one.annotations for one in released]),
            np.concatenate([_kinds(one) for one in released]),
        ),
        np.concatenate([one.levels for one in rounds]),
    )
    return together.at(np.argsort(together.selection.places))


def without(decoded: Decoded, refused: dict[int, Reason]) -> Decoded:
    """Return the records that are not refused; those that are become dead letters."""
    if not refused:
        return decoded
    for index, reason in refused.items():
        decoded.dead.add(decoded.offsets[index], decoded.timestamps[index], reason)
    return decoded.at(np.delete(np.arange(len(decoded.offsets)), list(refused)))


def sanitized(advanced: Advanced) -> Sanitized:
    """Return what is published; records that were not released are duplicates."""
    dead, records = advanced.selection.batch.dead, advanced.selection.records
    for again, timestamp in advanced.selection.others.items():
        dead.add(again, timestamp, Reason.DUPLICATE)
    kinds = _kinds(advanced.releases)
    if (kinds == Kind.STOPPED).any():
        offset = records.offsets[int(np.argmax(kinds == Kind.STOPPED))]
        raise BudgetExhausted(
            f"budget exhausted: the stream of the record at partition {records.partition}, offset "
            f"{offset} cannot pay for another release, and budget.when_exhausted is stop. Nothing "
            "was published for it."
        )
    reached = advanced.at(np.flatnonzero(advanced.levels))
    spent = reached.selection.records
    spending = Spending(list(spent.offsets), spent.timestamps, spent.keys, reached.levels.tolist())
    if (kinds == Kind.SUPPRESSED).any():
        advanced = advanced.at(np.flatnonzero(kinds != Kind.SUPPRESSED))
    shown = advanced.selection.records
    return Sanitized(
        shown.partition,
        shown.offsets,
        shown.timestamps,
        shown.keys,
        replace(advanced.releases, kinds=_kinds(advanced.releases)),
        dead.in_order(),
        spending,
    )


def _taken(releases: Releases, index: Integers) -> Releases:
    """Return some of the releases, whose kinds are known."""
    return Releases(
        releases.values[index], taken(releases.annotations, index), _kinds(releases)[index]
    )


def _kinds(releases: Releases) -> Integers:
    if releases.kinds is not None:
        return releases.kinds
    return np.full(len(releases.values), Kind.FRESH)
