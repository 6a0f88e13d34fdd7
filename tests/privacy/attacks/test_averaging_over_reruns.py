"""Run the pipeline again from the beginning, every time a little differently, and average.

Other batches, other streams beside the victims', another instance with the same name, secret and
version: what is published for a victim's record is always the same. Where noise is a function of
the order in which records are processed, as with a generator that starts at the same seed, every
change of circumstances draws it anew, and the mean finds nearly every truth.
"""

from collections.abc import Callable

import numpy as np

from fugu.operators.randomness import DrawScope
from tests.privacy.attacks.broken_draws import with_generator
from tests.privacy.attacks.pipelines import FIRST, Record, Seen, Victim, share_right

RERUNS = 40
USERS, EACH = 6, 4


def in_batches(rng: np.random.Generator, records: list[Record]) -> list[list[Record]]:
    """Cut anywhere."""
    batches, rest = [], records
    while rest:
        size = int(rng.integers(1, 2 * USERS))
        batches.append(rest[:size])
        rest = rest[size:]
    return batches


def among_others(rng: np.random.Generator, victim: Victim, records: list[Record]) -> list[Record]:
    """Before and between the victims' records come and go those of other users."""
    free = [*range(FIRST), *(record.offset + 1 for record in records)]
    others = [
        Record(offset, b"other-%d" % rng.integers(30), int(rng.choice([victim.low, victim.high])))
        for offset in free
        if rng.random() < 0.6
    ]
    return sorted(others + records, key=lambda record: record.offset)


def from_one_seed(scope: DrawScope) -> DrawScope:
    """A generator that every instance starts anew."""
    return with_generator(scope, seed=3)


def reruns(victim: Victim, change: Callable[[DrawScope], DrawScope]) -> list[Seen]:
    """Return what new instances publish for the victims' records, each in its circumstances."""
    rng = np.random.default_rng(5)
    records = victim.records(USERS, EACH)
    published = []
    for _ in range(RERUNS):
        pipeline, seen = victim.pipeline(change), Seen()
        for batch in in_batches(rng, among_others(rng, victim, records)):
            seen |= pipeline.publish(batch)
        published.append({record.offset: seen[record.offset] for record in records})
    return published


def test_every_rerun_publishes_the_same(victim: Victim) -> None:
    published = reruns(victim, lambda scope: scope)
    assert all(seen == published[0] for seen in published)
    records = victim.records(USERS, EACH)
    assert share_right(victim.guesses(published, records), records) < 0.9


def test_with_noise_in_the_order_of_processing_the_mean_finds_nearly_every_truth(
    victim: Victim,
) -> None:
    published = reruns(victim, from_one_seed)
    records = victim.records(USERS, EACH)
    assert share_right(victim.guesses(published, records), records) > 0.9
    assert share_right(victim.guesses(published[:1], records), records) < 0.9


def test_noise_in_the_order_of_processing_passes_for_sound_where_nothing_varies(
    victim: Victim,
) -> None:
    """Which is why circumstances vary here."""
    records = victim.records(USERS, EACH)
    one, other = (victim.pipeline(from_one_seed).publish(records) for _ in range(2))
    assert one == other
