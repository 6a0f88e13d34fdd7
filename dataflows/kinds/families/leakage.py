"""Tell what an adversary learns who knows how ticks of one user depend on each other."""

from dataclasses import dataclass

from fugu.dataflows.kinds.families.correlation import Correlation
from fugu.operators.budget_units import in_nats
from fugu.operators.leakage.inversion import Neighbours, backward_in_words, in_words
from fugu.operators.wevent.quantified import Quantified
from fugu.operators.wevent.strategy import Watched


@dataclass(frozen=True)
class TemporalLeakage:
    """Bound what is learned, in nats, about one tick and about a window, of the whole stream."""

    largest_spend: float
    about_one: float
    about_window: float
    words: str
    backward_is: str

    @classmethod
    def of(
        cls, correlation: Correlation, mechanism: Watched, neighbours: Neighbours
    ) -> "TemporalLeakage":
        """Compute it with the declared matrices."""
        strategy, factor, known = mechanism.strategy, mechanism.factor, correlation.known
        largest = in_nats(factor * strategy.largest_tick)
        if isinstance(strategy, Quantified) and strategy.horizon is not None:
            spends = [in_nats(factor * units) for units in strategy.declared(strategy.horizon)]
            one, whole = max(known.over(spends).total), max(known.windows(spends, strategy.window))
        else:
            one, whole = known.limit(largest), known.limit(largest, strategy.window)
        words = in_words(strategy.window, strategy.epsilon, one, whole, neighbours)
        given = None if correlation.backward is None else "correlation.backward"
        backward_is = backward_in_words(given)
        return cls(largest, one, whole, words, backward_is)
