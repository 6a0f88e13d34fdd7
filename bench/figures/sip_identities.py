"""SIP, Fig. 8: how often a person is told from nine others by what was released of them."""

import numpy as np

from bench.figures import gaze
from bench.figures.figure import Difference, Figure, Panel, listed
from bench.figures.symbol_runs import released
from fugu.operators.mechanism import Floats, Integers
from fugu.operators.responses.generalized_randomized_response import GeneralizedRandomizedResponse
from fugu.operators.sip.conditional_randomized_response import ConditionalRandomizedResponse
from fugu.operators.sip.markov_model import MarkovModel
from fugu.operators.sip.planar_isotropic_response import PlanarIsotropicResponse

_Law = GeneralizedRandomizedResponse | ConditionalRandomizedResponse | PlanarIsotropicResponse
_SECONDS, _EACH = 1, 10
_PER_SECOND = (10.0, 50.0, 100.0, 200.0)


def sip_identities() -> Figure:
    """Guess whose second of gaze this is, ten times for each of ten people."""
    people = gaze.Gaze()
    model, steps = people.model(), _SECONDS * gaze.RATE
    truths, known = (people.samples(steps, seed=seed, each=_EACH) for seed in (21, 22))
    own = [people.model(slice(person, person + 1)) for person in range(gaze.PEOPLE)]
    by_data: dict[str, list[tuple[float, float]]] = {}
    by_patterns: dict[str, list[tuple[float, float]]] = {}
    hits: dict[tuple[str, float], tuple[Floats, Floats]] = {}
    for spent in _PER_SECOND:
        epsilon = spent / gaze.RATE
        mechanisms = {"grr": gaze.response(epsilon), **gaze.one_by_one(model, epsilon)}
        for name, mechanism in mechanisms.items():
            assert isinstance(mechanism, _Law)
            seen, before = (released(mechanism, one, seed=5)[0] for one in (truths, known))
            found = _hits(_by_shares(seen, before)), _hits(_by_patterns(mechanism, seen, own))
            hits[name, spent] = found
            for curves, right in zip((by_data, by_patterns), found, strict=True):
                curves.setdefault(name, []).append((spent, float(right.mean())))
    raw = float(_hits(_by_shares(truths, known)).mean())
    panels = [
        Panel(title, "nats for a second of 50 samples", "identified", curves, (True, False))
        for title, curves in (
            ("learned from releases", by_data),
            ("with everybody's pattern of moves", by_patterns),
        )
    ]
    added = {name: _added([hits[name, spent] for spent in _PER_SECOND]) for name in ("crr", "pim")}
    between = {
        spent: Difference.of(hits["crr", spent][1], hits["pim", spent][1]) for spent in _PER_SECOND
    }
    holds = all(one.side < 0 for one in between.values())
    refuted = any(one.side > 0 for one in between.values())
    gains = ", and ".join(
        f"{one.mean:+.0%} (standard error {one.standard_error:.0%}) to what {name} tells"
        for name, one in added.items()
    )
    return Figure(
        "sip-figure-8",
        "Jiang, Li and Tandon 2024, Fig. 8 (generated gaze; likelihoods in place of a neural "
        "network, first order)",
        panels,
        "reproduced" if holds else "refuted" if refuted else "differs",
        f"True cells of a second tell {raw:.0%} of ten people apart; chance is 10%. On average "
        f"over budgets, knowing everybody's moves adds {gains}. That crr then tells less than "
        f"pim, as the paper says, is seen at {_seen(between)}. A point is 100 guesses (standard "
        "error about 5%), by likelihoods under chains that are estimated from two minutes of each "
        "person.",
    )


def _added(hits: list[tuple[Floats, Floats]]) -> Difference:
    """Return what patterns add to being identified, on average over budgets."""
    data, patterns = (np.mean([one[side] for one in hits], axis=0) for side in (0, 1))
    return Difference.of(patterns, data)


def _seen(between: dict[float, Difference]) -> str:
    """Say at which budgets a difference is more than chance."""
    less = [spent for spent, one in between.items() if one.side < 0]
    more = [spent for spent, one in between.items() if one.side > 0]
    told = f"{listed(less)} nats a second" if less else "no budget"
    if more:
        return f"{told}; the contrary is seen at {listed(more)}"
    other = "the other differences" if less else "differences"
    return f"{told}, and the contrary at none: {other} are within two standard errors"


def _by_shares(seen: Integers, before: Integers) -> Integers:
    """Guess by how often cells were released of everybody before."""
    each = before.reshape(len(before), gaze.PEOPLE, _EACH)
    logs = np.log([gaze.shares(each[:, person]) for person in range(gaze.PEOPLE)])
    return np.asarray(logs[:, seen].sum(axis=1).argmax(axis=0))


def _by_patterns(mechanism: _Law, seen: Integers, own: list[MarkovModel]) -> Integers:
    """Guess by the likelihood of releases under everybody's own chain, exactly."""
    rows = seen.shape[1]
    state, logs = mechanism.start(rows), np.zeros((len(own), rows))
    beliefs: list[Floats] = [np.tile(one.prior, (rows, 1)) for one in own]
    for now in seen:
        law = mechanism.release_law(state)
        likelihood = np.broadcast_to(law, (rows, *law.shape[1:]))[np.arange(rows), :, now]
        for person, chain in enumerate(own):
            joint = beliefs[person] * likelihood
            chance = joint.sum(axis=1)
            logs[person] += np.log(chance)
            beliefs[person] = joint / chance[:, None] @ chain.transition
        if not isinstance(mechanism, GeneralizedRandomizedResponse):
            state, _ = mechanism.observe(state, now)
    return np.asarray(logs.argmax(axis=0))


def _hits(guessed: Integers) -> Floats:
    """Return 1 for each person that was guessed, and 0 for the others."""
    return np.asarray(guessed == np.repeat(np.arange(gaze.PEOPLE), _EACH), dtype=np.float64)
