"""One stream of a mechanism, without Kafka: to see in a few lines what is released."""

from collections.abc import Iterable, Iterator

import numpy as np
from numpy.typing import ArrayLike

from fugu.operators.mechanism import Inputs, Mechanism, PlanningMechanism, Releases, State
from fugu.operators.randomness import DrawScope, Secret, tick_position


def released(mechanism: Mechanism, values: Iterable[ArrayLike | None]) -> Iterator[Releases]:
    """Yield the release of each value in turn, for one stream.

    The secret is 32 zero bytes, so that examples print the same everywhere: whoever knows it can
    remove all noise.

    >>> from fugu.operators.wevent.spread_strategies import Uniform
    >>> uniform = Uniform(bins=1, window=1, epsilon=1.0, sensitivity=1)
    >>> [release.values.tolist() for release in released(uniform, [[500], [520]])]
    [[[501]], [[517]]]
    """
    scope = DrawScope(Secret(bytes(32)), "trial", mechanism.kind, 1, mechanism.law_digest())
    state = mechanism.start(1)
    for tick, value in enumerate(values):
        state = with_plan(mechanism, state)
        payload = value is None or isinstance(value, bytes)
        inputs = Inputs(np.array([value], dtype=object if payload else None))
        draws = scope.draws([b"stream"], [tick_position("trial", tick)])
        state, releases = mechanism.step(state, inputs, draws)
        yield releases


def with_plan(mechanism: Mechanism, state: State) -> State:
    """Return the state with a plan for the next positions, if the mechanism makes one."""
    if not isinstance(mechanism, PlanningMechanism) or (plan := mechanism.plan(state)) is None:
        return state
    return mechanism.after_plan(state, plan)
