"""Read and write the internal log: sums of partitions or people of windows, policies, marks, plans,
moves, and what users are asked.


It is the only input of the merge, and so the one place that says what came before what. What it
holds is raw data of the trusted zone, with access rules of its own.
"""

from dataclasses import dataclass

from fugu.dataflows.base.errors import FuguError, OtherVersion, StartRefused
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.stages.window_people import WindowPeople
from fugu.dataflows.state.row_block import read, written
from fugu.operators.ldp_ids.instruction import Instruction

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
