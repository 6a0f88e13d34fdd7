"""SIP, Fig. 6: errors of clicks by epsilon, with even and with adaptive budgets."""

import numpy as np

from bench.figures.figure import Figure, Panel
from bench.figures.symbol_runs import released
from examples.clickstream.site import Site
from fugu.operators.mechanism import Integers, Mechanism
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.responses.optimized_unary_encoding import OptimizedUnaryEncoding
from fugu.operators.sip.adaptive_release import AdaptiveRelease
from fugu.operators.sip.batches.batched_release import BatchedRelease
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.distances import Ordered
from fugu.operators.sip.markov_model import MarkovModel

_PAGES, _CLICKS, _VISITORS, _COUNTED = 30, 12, 200, 4_000
_EPSILONS = (0.5, 1.0, 2.0, 3.0, 5.0)
_DECISION = 0.25
"""The share of epsilon that an adaptive release spends on its decision."""
_SMOOTHING = 0.01
_ORDERED = Ordered()


def sip_clicks() -> Figure:
    """Release the first 12 clicks of visitors of a generated site of 30 pages."""
    site = Site(pages=_PAGES)
    public, truths = _sequences(site, _COUNTED, seed=2), _sequences(site, _VISITORS, seed=3)
    model = _model(public)
    panels = []
    for title, across, mechanisms in (
        ("the same epsilon for each click", "epsilon of a click", _even),
        ("adaptive: repeated while it is near", "spent on a click, nats", _adaptive),
    ):
        curves: dict[str, list[tuple[float, float]]] = {}
        for epsilon in _EPSILONS:
            for name, mechanism in mechanisms(model, epsilon).items():
                found, spent = released(mechanism, truths, seed=5)
                error = float(np.abs(found - truths[: len(found)]).mean())
                at = spent if mechanisms is _adaptive else epsilon
                curves.setdefault(name, []).append((at, error))
        panels.append(Panel(title, across, "mean |x - y|, pages", curves, (False, True)))
    even = {name: dict(curve) for name, curve in panels[0].curves.items()}
    between = [
        even["grr, 2 epsilon"][e] <= even["crr"][e] <= even["grr, epsilon"][e] for e in _EPSILONS
    ]
    below = [e for e in _EPSILONS if even["crr"][e] < even["grr, 2 epsilon"][e]]
    batches = [e for e in _EPSILONS if even["batches of 3"][e] < even["crr"][e]]
    adaptive, plain = panels[1].curves["adaptive_crr"], panels[1].curves["crr"]
    saved = [
        bool(error < np.interp(spent, *np.array(plain).T))
        for spent, error in adaptive
        if spent > _EPSILONS[0]
    ]
    return Figure(
        "sip-figure-6",
        "Jiang, Li and Tandon 2024, Fig. 6 (a generated site of 30 pages in place of Kosarak's "
        "41,270; without ToPS, which is not built)",
        panels,
        "differs",
        "crr errs between randomized response (grr) with epsilon and with twice epsilon at "
        f"{sum(between)} of {len(_EPSILONS)} points, and less than both at epsilon "
        f"{_told(below)}, where pages that follow each other are alike enough. Batches of 3 with "
        f"the epsilon of their clicks together err less than crr at epsilon {_told(batches)} only: "
        "30 pages make 27,000 batches of 3, too many for their law, which draws one of some groups "
        "of batches. Adaptive budgets, decision by randomized "
        f"response and paid for, err less than crr at the same spending at {sum(saved)} of "
        f"{len(saved)} points, where the paper says that they help. "
        "Choosing one of the bits of OUE gives most of its epsilon away, as printed. With the "
        "41,270 pages of Kosarak the printed mechanism leaks at least ln((1 - e^-epsilon) 41,270), "
        "about 10 nats at epsilon 1, so its gain there is not one at equal privacy.",
    )


def _even(model: MarkovModel, epsilon: float) -> dict[str, Mechanism]:
    return {
        "grr, epsilon": GeneralizedRandomizedResponse(_PAGES, epsilon),
        "grr, 2 epsilon": GeneralizedRandomizedResponse(_PAGES, 2.0 * epsilon),
        "crr": ConditionalRandomizedResponse(model, epsilon, _ORDERED),
        "batches of 2": BatchedRelease(model, 2, 2.0 * epsilon, _ORDERED, "heuristic"),
        "batches of 3": BatchedRelease(model, 3, 3.0 * epsilon, _ORDERED, "heuristic"),
    }


def _adaptive(model: MarkovModel, epsilon: float) -> dict[str, Mechanism]:
    decision, release = _DECISION * epsilon, (1.0 - _DECISION) * epsilon
    return {
        "grr": GeneralizedRandomizedResponse(_PAGES, epsilon),
        "oue, one bit": OptimizedUnaryEncoding(_PAGES, epsilon, output="symbol"),
        "crr": ConditionalRandomizedResponse(model, epsilon, _ORDERED),
        "adaptive_crr": AdaptiveRelease(model, decision, release, "steps"),
    }


def _sequences(site: Site, visitors: int, seed: int) -> Integers:
    """Return the first clicks of those who click often enough, `(clicks, visitors)`."""
    by_visitor: dict[int, list[int]] = {}
    for click in site.clicks(visitors, seed):
        by_visitor.setdefault(click.visitor, []).append(click.page)
    return np.array([pages[:_CLICKS] for pages in by_visitor.values() if len(pages) >= _CLICKS]).T


def _model(sequences: Integers) -> MarkovModel:
    pairs = np.ones((_PAGES, _PAGES))
    np.add.at(pairs, (sequences[:-1].ravel(), sequences[1:].ravel()), 1.0)
    prior = np.bincount(sequences[0], minlength=_PAGES) + 1.0
    return MarkovModel.smoothed(
        prior / prior.sum(), pairs / pairs.sum(axis=1, keepdims=True), _SMOOTHING
    )


def _told(epsilons: list[float]) -> str:
    return ", ".join(f"{epsilon:g}" for epsilon in epsilons) or "none"
