"""What a reader learns of an aggregate who knows how ticks of one user depend on each other."""

from dataclasses import dataclass

from fugu.dataflows.kinds.aggregates import WEventOperator
from fugu.dataflows.kinds.strategies import doubled
from fugu.operators.budget_units import in_nats
from fugu.operators.leakage.correlation import TemporalCorrelation
from fugu.operators.leakage.wording import Neighbours, backward_in_words, in_words
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.strategy import Strategy
from fugu.operators.wevent.watched import Watched


@dataclass(frozen=True)
class TemporalLeakage:
    """At most, in nats, about one tick and about a window, of all releases of the stream."""

    largest_spend: float
    about_one: float
    about_window: float
    words: str
    backward_is: str


def temporal_leakage(operator: WEventOperator, mechanism: Mechanism) -> TemporalLeakage | None:
    """With the declared matrices; None without any."""
    if operator.correlation is None:
        return None
    assert isinstance(mechanism, Watched)
    strategy, factor = mechanism.strategy, mechanism.factor
    largest = in_nats(factor * strategy.largest_tick)
    one, whole = _leaked(operator.correlation.known, strategy, factor)
    neighbours: Neighbours = "add/remove" if doubled(operator) else "change-one"
    words = in_words(operator.window, strategy.epsilon, one, whole, neighbours)
    given = None if operator.correlation.backward is None else "correlation.backward"
    backward_is = backward_in_words(operator.correlation.transition, given)
    return TemporalLeakage(largest, one, whole, words, backward_is)


def _leaked(known: TemporalCorrelation, mechanism: Strategy, factor: int) -> tuple[float, float]:
    """Whatever is published; with a horizon, what is declared."""
    window = mechanism.window
    if isinstance(mechanism, Quantified) and mechanism.horizon is not None:
        spends = [in_nats(factor * units) for units in mechanism.declared(mechanism.horizon)]
        return max(known.over(spends).total), max(known.windows(spends, window))
    largest = in_nats(factor * mechanism.largest_tick)
    return known.limit(largest), known.limit(largest, window)
