"""Plan the attacks of one phase, on every claim, and compute what is exact about it."""

from dataclasses import dataclass

from fugu.dataflows.offline.auditing.audited import Attack, Check, WorstCase
from fugu.dataflows.offline.auditing.records.exact import Exact, exhaustive
from fugu.dataflows.offline.auditing.records.responses import response_losses
from fugu.dataflows.offline.auditing.records.streams import (
    GuessedStreams,
    KnownStreams,
    Stream,
    Streams,
)
from fugu.dataflows.offline.auditing.records.subject import Claim, Subject
from fugu.dataflows.offline.auditing.records.worlds import Start, StreamWorld
from fugu.operators.budget import Budgeted


@dataclass(frozen=True, eq=False)
class Phase:
    """Hold where runs begin, and what is known about the releases that follow."""

    start: Start
    streams: Streams
    exact: Exact | None
    checks: tuple[Check, ...]
    finished: bool = False
    beyond: GuessedStreams | None = None
    """Longer streams, where `streams` are those that sequences could be followed of."""

    @classmethod
    def of(cls, start: Start, steps: int, *, finished: bool = False) -> "Phase":
        subject = start.subject
        exact = exhaustive(subject)
        if exact is not None:
            known = KnownStreams(subject, exact.paths[:steps])
            beyond = GuessedStreams(subject, steps) if known.steps < steps else None
            return cls(start, known, exact, exact.checks, finished, beyond)
        responses = response_losses(subject.mechanism)
        losses = None if responses is None else responses.losses
        budgeted = isinstance(subject.mechanism, Budgeted)
        guessed = GuessedStreams(subject, steps, None if budgeted else losses)
        checks = () if responses is None or subject.phase else responses.checks
        return cls(start, guessed, None, checks, finished)

    @property
    def subject(self) -> Subject:
        return self.start.subject

    @property
    def worst(self) -> tuple[WorstCase, ...]:
        """Return exact worst cases, of independent releases where sequences are too many."""
        if self.exact is not None:
            return self.exact.worst
        streams = self.streams
        if not isinstance(streams, GuessedStreams) or streams.losses is None:
            return ()
        leaked = float(streams.losses.max())
        return tuple(
            WorstCase(claim.notion, about, extent, claim.over(releases), releases * leaked)
            for claim in self.subject.claims
            for about, extent, releases in (
                ("one position", "1 release", 1),
                ("whole streams", f"{streams.steps} releases", streams.steps),
            )
        )

    def missed(self) -> list[str]:
        """Return what is not computed exactly, or not compared with what is drawn."""
        releases = f"releases {self.subject.phase}".rstrip()
        if self.exact is not None and not self.exact.driven:
            return [f"whether step draws the law that worst cases of {releases} come from"]
        if self.worst:
            return []
        return [f"exact worst cases of {releases}: too many inputs or releases to follow them all"]

    def attacks(self) -> list[Attack]:
        """Plan attacks on every claim: at positions, over whole streams, against the model."""
        few = bool(self.subject.phase)
        found = [one for claim in self.subject.claims for one in self._about(claim, few=few)]
        return [attack for attack in found if attack.one != attack.other]

    def _about(self, claim: Claim, *, few: bool) -> list[Attack]:
        found = self._of(claim, self.streams, few=few)
        if self.beyond is not None:
            found += self._of(claim, self.beyond, few=True)
        return found

    def _of(self, claim: Claim, streams: Streams, *, few: bool) -> list[Attack]:
        """Plan attacks with streams of one length, `few` of them or all."""
        steps = streams.steps
        if claim.change == "believed":
            lengths = {steps} if few else {1, max(1, steps // 2), steps}
            return [
                self._attack(claim, _first(length), streams, streams.against_model(length), None)
                for length in sorted(lengths)
            ]
        found = list[Attack]()
        positions = {0, steps - 1} if few else {0, steps // 2, steps - 1}
        for position in sorted(positions) if claim.change != "presence" else ():
            name = f"{self._unit} {position + 1} of {steps}"
            found.append(self._attack(claim, name, streams, *streams.neighbours(position)))
        if claim.absent:
            found.append(self._absent(claim, streams))
        if steps > 1 and claim.change != "presence":
            name = f"whole streams of {steps}" if self.beyond else "whole streams"
            found.append(self._attack(claim, name, streams, *streams.strangers()))
        return found

    @property
    def _unit(self) -> str:
        return "position" if self.subject.records == 1 else "batch"

    def _absent(self, claim: Claim, streams: Streams) -> Attack:
        """Compare a stream with the same one without the records of its last release."""
        whole, _ = GuessedStreams(self.subject, streams.steps).strangers()
        records = self.subject.records
        gone: Stream = (*whole[:-records], *[None] * records)
        return self._attack(claim, "with the last release and without", streams, whole, gone)

    def _attack(
        self, claim: Claim, name: str, streams: Streams, one: Stream, other: Stream | None
    ) -> Attack:
        records = self.subject.records
        releases = len(one) // records
        if other is not None:
            differing = [a != b for a, b in zip(one, other, strict=True)]
            releases = sum(any(differing[k : k + records]) for k in range(0, len(one), records))
        return Attack(
            claim.notion,
            f"{name} {self.subject.phase}".rstrip(),
            self._world(one),
            self._world(len(one) if other is None else other),
            claim.over(releases),
            min(1.0, releases * claim.delta),
            streams.exact(one, other),
        )

    def _world(self, source: Stream | int) -> StreamWorld:
        return StreamWorld(self.start, source, self.finished)


def _first(releases: int) -> str:
    return "release 1" if releases == 1 else f"releases 1 to {releases}"
