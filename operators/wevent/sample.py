"""Sample: the w-event strategy that spends the whole budget at one tick of every window."""

from dataclasses import dataclass
from typing import ClassVar

from fugu.operators.wevent import allocation
from fugu.operators.wevent.strategy import Strategy


@dataclass(frozen=True, eq=False)
class Sample(Strategy):
    """Publish ticks 1, window + 1, 2 window + 1, ... with noise of scale sensitivity / epsilon.

    Claim. As for `Uniform`. The ticks in between repeat what was published.

    Parameters: those of `Strategy`, as are input, release, state and errors.

    >>> from fugu.operators.trial import released
    >>> sample = Sample(bins=2, window=2, epsilon=1.0, sensitivity=1)
    >>> [release.values.tolist() for release in released(sample, [[500, 20], [600, 30], [700, 40]])]
    [[[498, 20]], [[498, 20]], [[702, 40]]]

    Source: PBA specification, section 4; Kellaris et al. 2014.
    """

    kind: ClassVar[str] = "sample"
    rule_class: ClassVar[type[allocation.Rule]] = allocation.Sample
    claim: ClassVar[str] = "a window holds one publication, which spends epsilon"
    proof: ClassVar[str] = "PBA specification, section 4 (Sample)"
