"""Estimate shares by how far releases depart from what the model made likely.

Source: Särndal, Swensson and Wretman 1992, section 6.3 (difference estimator); SIP specification,
sections 3 (law) and 9 (frequency estimates).
"""

from dataclasses import dataclass

import numpy as np

from fugu.operators.estimates.share_reader import aligned
from fugu.operators.mechanism import Floats, Integers, Kind, Releases, State
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse


@dataclass(frozen=True)
class DifferenceReader:
    """Add to the belief before a release how far the release departs from what it made likely.

    The difference estimator of survey sampling, with the model as auxiliary information: unbiased
    for symbols that the release law keeps apart, whatever the model is. For what it does not keep
    apart at a release (`mode: optimal`, outside its support) the belief speaks alone. Posteriors
    vary less, but lean on the model everywhere.
    """

    mechanism: ConditionalRandomizedResponse

    @property
    def outcomes(self) -> int:
        return self.mechanism.model.symbols

    def start(self, rows: int) -> State:
        belief, gaps = np.tile(self.mechanism.model.start, (rows, 1)), self.mechanism.gaps
        in_time = {} if gaps is None else gaps.start(rows)
        return {**in_time, "belief": belief, **self.mechanism.radius.start(rows)}

    def elapse(self, state: State, ticks: Integers) -> State:
        """Bring every row to the tick of its next release; nothing is drawn, so no history."""
        history = np.zeros(len(ticks), dtype=np.uint64)
        after = self.mechanism.elapse({**state, "history": history}, ticks)
        return {name: after[name] for name in state}

    def read(self, state: State, releases: Releases) -> tuple[State, Floats]:
        """Report what is fresh, and predict past what is not."""
        after, told, _, _ = self.read_and_predict(state, releases)
        return after, told

    def read_and_predict(
        self, state: State, releases: Releases
    ) -> tuple[State, Floats, Floats, Floats]:
        """Return the surprise of fresh releases, too; see `PredictingReader`."""
        fresh = np.asarray(releases.kinds == Kind.FRESH)
        model, before = self.mechanism.model, np.ascontiguousarray(state["belief"].T)
        released = releases.values[fresh].astype(np.int64)
        doubt = self.mechanism.radius.doubt(state, self.mechanism.doubts)[fresh]
        law = self.mechanism.law(model.marginal(before[:, fresh]), doubt)
        belief = np.empty_like(before)
        belief[:, fresh] = model.advance(before[:, fresh], law.posterior(released))
        belief[:, ~fresh] = model.skip(before[:, ~fresh])
        told = aligned(fresh, law.report(released).T)
        surprises, variances = surprises_of(law.expected_releases().T, released)
        gaps = self.mechanism.gaps
        after = {
            **({} if gaps is None else gaps.kept(state)),
            "belief": np.ascontiguousarray(belief.T),
            **self.mechanism.radius.after(state),
        }
        return after, told, aligned(fresh, surprises), aligned(fresh, variances)


def surprises_of(expected: Floats, released: Integers) -> tuple[Floats, Floats]:
    """Return indicators of what was released minus what was expected, and their variances."""
    indicators = released[..., None] == np.arange(expected.shape[-1])
    return indicators - expected, expected * (1.0 - expected)
