"""What becomes of values that streams hold back when a pipeline is finished."""

import logging

from operators.mechanism import Releases, State
from operators.temporal.temporal_perturbation import End, TemporalPerturbation

log = logging.getLogger(__name__)


def ended(
    mechanism: TemporalPerturbation, state: State, end: End, partition: int
) -> tuple[State, tuple[Releases, ...]]:
    """The next epoch of every row, and what leaves before it, tick by tick.

    To discard is to publish nothing more, so that every value that was published has the delay law
    of the steady state; how many values that drops is logged.
    """
    if end == "drain":
        return mechanism.finish(state)
    after, dropped = mechanism.discard(state)
    log.info(
        "partition %d: %d values that were held back are dropped (operator.end is discard)",
        partition,
        dropped.sum(),
        extra={"partition": partition},
    )
    return after, ()
