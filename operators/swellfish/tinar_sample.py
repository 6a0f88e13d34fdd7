"""TINARSample: one sample for each relevance interval, and noise hides a whole contribution.

Claim. Swellfish privacy: a single secret of a person's policies is protected with epsilon on the
whole output, up to the delta of finite precision, and what c relevance intervals cover with c times
epsilon. A baseline that knows when policies are relevant, and not how much they hide: UnicornIS
with noise for the sensitivity of a whole contribution, where a tick is irrelevant if no interval is
open.

Parameters: those of `unicorn_is`. Input and release: as for `tinar_uniform`.

>>> import numpy as np
>>> from fugu.operators.mechanism import Inputs
>>> from fugu.operators.randomness import DrawScope, tick_position
>>> from fugu.operators.secret import Secret
>>> from fugu.operators.swellfish.household import HOUSEHOLD
>>> sample = TINARSample(HOUSEHOLD, bins=1, epsilon=1.0)
>>> scope = DrawScope(Secret(bytes(32)), "demo", "sample", 1, sample.law_digest())
>>> state, charged = sample.start(1), []
>>> for tick in range(8):
...     draws = scope.draws([b"zone"], [tick_position("kitchen", tick)])
...     state, releases = sample.step(state, Inputs(np.array([[500]])), draws)
...     charged.append(float(releases.annotations["publication_epsilon"][0]))
>>> charged
[0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]

Source: Swellfish specification, sections 5.1 and 6.
"""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.swellfish.unicorn_is import UnicornIS


@dataclass(frozen=True, eq=False)
class TINARSample(UnicornIS):
    """One sample per interval; see the module for claim, parameters, shapes and source."""

    kind: ClassVar[str] = "tinar_sample"
    adapts: ClassVar[bool] = False
