"""`fugu.sanitize`: one step of a Bytewax dataflow that is not Fugu's."""

from typing import Any

import bytewax.operators as op
import numpy as np
from bytewax.dataflow import operator
from bytewax.operators import KeyedStream, StatefulBatchLogic

from fugu.operators.mechanism import Mechanism
from fugu.operators.randomness import Secret
from fugu.streams import Advance, Release, Snapshot, published

_Keyed = tuple[str, Any]


@operator
def sanitize(
    step_id: str, up: KeyedStream[Any], mechanism: Mechanism, secret: Secret
) -> KeyedStream[Release]:
    """Release every value of a keyed stream; nothing for what is suppressed.

    >>> import bytewax.operators as op
    >>> import fugu
    >>> from bytewax.dataflow import Dataflow
    >>> from bytewax.testing import TestingSink, TestingSource, run_main
    >>> flow, released = Dataflow("zones"), []
    >>> zones = op.input("in", flow, TestingSource([("ada", 2), ("bob", 0)]))
    >>> grr = fugu.mechanism("grr", symbols=4, epsilon=1.0)
    >>> private = fugu.sanitize("grr", zones, grr, fugu.Secret(bytes(32)))
    >>> values = op.map_value("value", private, lambda release: release.value)
    >>> op.output("out", values, TestingSink(released))
    >>> run_main(flow)
    >>> sorted(released)
    [('ada', 2), ('bob', 1)]

    Bytewax keeps one row of state per key in its recovery store. Draws depend on the secret, the
    step, the key, the position in the stream of the key, and the value. After a crash they come
    again if the source replays the records of each key in the same order. Call
    `fugu.forget_unfinished_epochs` with the path of the store (of one partition) before every
    start: Bytewax 0.21.1 may take what a killed run left of an epoch for the state after it. A row
    is refused under another mechanism, secret or step id.

    `fugu run` does more. It writes a release id into every record, so that readers drop copies. It
    compares what a replay releases with what was published, and stops at a difference. It refuses
    to start where a budget would begin anew or a truth would be released twice. It publishes state
    and releases in one transaction, and charges pipelines over one source to one ledger and budget.
    None of that is done here: a replay in another order, a lost recovery store, or a second
    dataflow over the same data releases truths again, and their epsilons add up unseen.

    What a mechanism holds back at the end of the input, as `batched_crr` does, stays in its row,
    which then holds true values: the recovery store is as secret as the source.
    """
    advance = Advance(mechanism, secret, step_id)

    def build(snapshot: Snapshot | None) -> "_Stream":
        return _Stream(advance, snapshot)

    keyed = op.map("key", up, lambda record: (record[0], record))
    return op.stateful_batch("release", keyed, build)


class _Stream(StatefulBatchLogic[_Keyed, Release, Snapshot]):
    """Release the values of one key."""

    def __init__(self, advance: Advance, snapshot: Snapshot | None) -> None:
        self._advance = advance
        self._state = advance.start(1) if snapshot is None else advance.restored(snapshot)

    def on_batch(self, values: list[_Keyed]) -> tuple[list[Release], bool]:
        """Release a few values, in their order."""
        keys, given = [key for key, _ in values], [value for _, value in values]
        rows, names = np.zeros(len(values), dtype=np.int64), [key.encode() for key in keys]
        self._state, releases = self._advance(self._state, rows, names, given)
        return [one for _, one in published(keys, releases)], StatefulBatchLogic.RETAIN

    def snapshot(self) -> Snapshot:
        """Return the row of the key; no later call modifies it."""
        return self._advance.digest, self._state
