"""Read and write the internal log of an aggregate: partial sums, changes of policies, and plans.

It is the only input of the merge, and so the one place that says what came before what. What it
holds is raw data of the trusted zone, with access rules of its own.
"""

from dataclasses import dataclass

from fugu.dataflows.base.errors import FuguError, StartRefused
from fugu.dataflows.stages.partial_sums import PartialSums
from fugu.dataflows.state.row_block import read, written


@dataclass(frozen=True)
class PolicyChange:
    """Hold a policy that was added, replaced or removed, in the words of the mechanism."""

    content: bytes

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        return written({"policy_change": len(self.content)}, [self.content])


@dataclass(frozen=True)
class MechanismPlan:
    """Hold a plan for coming ticks, in the words of the mechanism."""

    content: bytes

    def encoded(self) -> bytes:
        """Return the block that the log holds."""
        return written({"plan": len(self.content)}, [self.content])


Entry = PartialSums | PolicyChange | MechanismPlan


def read_entry(content: bytes | None, place: str) -> Entry:
    """Return what `encoded` gave; `place` is for the error."""
    try:
        header, body = read(content or b"")
        if "policy_change" in header:
            return PolicyChange(body.take(header["policy_change"], "u1").tobytes())
        if "plan" in header:
            return MechanismPlan(body.take(header["plan"], "u1").tobytes())
        return PartialSums.of(header, body)
    except (StartRefused, ValueError, KeyError, TypeError):
        raise FuguError(
            f"{place} was not written by this pipeline; something else writes to its internal "
            "log. Nothing was released from it."
        ) from None


def partition_key(partition: int) -> bytes:
    """Return the key of partial sums of a source partition."""
    return b"%d" % partition


POLICIES_KEY = b"policies"
"""The key of changes of policies."""

PLANS_KEY = b"plans"
"""The key of plans."""
