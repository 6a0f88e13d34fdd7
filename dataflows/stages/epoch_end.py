"""What becomes of values that streams hold back when a pipeline is finished."""

import logging
from collections.abc import Callable

from fugu.operators.budget import without_budget
from fugu.operators.byte_fields import encode_fields
from fugu.operators.mechanism import Draws, HoldingMechanism, Mechanism, Releases, State
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

log = logging.getLogger(__name__)


def holding(mechanism: Mechanism) -> HoldingMechanism | None:
    """The mechanism, with its budget, if it releases several records together."""
    held = isinstance(without_budget(mechanism), HoldingMechanism)
    return mechanism if held and isinstance(mechanism, HoldingMechanism) else None


def ended(
    mechanism: TemporalPerturbation,
    state: State,
    end: End,
    place: tuple[str, int],
    draws: Callable[[list[bytes]], Draws],
) -> tuple[State, tuple[Releases, ...]]:
    """Return the next epoch of every row, and what leaves before it, tick by tick.

    To discard is to publish nothing more, so that every value that was published has the delay law
    of the steady state; how many values that drops is logged. `place`: topic id and partition;
    `draws`: those of the rows at given positions.
    """
    topic, partition = place
    if end == "drain":
        epochs = state["epoch"].tolist()
        positions = [encode_fields("end of epoch", topic, partition, epoch) for epoch in epochs]
        return mechanism.finish(state, draws(positions))
    after, dropped = mechanism.discard(state)
    log.info(
        "partition %d: %d values that were held back are dropped (operator.end is discard)",
        partition,
        dropped.sum(),
        extra={"partition": partition},
    )
    return after, ()
