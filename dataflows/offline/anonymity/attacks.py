"""Count whom four linkage attacks single out: before, after stage 1 alone, and in the release."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from fugu.dataflows.stages.windows import WindowTable
from fugu.operators.anonymity.anonymization import AttackSucceeded
from fugu.operators.anonymity.attacks import Attack
from fugu.operators.anonymity.knowledge import Infeasible
from fugu.operators.anonymity.windows import AnonymizedWindows

ATTACKS = {
    "identity": "fewer than K people match",
    "attribute": "a sensitive value has too large a share",
    "similarity": "a category has too large a share",
    "correlated": "all records of one person match",
}
"""Name the attacks, and when one succeeds."""
STAGES = ("before", "after stage 1", "as released")


@dataclass
class Hits:
    """Sum up what one attack finds at each stage: people who are singled out, and knowledge."""

    people: list[int] = field(default_factory=lambda: [0] * len(STAGES))
    knowledge: list[int] = field(default_factory=lambda: [0] * len(STAGES))

    def add(self, stage: int, found: Attack) -> None:
        """Add what was found in a window."""
        self.people[stage] += found.people
        self.knowledge[stage] += found.knowledge


@dataclass(frozen=True, eq=False)
class AttackReport:
    """Hold what the attacks find in all windows; in `failed` ones a release would have been open to
    one, and `suppressed` ones are not released."""

    pipeline: str
    law: str
    source: str
    known_points: int
    windows: int
    people: int
    suppressed: int
    failed: int
    sound: bool
    hits: dict[str, Hits]

    @property
    def broken(self) -> bool:
        """Return whether the claim is broken."""
        return self.failed > 0

    @property
    def released_people(self) -> int:
        """Return how many people the attacks on the release single out, each attack by itself."""
        return sum(hits.people[-1] for hits in self.hits.values())

    @property
    def verdict(self) -> str:
        """Return the verdict in one line."""
        if self.broken:
            return f"CLAIM BROKEN: an attack succeeds on {self.failed} releases; none is published"
        if not self.sound:
            return (
                f"nothing is promised (stage: thesis), and attacks single out "
                f"{self.released_people:,} people in the release"
            )
        return "no attack succeeds on a release; this is evidence, not proof"

    def document(self) -> dict[str, object]:
        """Return the same for a machine."""
        return {
            "pipeline": self.pipeline,
            "status": "broken" if self.broken else "survived",
            "law": self.law,
            "sound": self.sound,
            "source": self.source,
            "known_points": self.known_points,
            "windows": self.windows,
            "suppressed_windows": self.suppressed,
            "people": self.people,
            "attacks": {
                name: {
                    stage: {"people": people, "sub_trajectories": knowledge}
                    for stage, people, knowledge in zip(
                        STAGES, hits.people, hits.knowledge, strict=True
                    )
                }
                for name, hits in self.hits.items()
            },
            "verdict": self.verdict,
        }


def attack(
    pipeline: str, source: str, mechanism: AnonymizedWindows, windows: Sequence[WindowTable]
) -> AttackReport:
    """Attack every window before, between and after the two stages."""
    anonymization, hits = mechanism.anonymization, {name: Hits() for name in ATTACKS}
    suppressed = failed = 0
    for window in windows:
        table = window.table
        found = {0: anonymization.attacks_on(table)}
        try:
            if table.people < mechanism.min_people:
                raise Infeasible("people", "input")
            done = anonymization.anonymize(table, None)
            found |= {1: done.after_suppression, 2: done.released}
        except Infeasible:
            suppressed += 1
        except AttackSucceeded as error:
            failed += 1
            found[2] = error.attacks
        for stage, attacks in found.items():
            for name, one in hits.items():
                one.add(stage, getattr(attacks, name))
    return AttackReport(
        pipeline,
        mechanism.law_digest().hex()[:16],
        source,
        anonymization.known_points,
        len(windows),
        sum(window.table.people for window in windows),
        suppressed,
        failed,
        anonymization.stage == "repair",
        hits,
    )
