"""The w-event strategy that samples: the whole budget at one tick of every window.

Claim. Any `window` consecutive ticks are epsilon-DP together for what one person contributes to
them (w-event privacy), up to the delta of finite precision. Ticks 1, window + 1, 2 window + 1, ...
are published with noise of scale sensitivity / epsilon, and repeated in between.

Parameters: those of `uniform`. Input and release: as for `uniform`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> sample = Sample(bins=2, window=2, epsilon=1.0, sensitivity=1)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "sample", 1, sample.law_digest())
>>> state, published = sample.start(1), []
>>> for tick in range(4):
...     draws = scope.draws([b"zones"], [tick_position("vitals", tick)])
...     state, releases = sample.step(state, Inputs(np.array([[500 + tick, 20]])), draws)
...     published += releases.values.tolist()
>>> published
[[497, 23], [497, 23], [504, 19], [504, 19]]

Source: PBA specification, section 4; Kellaris et al. 2014.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Sample(Strategy):
    """One publication per window; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "sample"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Sample
    claim: ClassVar[str] = "a window holds one publication, which spends epsilon"
    proof: ClassVar[str] = "PBA specification, section 4 (Sample)"
