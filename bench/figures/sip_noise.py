"""SIP, Figs. 3 and 4: how noise at two steps goes together, by the correlation of true symbols."""

from collections.abc import Callable
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
"""Noise by symbol x and released symbol y: 1 where they differ."""


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
        return _leakage(first[None], self.model.prior[None]) + _leakage(
            self._second(high, conditional), belief
        )

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
    quantities: dict[tuple[str, str], Callable[[Floats], float]] = {
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
    alike, other = [leaked[f"{name}, P1 = {_PRIORS[0]:g}"][-1][1] for name in ("crr", "each alone")]
    least = [min(noise, key=noise.__getitem__) for noise in noises]
    steady = all(noise[max(noise)] <= min(noise.values()) + 1e-9 for noise in noises)
    return Figure(
        "sip-figures-3-and-4",
        "Jiang, Li and Tandon 2024, Figs. 3 and 4 (exact, two binary symbols; epsilon 1 is ours)",
        panels,
        "reproduced" if steady else "differs",
        "Where symbols are independent, noise at both steps is, too; the more symbols go together, "
        "the more noise does, and most for a skewed prior, as printed. Noise at step 2 is largest "
        f"({max(noises[0].values()):.3f}) where symbols are independent, but falls no further than "
        f"to {noises[0][least[0]]:.3f} at a correlation of {abs(least[0]):.1f} where P1 = .5, to "
        f"{noises[1][least[1]]:.3f} at {abs(least[1]):.1f} where P1 = .95, and in between it "
        "rises: the printed mechanism cannot have beliefs below 1 / (e + 1), and the repaired one "
        f"gives up the rarer symbol there. At a noise of {_MOST_NOISE:g} noise that follows from "
        f"the first release leaks {alike:.2f} instead of {other:.2f} nats under the strongest "
        "correlation at P1 = .5. At P1 = .95 both are the same, as the first release is always 1 "
        "and tells nothing.",
    )


def _leakage(laws: Floats, beliefs: Floats) -> float:
    """Return the largest of |ln a(y|x) / q(y)| over symbols, releases and laws `(laws, x, y)`."""
    released = np.einsum("lx,lxy->ly", beliefs, laws)
    ratios = laws.transpose(0, 2, 1)[released > 0.0] / released[released > 0.0][:, None]
    return float(np.abs(np.log(ratios)).max())


def _correlation(joint: Floats) -> float:
    first, second = joint[1].sum(), joint[:, 1].sum()
    spread = sqrt(first * (1.0 - first) * second * (1.0 - second))
    return float((joint[1, 1] - first * second) / spread) if spread > 1e-12 else 0.0


def _information(joint: Floats) -> float:
    apart = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    there = joint > 0.0
    return float((joint[there] * np.log(joint[there] / apart[there])).sum())
