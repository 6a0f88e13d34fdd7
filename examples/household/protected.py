"""List what is protected when, and what noise that takes: by the policies of the document, and one
that was added while it ran."""

from dataclasses import dataclass

from examples.household.meters import FIRST_TICK, TICKS
from fugu.dataflows.policies.changes import change
from fugu.dataflows.policies.course import in_unit
from fugu.dataflows.policies.document import PolicyDocument
from fugu.operators.swellfish.attribution import Attribution, attribution
from fugu.operators.swellfish.policy import Occurrence


@dataclass(frozen=True)
class Protected:
    """A policy by its name, of whichever collections, in the three days."""

    name: str
    occurrences: tuple[Occurrence, ...]
    largest_change: str
    """In words."""

    @property
    def ticks(self) -> int:
        """In how many of the three days' ticks it is open."""
        spans = (range(one.start, one.end + 1) for one in self.occurrences)
        return len(set().union(*spans) & set(range(FIRST_TICK, FIRST_TICK + TICKS)))


def expected_noise(document: PolicyDocument, key: bytes, value: bytes, now: int) -> Attribution:
    """Return the noise of each tick, and whose it is, with what the record adds when `now` is the
    next tick."""
    policies, added = document.policies, change(key, value, document).to_bytes()
    days = FIRST_TICK, FIRST_TICK + TICKS - 1
    after = policies.changed(b"", added, now)
    return attribution(policies, *days, document.section.epsilon, after)


def protected(document: PolicyDocument, key: bytes, value: bytes) -> list[Protected]:
    """In the order in which they are written, and then what the record adds."""
    added = change(key, value, document)
    policies = [(one, 0) for some in document.policies.collections for one in some.policies]
    policies += [(one, added.effective) for one in added.added]
    milliseconds, query = document.policies.tick_milliseconds, document.section.query
    found: dict[str, dict[Occurrence, None]] = {}
    for policy, effective in policies:
        for occurrence in policy.occurrences(FIRST_TICK, milliseconds):
            if occurrence.start >= FIRST_TICK + TICKS:
                break
            if occurrence.start >= effective:
                found.setdefault(policy.id, {})[occurrence] = None
    return [
        Protected(
            name,
            tuple(occurrences),
            in_unit(max(max(one.thresholds) for one in occurrences), query),
        )
        for name, occurrences in found.items()
    ]
