"""The noise that policies save against promises about everything, before any data are seen."""

from dataclasses import dataclass

from fugu.operators.swellfish.relevance import Timeline


@dataclass(frozen=True)
class Improvement:
    """Compare the expected noise over a range of ticks with that of a w-event mechanism."""

    sensitivity: float
    """Mean Delta_t / Delta_Q, for any w."""
    exact: float
    """The share of ticks of which nothing can change: they are released as they are."""
    longest: int
    """max |J|, the window w that a mechanism needs that knows no policies."""
    mean_affected: float
    """The mean of max delta(J) over the open intervals."""
    mean_both: float
    """The mean of Delta_t / Delta_Q max delta(J)."""

    def affected(self, window: int) -> float:
        """Return the mean of max delta(J) / w."""
        return self.mean_affected / window

    def both(self, window: int) -> float:
        """Return the mean of Delta_t / Delta_Q max delta(J) / w."""
        return self.mean_both / window


def improvement(timeline: Timeline, first: int, last: int, changes: bytes = b"") -> Improvement:
    """Return the improvement from tick `first` to tick `last`.

    The expected size of the noise is relative to a w-event mechanism (`Uniform`) that adds Laplace
    noise of scale Delta_Q w / epsilon at every tick:

    - `sensitivity`: noise as large as what can change at all, the mean of Delta_t / Delta_Q
      (`TSUniform`, theorem 6.1);
    - `affected`: a budget for as many ticks as can be affected, the mean of max delta(J) / w over
      the open intervals (`TINARUniform`, theorem 6.2);
    - `both`: the mean of the product. `UnicornPS` has at most this: at every tick it spends
      epsilon / max delta(J) or more.

    A tick at which nothing is relevant counts as 0. A w-event mechanism hides what the policies
    hide only if w is at least max |J|; the paper also takes w = max delta(J), with which it does
    not. The paper prints the scale as Delta_Q epsilon / w. Raises `ValueError` if nothing is
    relevant at any of the ticks.

    >>> from fugu.operators.swellfish.household import HOUSEHOLD
    >>> found = improvement(HOUSEHOLD, 0, 11)
    >>> [round(number, 4) for number in (found.sensitivity, found.affected(found.longest))]
    [0.0372, 0.3542]

    Source: Swellfish specification, section 6.
    """
    ticks = last - first + 1
    sensitivity = affected = both = exact = longest = 0
    for tick in range(first, last + 1):
        relevance = timeline.relevance(tick, changes)
        most = max((interval.affected for interval in relevance.intervals), default=0)
        sensitivity += relevance.sensitivity
        affected += most
        both += relevance.sensitivity * most
        exact += relevance.sensitivity == 0
        for interval in relevance.intervals:
            longest = max(longest, interval.end - interval.start + 1)
    if not longest:
        raise ValueError("first, last: no policy is relevant at any of these ticks")
    whole = timeline.largest_sensitivity * ticks
    return Improvement(sensitivity / whole, exact / ticks, longest, affected / ticks, both / whole)
