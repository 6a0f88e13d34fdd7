"""Isolate a record whose reading raises an exception that nobody foresaw.

A batch is halved until such a record is alone. It becomes a dead letter, and its neighbours are
read as ever: how records are cut into batches never shows. This costs nothing before an exception.
"""

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from fugu.dataflows.base.batches import Batch, DeadLetters, Decoded, RefusedRecords
from fugu.dataflows.base.errors import is_of_one_record, type_and_place

log = logging.getLogger(__name__)

_REFUSED = "The record is a dead letter (unreadable), others are read as ever"
_IN_PARTS = "The records that were fetched from there on are read in smaller parts, all of them"

_said = Counter[tuple[str, str, str]]()
"""Count what is said by topic, and by exception with its line of code."""


def isolated(
    topic: str,
    batch: Batch,
    decode: Callable[[Batch], Decoded],
    refuse: Callable[[Batch, str], Decoded],
) -> Decoded:
    """Return what `decode` returns; `refuse` a record that it cannot take, with its exception.

    What concerns more than one record is raised.
    """
    waiting, pieces = [batch], list[Decoded]()
    raised: Exception | None = None
    are_refused = False
    while waiting:
        part = waiting.pop()
        try:
            pieces.append(decode(part))
        except Exception as error:
            count, raised = len(part.offsets), error
            if count == 0 or not is_of_one_record(error):
                raise
            if count == 1:
                are_refused = True
                _say(topic, part, error, _REFUSED)
                pieces.append(refuse(part, type(error).__name__))
            else:
                waiting += [
                    part.at(np.arange(count // 2, count)),
                    part.at(np.arange(count // 2)),
                ]
    if raised is not None and not are_refused:
        _say(topic, batch, raised, _IN_PARTS)
    return pieces[0] if len(pieces) == 1 else _joined(pieces)


def _say(topic: str, batch: Batch, error: Exception, what: str) -> None:
    """Log the first time, the tenth, the hundredth and so on, without the text of the exception.

    That text may hold what a record holds.
    """
    place, offset = type_and_place(error), int(batch.offsets[0])
    _said[topic, what, place] += 1
    count = _said[topic, what, place]
    if not is_power_of_ten(count):
        return
    log.error(
        "topic %s, partition %d, offset %d: reading raises %s. %s (number %d of this kind since "
        "the start). This is a defect in Fugu; please report it.",
        topic,
        batch.partition,
        offset,
        place,
        what,
        count,
        extra={"topic": topic, "partition": batch.partition, "offset": offset},
    )


def is_power_of_ten(count: int) -> bool:
    """Return whether a count is worth a line in the log.

    >>> [count for count in range(1, 2_000) if is_power_of_ten(count)]
    [1, 10, 100, 1000]
    """
    return str(count).strip("0") == "1"


def _joined(pieces: Sequence[Decoded]) -> Decoded:
    """Return pieces of one batch, which stand in the order of their offsets, as lists."""
    dead, refused = DeadLetters(), RefusedRecords()
    for piece in pieces:
        dead.extend(piece.dead)
        for own, further in zip(vars(refused).values(), vars(piece.refused).values(), strict=True):
            own.extend(further)
    first, filled = pieces[0], [piece for piece in pieces if len(piece.offsets)]
    return replace(
        first,
        offsets=[one for piece in filled for one in piece.offsets],
        timestamps=[one for piece in filled for one in piece.timestamps],
        keys=[one for piece in filled for one in piece.keys],
        values=np.concatenate([piece.values for piece in filled]) if filled else first.values,
        events=(
            None
            if first.events is None
            else [one for piece in filled for one in piece.events or ()]
        ),
        dead=dead,
        refused=refused,
    )
