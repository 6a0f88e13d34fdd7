from typing import Literal

from fugu.dataflows.kinds.families.section import Files
from fugu.dataflows.kinds.families.w_event import WEventOperator
from fugu.operators.mechanism import Mechanism
from fugu.operators.wevent.fast import Fast
from fugu.operators.wevent.strategy import Watched


class FastOperator(WEventOperator):
    """Release figures of some ticks of every window, and filter them in between (FAST)."""

    order = 405
    noise = "filtered"
    strategy_class = Fast

    kind: Literal["fast"]
    samples: int | None = None
    """Say how many ticks are measured in a window; by default, fast chooses."""

    def strategy(self) -> Mechanism:
        most = self.largest_contribution
        return self._made(Fast, self._cap(), self.samples or 0, contribution=most)

    def remarks(self, files: Files, mechanism: Mechanism) -> list[str]:
        strategy = mechanism.strategy if isinstance(mechanism, Watched) else mechanism
        assert isinstance(strategy, Fast)
        if strategy.samples_per_block > 1 or strategy.window == 1:
            return []
        return [
            f"operator.samples: fast takes one sample in {strategy.window} ticks and repeats it, "
            "so that nothing is filtered, with half of epsilon (by default 3 samples in 40 ticks, "
            "and one up to a window of 26). Write samples: 2 or more, or kind: sample, which takes "
            "one with all of epsilon"
        ]
