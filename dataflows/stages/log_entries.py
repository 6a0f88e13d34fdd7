"""Read and write the internal log, and hold ticks back until all policies are known.

The log is the only input of the merge, and so the one place that says what came before what. It
holds raw data of the trusted zone, with access rules of its own.
"""

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from fugu.dataflows.base.errors import FuguError, OtherVersion, StartRefused
from fugu.dataflows.stages.windows import WindowPeople
from fugu.dataflows.state.row_block import Body, read, written
from fugu.operators.ldp_ids.reporting import Instruction
from fugu.operators.mechanism import Array, Integers

_TYPES = ("<i1", "<i2", "<i4", "<i8")


@dataclass(frozen=True)
class PartialSums:
    """Hold the sums of the groups to which somebody contributed; so many ticks right before this
    one were `skipped`, to which nobody can have contributed.

    A tick to which nobody contributed has an entry in the log too, because the merge waits for it.
    """

    partition: int
    tick: int
    groups: Integers
    sums: Integers
    skipped: int = 0
    part: ClassVar[int] = 0

    def encoded(self) -> bytes:
        """Return the block that the log holds, with groups as steps from one to the next.

        Both are as narrow as they can be, so that 2^17 groups fit a Kafka message of a megabyte.
        """
        steps, sums = (_narrowed(part) for part in (np.diff(self.groups, prepend=0), self.sums))
        header = {
            "partition": self.partition,
            "tick": self.tick,
            "groups": len(steps),
            "types": [steps.dtype.str, sums.dtype.str],
            **({"skipped": self.skipped} if self.skipped else {}),
        }
        return written(header, [steps.tobytes(), sums.tobytes()])

    @classmethod
    def of(cls, header: dict[str, Any], body: Body) -> "PartialSums":
        """Return what a block of `encoded` holds."""
        steps, sums = (
            body.take(header["groups"], kind).astype(np.int64) for kind in header["types"]
        )
        place, skipped = (header["partition"], header["tick"]), header.get("skipped", 0)
        return cls(*place, np.cumsum(steps), sums, skipped)


def _narrowed(integers: Integers) -> Array:
    """Return integers in the narrowest type that holds all of them, little-endian."""
    low, high = integers.min(initial=0), integers.max(initial=0)
    narrowest = next(
        kind for kind in _TYPES if np.iinfo(kind).min <= low and high <= np.iinfo(kind).max
    )
    return integers.astype(narrowest)


_LARGEST_NUMBER = 2**60


@dataclass(frozen=True)
class PolicyChange:
    """Hold a policy that was added, replaced or removed, in the words of the mechanism.

    `offset` is that of its record in the topic of policies; None where there is no such topic, as
    in an audit. Every process writes changes in order and leaves none out that is not in the log,
    so that offsets of first copies rise, and a change which stands in the log twice is told once.
    `after` is the offset behind the change before, if that is known. Where the log does not hold
    that one, somebody has copied this one out of a transaction that was aborted.
    """

    content: bytes
    offset: int | None = None
    after: int = 0

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        header = {"policy_change": len(self.content), "offset": self.offset, "after": self.after}
        return written(header, [self.content])


@dataclass(frozen=True)
class MechanismPlan:
    """Hold a plan for coming ticks, in the words of the mechanism.

    It was made when `tick` was the next one. A plan of the same tick as one before, or of an
    earlier one, is a copy, or comes too late.
    """

    content: bytes
    tick: int

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        return written({"plan": len(self.content), "tick": self.tick}, [self.content])


@dataclass(frozen=True)
class PoliciesCovered:
    """Mark that the topic of policies was read to an end which it had after the log held everything
    up to `offset`, and that all its changes until there stand before this entry."""

    offset: int

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        return written({"policies_covered": self.offset}, [])


@dataclass(frozen=True)
class PartitionsMoved:
    """Tell that people are in so many partitions of the source from now on.

    All partitions of before have told their ticks up to `last` in front of this entry, and those
    that were added begin behind it. It is None where no partition has told any.
    """

    partitions: int
    last: int | None

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        return written({"partitions_moved": self.partitions, "last": self.last}, [])


@dataclass(frozen=True)
class Asking:
    """Hold what a collector asks of users at one tick. The first entry about a tick counts."""

    tick: int
    instruction: Instruction

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        asked = [self.instruction.amount, self.instruction.first]
        return written({"asking": self.tick, "instruction": asked}, [])


Entry = (
    PartialSums
    | WindowPeople
    | PolicyChange
    | PoliciesCovered
    | MechanismPlan
    | PartitionsMoved
    | Asking
)


def read_entry(content: bytes | None, place: str) -> Entry:
    """Return what `encoded` gave; `place` is for the error."""
    try:
        header, body = read(content or b"")
        if "policy_change" in header:
            content = body.take(header["policy_change"], "u1").tobytes()
            return PolicyChange(content, header["offset"], header["after"])
        if "policies_covered" in header:
            return PoliciesCovered(header["policies_covered"])
        if "partitions_moved" in header:
            return PartitionsMoved(header["partitions_moved"], header["last"])
        if "asking" in header:
            return _asking(header["asking"], header["instruction"])
        if "plan" in header:
            return MechanismPlan(body.take(header["plan"], "u1").tobytes(), header["tick"])
        if "people" in header:
            return WindowPeople.of(header, body)
        return PartialSums.of(header, body)
    except OtherVersion as other:
        raise OtherVersion(place, other.found, other.read) from None
    except (StartRefused, ValueError, KeyError, TypeError):
        raise FuguError(
            f"{place} was not written by this pipeline; something else writes to its internal "
            "log. Nothing was released from it."
        ) from None


def _asking(tick: int, numbers: list[int]) -> Asking:
    """Return what was asked; `TypeError` unless there are whole numbers of moderate size."""
    amount, first = numbers
    if all(type(one) is int and abs(one) <= _LARGEST_NUMBER for one in (tick, amount, first)):
        return Asking(tick, Instruction(amount, first))
    raise TypeError("an instruction holds whole numbers")


def partition_key(partition: int) -> bytes:
    """Return the key of what a source partition told of its ticks."""
    return b"%d" % partition


POLICIES_KEY = b"policies"
"""The key of changes of policies."""
COVERED_KEY = b"policies covered"
"""The key of marks. They have one of their own: a replay recognises changes, and never awaits a
mark."""
PLANS_KEY = b"plans"
"""The key of plans."""
MOVED_KEY = b"partitions moved"
"""The key of what `fugu state repartition` writes. No partition has it, so that none awaits in its
replay what it has not written itself."""
ASKING_KEY = b"asking"
"""The key of what users are asked."""

_MOST = 1_000
"""Entries that are remembered; ticks of others wait for the next entry that is."""


@dataclass
class Coverage:
    """Hold up to which tick all are covered, and with which entries further ones were complete.

    A tick is complete with the entry of the internal log that brings the last of its partial sums.
    It may be released once a mark (`PoliciesCovered`) behind that entry says that the topic of
    policies was read to an end asked for after the entry was there. So whatever stood in that topic
    before the last partial sum was written, stands in the log before the mark, and is told to the
    mechanism before the tick is released. All of this is a function of the log: a replay holds back
    the same ticks until the same marks, whatever the topic of policies holds by then.

    `waiting` holds offsets of the log, and the last tick that was complete with each; both rise.
    """

    covered: int | None = None
    waiting: list[tuple[int, int]] = field(default_factory=list)

    def complete(self, tick: int, offset: int) -> None:
        """Take in that all ticks up to this one are complete with the entry at `offset`.

        Of too many entries every second one is forgotten; its ticks then wait for a later mark.
        """
        known = self.waiting[-1][1] if self.waiting else self.covered
        if known is None or tick > known:
            self.waiting.append((offset, tick))
        if len(self.waiting) > _MOST:
            del self.waiting[:-1:2]

    def cover(self, offset: int) -> None:
        """Take in a mark: ticks that were complete up to `offset` may be released."""
        while self.waiting and self.waiting[0][0] <= offset:
            _, self.covered = self.waiting.pop(0)

    def allows(self, tick: int) -> bool:
        """Return whether a tick may be released."""
        return self.covered is not None and tick <= self.covered

    def plain(self) -> list[Any]:
        """Return it as a header holds it."""
        return [self.covered, self.waiting]

    @classmethod
    def of(cls, plain: list[Any]) -> "Coverage":
        """Return what `plain` gave."""
        covered, waiting = plain
        return cls(covered, [(offset, tick) for offset, tick in waiting])
