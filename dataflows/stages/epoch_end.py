"""Let out or drop what streams hold back when a pipeline is finished."""

import logging
from collections.abc import Sequence

from fugu.dataflows.stages.stage import StreamStage
from fugu.operators.budget import without_budget
from fugu.operators.byte_fields import encode_fields
from fugu.operators.mechanism import HoldingMechanism, Mechanism, Releases, State
from fugu.operators.temporal.temporal_perturbation import End, TemporalPerturbation

log = logging.getLogger(__name__)


def holding(mechanism: Mechanism) -> HoldingMechanism | None:
    """Return the mechanism, with its budget, if it releases several records together."""
    held = isinstance(without_budget(mechanism), HoldingMechanism)
    return mechanism if held and isinstance(mechanism, HoldingMechanism) else None


def end_epochs(
    stage: StreamStage,
    mechanism: TemporalPerturbation,
    place: tuple[int, Sequence[bytes]],
    state: State,
    end: End,
) -> tuple[State, tuple[Releases, ...]]:
    """Return the next epoch of every row, and what leaves before it, tick by tick.

    To discard is to publish nothing more, so that every value that was published has the delay law
    of the steady state; how many values that drops is logged. `place`: the partition, and the keys
    of the rows.
    """
    (partition, keys), own = place, stage.own(state)
    if end == "drain":
        epochs = own["epoch"].tolist()
        ends = [encode_fields("end of epoch", stage.source, partition, epoch) for epoch in epochs]
        return mechanism.finish(own, stage.scope.draws(keys, ends))
    after, dropped = mechanism.discard(own)
    log.info(
        "partition %d: %d values that were held back are dropped (operator.end is discard)",
        partition,
        dropped.sum(),
        extra={"partition": partition},
    )
    return after, ()
