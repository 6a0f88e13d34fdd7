"""SIP, Figs. 3 and 4: how noise at two steps goes together, by the correlation of true symbols."""

from dataclasses import dataclass
from math import sqrt

import numpy as np

from bench.figures.figure import Figure, Panel
from fugu.operators.mechanism import Floats
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel

_EPSILON, _MOST_NOISE = 1.0, 0.1
_PRIORS = (0.5, 0.95)
_CHANGES = (0.01, *(0.05 * step for step in range(1, 20)), 0.99)
_HALVINGS, _LARGEST = 30, 8.0
_FLIPPED = np.array([[0, 1], [1, 0]])
"""Whether symbol y is not symbol x."""


@dataclass(frozen=True)
class _Pair:
    """Two symbols, the second of which is the first one or, with a chance, the other one."""

    first: float
    changes: float

    @property
    def model(self) -> MarkovModel:
        stays, changes = 1.0 - self.changes, self.changes
        prior = np.array([1.0 - self.first, self.first])
        return MarkovModel(prior, np.array([[stays, changes], [changes, stays]]))

    @property
    def correlation(self) -> float:
        second = self.model.prior @ self.model.transition
        spread = sqrt(self.first * (1.0 - self.first) * second[0] * second[1])
        return float((self.first * (1.0 - self.changes) - self.first * second[1]) / spread)

    def laws(self, epsilon: float = _EPSILON) -> tuple[Floats, Floats, Floats]:
        """Return a(y1|x1), a(y2|x2) after each y1, and P(x2|y1): `(y1, x2)`.

        The first release has epsilon 1, the second one that which is given.
        """
        crr, second = (ConditionalRandomizedResponse(self.model, e) for e in (_EPSILON, epsilon))
        begun = crr.start(2)
        after, _ = crr.observe(begun, np.array([0, 1]))
        return crr.release_law(begun)[0], second.release_law(after), after["belief"]

    def noise(self) -> Floats:
        """Return P(first symbol flipped, second symbol flipped), `(2, 2)`."""
        first, second, _ = self.laws()
        joint = np.zeros((2, 2))
        for x1, y1, x2, y2 in np.ndindex(2, 2, 2, 2):
            chance = self.model.prior[x1] * first[x1, y1] * self.model.transition[x1, x2]
            joint[_FLIPPED[x1, y1], _FLIPPED[x2, y2]] += chance * second[y1, x2, y2]
        return joint

    def least_leakage(self, *, conditional: bool) -> float:
        """Return what both releases leak at most, where the second may flip one symbol in ten.

        `conditional`: its law follows from the first release; otherwise it is that of a symbol by
        itself, and leaks what it leaks to somebody who knows the first release, too.
        """
        first, _, belief = self.laws()
        chances = self.model.prior @ first
        low, high = 0.01, _LARGEST
        for _ in range(_HALVINGS):
            middle = (low + high) / 2.0
            law = self._second(middle, conditional)
            wrong = np.einsum("y,yx,yxr,xr->", chances, belief, law, _FLIPPED)
            low, high = (low, middle) if wrong <= _MOST_NOISE else (middle, high)
        law = self._second(high, conditional)
        released = np.einsum("yx,yxr->yr", belief, law)
        return _EPSILON + float(np.abs(np.log(law / released[:, None])).max())

    def _second(self, epsilon: float, conditional: bool) -> Floats:
        if conditional:
            return self.laws(epsilon)[1]
        alone = ConditionalRandomizedResponse(self.model, epsilon)
        belief = np.tile(self.model.prior @ self.model.transition, (2, 1))
        return alone.release_law({**alone.start(2), "belief": belief})


def sip_noise() -> Figure:
    """Compute both laws of crr at epsilon 1 for all releases and symbols."""
    found = {
        first: {pair.correlation: pair for pair in (_Pair(first, one) for one in _CHANGES)}
        for first in _PRIORS
    }
    quantities = {
        ("correlation of noise", "correlation of flips"): _correlation,
        ("mutual information of noise", "nats"): _information,
        ("noise at step 2", "P(flipped)"): lambda joint: float(joint[:, 1].sum()),
    }
    panels = [
        Panel(
            title,
            "correlation of the symbols",
            up,
            {
                f"P1 = {first:g}": [(at, of(pair.noise())) for at, pair in pairs.items()]
                for first, pairs in found.items()
            },
            (False, False),
        )
        for (title, up), of in quantities.items()
    ]
    leaked = {
        f"{name}, P1 = {first:g}": [
            (at, pair.least_leakage(conditional=conditional)) for at, pair in pairs.items()
        ]
        for first, pairs in found.items()
        for name, conditional in (("crr", True), ("each alone", False))
    }
    title = f"leakage of both, noise at most {_MOST_NOISE:g}"
    panels.append(Panel(title, "correlation of the symbols", "nats", leaked, (False, False)))
    noises = [dict(panels[2].curves[f"P1 = {first:g}"]) for first in _PRIORS]
    none = [min(noise, key=abs) for noise in noises]
    falls = all(noise[max(noise)] < noise[at] for noise, at in zip(noises, none, strict=True))
    saved = [
        dict(leaked[f"each alone, P1 = {first:g}"])[at] - dict(leaked[f"crr, P1 = {first:g}"])[at]
        for first in _PRIORS
        for at in (max(found[first]),)
    ]
    correlated = [dict(panels[0].curves[f"P1 = {first:g}"]) for first in _PRIORS]
    independent = max(abs(noise[at]) for noise, at in zip(correlated, none, strict=True))
    holds = falls and min(saved) > 0.0 and independent < 1e-3
    return Figure(
        "sip-figures-3-and-4",
        "Jiang, Li and Tandon 2024, Figs. 3 and 4 (exact, two binary symbols; epsilon 1 is ours)",
        panels,
        "reproduced" if holds else "differs",
        "Noise at both steps is independent where symbols are, and the more correlated the more "
        f"they are. Noise at step 2 {'falls' if falls else 'does not always fall'} with "
        f"correlation: from {noises[0][none[0]]:.3f} to {noises[0][max(noises[0])]:.3f} at P1 = .5 "
        f"and from {noises[1][none[1]]:.3f} to {noises[1][max(noises[1])]:.3f} at P1 = .95. At a "
        f"noise of {_MOST_NOISE:g} noise that follows from the first release leaks "
        f"{saved[0]:.2f} and {saved[1]:.2f} nats less than noise for each symbol alone under the "
        "strongest correlation. Beliefs below 1 / (e + 1), which the printed mechanism cannot "
        "have, are those of the repaired one.",
    )


def _correlation(joint: Floats) -> float:
    first, second = joint[1].sum(), joint[:, 1].sum()
    spread = sqrt(first * (1.0 - first) * second * (1.0 - second))
    return float((joint[1, 1] - first * second) / spread) if spread > 1e-12 else 0.0


def _information(joint: Floats) -> float:
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0.0
    return float((joint[there] * np.log(joint[there] / apart[there])).sum())
