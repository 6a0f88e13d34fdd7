"""Attack a black box: run the real operator many times on two streams and count what differs.

One half of the runs finds the event that tells two streams apart best, the other half counts it.
Every bound may err with its share of what the whole audit may err with (Bonferroni), so that with
the stated confidence *no* bound exceeds what the operator really leaks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from fugu.dataflows.offline.auditing.confidence import leakage_bound, lower_limit, upper_limit
from fugu.dataflows.offline.auditing.events import likeliest_event
from fugu.dataflows.offline.auditing.runs import Source, run
from fugu.dataflows.offline.auditing.streams import Leaks, Stream, Streams
from fugu.dataflows.offline.auditing.subject import Claim, Subject
from fugu.operators.mechanism import Floats, Notion


@dataclass(frozen=True)
class Attack:
    """Compare runs of one stream with those of another one, or of streams drawn from the model."""

    notion: Notion
    name: str
    one: Stream
    other: Stream | None
    claim: float
    delta: float
    exact: Leaks | None

    @property
    def sources(self) -> tuple[Source, Source]:
        """Return the streams to run and to compare."""
        return self.one, len(self.one) if self.other is None else self.other


@dataclass(frozen=True)
class Effort:
    """Hold how hard to attack; `confidence` is in per cent.

    All secrets follow from `seed`; none is that of a pipeline.
    """

    runs: int
    confidence: float
    seed: int

    @property
    def counted(self) -> int:
        """Return how many runs of each stream bounds are computed from."""
        return self.runs // 2

    def out_of_reach(self, attacks: Sequence[Attack]) -> float:
        """Return the nats that so many runs cannot prove even of an operator that hides nothing."""
        counts = np.array(self.counted), np.array(0)
        error = self.error(attacks)
        return float(leakage_bound(*counts, self.counted, error=error, delta=0.0))

    def error(self, attacks: Sequence[Attack]) -> float:
        """Return the error of each attack in each direction."""
        return (1.0 - self.confidence / 100.0) / max(1, 2 * len(attacks))


@dataclass(frozen=True)
class Finding:
    """Hold what an attack found in its better direction."""

    attack: Attack
    bound: float
    shown: float
    at_least: float
    elsewhere: float
    at_most: float
    exact: float | None

    @property
    def broken(self) -> bool:
        """Return whether more leaks than is claimed, as surely as the audit's confidence says."""
        return self.bound > self.attack.claim


def planned(claims: Sequence[Claim], streams: Streams) -> list[Attack]:
    """Plan attacks on every claim: at positions, over whole streams, against the model."""
    steps = streams.steps
    found = []
    for claim in claims:
        if claim.notion == "sip":
            for length in sorted({1, max(1, steps // 2), steps}):
                first = "release 1" if length == 1 else f"releases 1 to {length}"
                one = streams.against_model(length)
                found.append(_attack(claim, first, one, None, streams))
            continue
        for position in sorted({0, steps // 2, steps - 1}):
            name = f"position {position + 1} of {steps}"
            found.append(_attack(claim, name, *streams.neighbours(position), streams))
        if steps > 1:
            found.append(_attack(claim, "whole streams", *streams.strangers(), streams))
    return [attack for attack in found if attack.one != attack.other]


def _attack(claim: Claim, name: str, one: Stream, other: Stream | None, streams: Streams) -> Attack:
    differing = len(one) if other is None else sum(map(int.__ne__, one, other))
    return Attack(
        claim.notion,
        name,
        one,
        other,
        claim.over(differing),
        min(1.0, differing * claim.delta),
        streams.exact(one, other),
    )


def carried_out(
    subject: Subject, attacks: Sequence[Attack], effort: Effort, advance: Callable[[int], None]
) -> Iterator[Finding]:
    """Run everything; `advance` is told how many runs are done."""
    error = effort.error(attacks)
    seen: dict[Source, Floats] = {}
    for source in sources(attacks):
        seen[source] = run(subject, source, effort.runs, (effort.seed, len(seen)), advance)
    for attack in attacks:
        one, other = (seen[source] for source in attack.sources)
        exact = attack.exact or (None, None)
        forth = _compared(attack, one, other, error, exact[0])
        back = _compared(attack, other, one, error, exact[1])
        yield max(forth, back, key=lambda finding: finding.bound)


def sources(attacks: Sequence[Attack]) -> list[Source]:
    """Return all streams that have to be run, each once."""
    return list(dict.fromkeys(source for attack in attacks for source in attack.sources))


def _compared(
    attack: Attack, shown: Floats, other: Floats, error: float, exact: float | None
) -> Finding:
    half = len(shown) // 2
    event = likeliest_event(shown[half:], other[half:], error=error, delta=attack.delta)
    hits, other_hits = np.array(event.count(shown[:half])), np.array(event.count(other[:half]))
    bound = leakage_bound(hits, other_hits, half, error=error, delta=attack.delta)
    return Finding(
        attack,
        bound=float(bound),
        shown=float(hits / half),
        at_least=float(lower_limit(hits, half, error / 2.0)),
        elsewhere=float(other_hits / half),
        at_most=float(upper_limit(other_hits, half, error / 2.0)),
        exact=exact,
    )
