"""Section 3 of the SIP specification as explicit matrices, one belief at a time.

`pi[x, y]` and `a[x, y]` are dense, sums are plain, no closed form is used: slow, obvious and
independent of `fugu.operators.sip`.
"""

from collections.abc import Iterator
from math import exp, expm1, inf, log

import numpy as np

from fugu.operators.mechanism import Floats

TIE = 1e-12


def repaired(belief: Floats, proposal: Floats, epsilon: float) -> Floats:
    """a[x, y] by the repair theorem, for any row-stochastic `proposal`."""
    symbols = len(belief)
    if np.count_nonzero(proposal.max(axis=0)) == 1:
        return proposal.copy()
    mass = np.zeros(symbols)
    for y in range(symbols):
        b = sum(belief[x] * proposal[x, y] for x in range(symbols))
        kappa = max(proposal[x, y] for x in range(symbols))
        mass[y] = max(b, kappa - exp(epsilon) * b)
    law: Floats = (mass + expm1(epsilon) * proposal) / (expm1(epsilon) + mass.sum())
    return law


def paper(belief: Floats, epsilon: float) -> Floats:
    """a[x, y] of the paper's Algorithm 1."""
    symbols = len(belief)
    law = np.tile(belief * exp(-epsilon), (symbols, 1))
    for x in range(symbols):
        law[x, x] = 1.0 - (1.0 - belief[x]) * exp(-epsilon)
    return law


def accuracy(belief: Floats, law: Floats) -> float:
    """P(released = true)."""
    return float(sum(belief[x] * law[x, x] for x in range(len(belief))))


def leakage(belief: Floats, law: Floats) -> float:
    """IIL: max |ln a(y|x)/q(y)| over all x, also of belief zero, and all y they can release."""
    worst = 0.0
    for y in range(len(belief)):
        q = sum(belief[x] * law[x, y] for x in range(len(belief)))
        if law[:, y].max() > 0.0:
            for a in law[:, y]:
                worst = max(worst, inf if a == 0.0 or q == 0.0 else abs(log(a / q)))
    return worst


def whole_candidate(belief: Floats, epsilon: float, kept: int) -> Floats:
    """Keep the `kept` most likely symbols; the others share one fill row."""
    symbols, c = len(belief), exp(epsilon) + 1.0
    order = np.argsort(-belief, kind="stable")
    support = order[:kept]
    proposal = np.zeros((symbols, symbols))
    deficit = {int(y): max(0.0, 1.0 / c - belief[y]) for y in support}
    lacking = sum(deficit.values())
    rest = float(sum(belief[x] for x in order[kept:]))
    fill = np.zeros(symbols)
    for y, d in deficit.items():
        if lacking > 0.0:
            fill[y] = (1.0 if rest == 0.0 else min(1.0, lacking / rest)) * d / lacking
    fill[order[0]] += 1.0 - fill.sum()
    for x in order[kept:]:
        proposal[x] = fill
    for x in support:
        proposal[x, x] = 1.0
    return proposal


def partial_candidate(belief: Floats, epsilon: float) -> Floats | None:
    """Keep one more symbol with probability c s, where section 3.1 says so."""
    symbols, c = len(belief), exp(epsilon) + 1.0
    order = np.argsort(-belief, kind="stable")
    for kept in range(symbols, 0, -1):
        deficit = np.zeros(symbols)
        for y in order[:kept]:
            deficit[y] = max(0.0, 1.0 / c - belief[y])
        lacking = deficit.sum()
        rest = float(sum(belief[x] for x in order[kept:]))
        if rest > lacking > 0.0:
            break
    else:
        return None
    surplus = rest - lacking
    if kept == symbols or surplus >= 1.0 / c or rest < 1.0 / c:
        return None
    next_symbol = order[kept]
    if belief[next_symbol] >= 1.0 / c:
        return None
    proposal = np.zeros((symbols, symbols))
    for x in order[:kept]:
        proposal[x, x] = 1.0
    stays = c * surplus
    proposal[next_symbol] = (1.0 - stays) * deficit / lacking
    proposal[next_symbol, next_symbol] += stays
    into = surplus * (1.0 - c * belief[next_symbol]) / (rest - belief[next_symbol])
    for x in order[kept + 1 :]:
        proposal[x] = (1.0 - into) * deficit / lacking
        proposal[x, next_symbol] += into
    return proposal


def candidates(belief: Floats, epsilon: float) -> Iterator[Floats]:
    """The repaired law of every candidate of section 3.1: k = 1..n, then the partial one."""
    for kept in range(1, len(belief) + 1):
        yield repaired(belief, whole_candidate(belief, epsilon, kept), epsilon)
    partial = partial_candidate(belief, epsilon)
    if partial is not None:
        yield repaired(belief, partial, epsilon)


def bounded(belief: Floats, epsilon: float) -> Floats:
    """a[x, y] of the mechanism: the most accurate candidate, the later one of a tie."""
    laws = list(candidates(belief, epsilon))
    accuracies = [accuracy(belief, law) for law in laws]
    whole = len(belief)
    best = max(accuracies[:whole])
    if len(laws) > whole and accuracies[whole] > best + TIE:
        return laws[whole]
    return laws[max(k for k in range(whole) if accuracies[k] >= best - TIE)]


def least_error_of_two(least: float, epsilon: float) -> float:
    """Section 3.5's closed form for two symbols, the less likely one of belief `least`."""
    c = exp(epsilon) + 1.0
    if least >= 1.0 / c:
        return 2.0 * least * (1.0 - least) * exp(-epsilon)
    if 2.0 * exp(epsilon) * least <= 1.0:
        return least
    return least - (2.0 * exp(epsilon) * least - 1.0) / c
