"""Find which changes of policies each figure knew, from the digests that figures carry."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from fugu.operators.swellfish.chain import first_digest, next_digest
from fugu.operators.swellfish.timeline import Policies

_MOST_BRANCHES = 4096


class Unexplained(ValueError):
    """Report that no changes, in the order of their topic, give the digest of a figure."""

    def __init__(self, tick: int) -> None:
        super().__init__(
            f"tick {tick}: the figure was made with other policies than the document and the topic "
            "of changes say"
        )
        self.tick = tick


@dataclass(frozen=True)
class Written:
    """Hold a change as the topic has it; `certain` unless nobody but the pipeline can tell whether
    it was taken or refused as unreadable, because it has a signature of a shared secret."""

    change: bytes
    certain: bool = True


@dataclass(frozen=True)
class Known:
    """Hold what the figures from `tick` on know.

    `told`: how many of the written changes came before; `applied`: those among them that the
    pipeline took, as (number, first tick that knows); `changes`: what `Policies` made of them.
    """

    tick: int
    digest: bytes
    told: int = 0
    applied: tuple[tuple[int, int], ...] = ()
    changes: bytes = b""


def explained(
    timeline: Policies, written: Sequence[Written], figures: Iterable[tuple[int, bytes]]
) -> Iterator[Known]:
    """Yield what each new digest of the figures, in order of their ticks, says was known.

    The least number of further changes is taken that gives the digest, each known from the tick of
    the figure on. Raises `Unexplained` at the first figure that nothing explains.

    >>> from fugu.operators.swellfish.change import Change
    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> gone = Change("home", effective=3, removes="vacuum", adds=None).to_bytes()
    >>> before = first_digest(HOUSEHOLD.digest())
    >>> figures = [(0, before), (1, before), (2, next_digest(before, gone, 2))]
    >>> [(one.tick, one.told) for one in explained(HOUSEHOLD, [Written(gone)], figures)]
    [(0, 0), (2, 1)]
    """
    known: Known | None = None
    for tick, digest in figures:
        if known is None:
            known = Known(tick, first_digest(timeline.digest()))
            if digest == known.digest:
                yield known
        if digest != known.digest:
            known = _after(timeline, written, replace(known, tick=tick), digest)
            yield known


def _after(timeline: Policies, written: Sequence[Written], known: Known, digest: bytes) -> Known:
    """Return what is known where further changes give this digest."""
    branches = [known]
    for number in range(known.told, len(written)):
        branches = [
            after
            for branch in branches
            for after in _either(timeline, written[number], branch, number)
        ]
        for branch in branches:
            if branch.digest == digest:
                return branch
        if len(branches) > _MOST_BRANCHES:
            break
    raise Unexplained(known.tick)


def _either(timeline: Policies, written: Written, before: Known, number: int) -> Iterator[Known]:
    """Yield what is known after a change, and, where that is not certain, without it."""
    passed = replace(before, told=number + 1)
    yield replace(
        passed,
        digest=next_digest(before.digest, written.change, before.tick),
        applied=(*before.applied, (number, before.tick)),
        changes=timeline.told(before.changes, written.change, before.tick),
    )
    if not written.certain:
        yield passed
