"""Rules of mechanisms for one series, compiled by numba: a series of half a year in 0.2 ms.

Each function writes to `released` what a mechanism of `fugu.operators` releases of `values`, given
the same noise: tests compare the two, tick by tick. `numbers (ticks, 2, 2)` are those geometric
numbers of which `fugu.operators.noise.unit_laplace` makes noise, for the decision and for the
release of each tick. The other arrays are scratch, which callers fill with zeros.
"""

import numpy as np

from fugu.operators.budget_units import LARGEST_CHARGE, UNITS_PER_NAT
from fugu.operators.compiled.compiling import entry_point, part
from fugu.operators.compiled_charges import charge_up_to
from fugu.operators.mechanism import Integers
from fugu.operators.wevent.fast import INTEGRAL, PROPORTIONAL
from fugu.operators.wevent.rescue_dp import (
    FARTHEST,
    LARGEST_PART,
    LARGEST_SHARE,
    ONE_TICK,
    PER_LOGARITHM,
    REACTION,
    SHARE_BITS,
)

DECISION, RELEASE = 0, 1
REPEAT, EXACT = 0, -1
"""In place of a price."""
_SHARE_UNITS = PER_LOGARITHM * (UNITS_PER_NAT >> SHARE_BITS)


@part
def _noise(numbers: Integers, price: int) -> int:
    return int(numbers[0] // price - numbers[1] // price)


@entry_point
def scheduled(values: Integers, numbers: Integers, prices: Integers, released: Integers) -> None:
    """Release at `prices` that no datum decides."""
    last = 0
    for tick in range(len(values)):
        if prices[tick] == EXACT:
            last = values[tick]
        elif prices[tick] != REPEAT:
            last = values[tick] + _noise(numbers[tick, RELEASE], prices[tick])
        released[tick] = last


@entry_point
def of_windows(
    values: Integers,
    numbers: Integers,
    sensitivities: Integers,
    absorbs: bool,
    budgets: tuple[int, int, int],
    begun: bool,
    shares: Integers,
    released: Integers,
) -> None:
    """Release by budget distribution, or by absorption; exact where the sensitivity is 0.

    `budgets`: epsilon, the smallest offer, and window. `begun`: the first tick is decided upon,
    too. `shares` has window - 1 places.
    """
    epsilon, smallest, window = budgets
    even = epsilon // (2 * window)
    taken, last, sampled, multiple = 0, 0, 0, 0
    for tick in range(len(values)):
        sensitivity, value = sensitivities[tick], values[tick]
        if absorbs:
            since = tick + 1 - sampled - max(multiple - 1, 0)
            share = min(since, window) if since > 0 else 0
            offer = share * even
        else:
            offer = (epsilon // 2 - taken) // 2
            share = offer
        if sensitivity == 0 or offer < max(smallest, sensitivity):
            offer = 0
        elif begun:
            apart = abs(last - value) + _noise(numbers[tick, DECISION], even // sensitivity)
            if apart <= UNITS_PER_NAT // (offer // sensitivity):
                offer = 0
        if offer > 0:
            last = value + _noise(numbers[tick, RELEASE], offer // sensitivity)
            sampled, multiple = tick + 1, share
        if not absorbs:
            place = tick % len(shares)
            share = share if offer > 0 else 0
            taken += share - shares[place]
            shares[place] = share
        if sensitivity == 0:
            last = value
        begun = begun or sensitivity == 0 or offer > 0
        released[tick] = last


@entry_point
def of_intervals(
    values: Integers,
    numbers: Integers,
    sensitivities: Integers,
    first: Integers,
    opened: Integers,
    intervals: Integers,
    cap: int,
    perfect: bool,
    counts: Integers,
    sums: Integers,
    largest: Integers,
    released: Integers,
) -> None:
    """Release by Unicorn, or with `perfect` decisions; exact where the sensitivity is 0.

    `opened[first[tick] : first[tick + 1]]` are rows of `intervals`: their last ticks, how many of
    their ticks can differ, and where they keep their `largest` charges, in order.
    """
    begun, last = False, 0
    for tick in range(len(values)):
        sensitivity, value = sensitivities[tick], values[tick]
        ledgers = opened[first[tick] : first[tick + 1]]
        if sensitivity == 0:
            begun, last = True, value
            released[tick] = last
            continue
        offer, decision = cap, cap
        for ledger in ledgers:
            end, affected, place = intervals[ledger]
            given_back = largest[place] if counts[ledger] == affected else 0
            headroom = cap - sums[ledger] + given_back
            share = cap // affected
            proposal = min(max(share, headroom // (end - tick + 1)), headroom)
            offer, decision = min(offer, proposal), min(decision, share)
        if offer < sensitivity or (begun and not perfect and decision < sensitivity):
            offer = 0
        elif begun:
            apart = abs(last - value)
            if not perfect:
                apart += _noise(numbers[tick, DECISION], decision // sensitivity)
            if apart <= UNITS_PER_NAT // (offer // sensitivity):
                offer = 0
        if offer > 0:
            begun, last = True, value + _noise(numbers[tick, RELEASE], offer // sensitivity)
            for ledger in ledgers:
                _spend(ledger, offer, intervals[ledger], counts, sums, largest)
        released[tick] = last


@part
def _spend(
    ledger: int,
    charge: int,
    interval: Integers,
    counts: Integers,
    sums: Integers,
    largest: Integers,
) -> None:
    _, affected, place = interval
    count = counts[ledger]
    if count == affected:
        if charge <= largest[place]:
            return
        sums[ledger] -= largest[place]
        at = place
        while at + 1 < place + count and largest[at + 1] < charge:
            largest[at] = largest[at + 1]
            at += 1
    else:
        counts[ledger] = count + 1
        at = place + count
        while at > place and largest[at - 1] > charge:
            largest[at] = largest[at - 1]
            at -= 1
    largest[at] = charge
    sums[ledger] += charge


@entry_point
def rescue_dp(
    values: Integers,
    numbers: Integers,
    sensitivity: int,
    budgets: tuple[int, int, int],
    variances: tuple[float, float, float],
    charges: Integers,
    released: Integers,
) -> None:
    """Release by RescueDP. `budgets`: epsilon, the smallest offer, and window; `variances`: of the
    process, of the measurement, and the first one. `charges` has window - 1 places."""
    epsilon, smallest, _ = budgets
    process, measurement, first_variance = variances
    spent, due, interval, samples, sampled = 0, 0, ONE_TICK, 0, 0
    estimate, variance = 0.0, 0.0
    oldest, older, old = 0.0, 0.0, 0.0
    for tick in range(len(values)):
        offer = 0
        if tick >= due:
            logarithm = charge_up_to(interval / ONE_TICK + 1.0, np.inf, LARGEST_CHARGE)
            share = min(logarithm // _SHARE_UNITS, LARGEST_SHARE)
            offer = min((share * (epsilon - spent)) >> SHARE_BITS, epsilon // LARGEST_PART)
            if offer < smallest:
                offer = 0
        place = tick % len(charges)
        spent += offer - charges[place]
        charges[place] = offer
        if offer > 0:
            sample = float(values[tick] + _noise(numbers[tick, RELEASE], offer // sensitivity))
            if samples == 0:
                estimate, variance, old = sample, first_variance, 0.0
            else:
                variance = variance + process * (tick - sampled)
                gain = variance / (variance + measurement)
                moved = estimate + gain * (sample - estimate)
                variance = (1.0 - gain) * variance
                oldest, older, old = older, old, abs(moved - estimate)
                estimate = moved
                mean = (oldest + older + old) / min(samples, 3)
                rest = min(epsilon - spent, epsilon // LARGEST_PART)
                surprise = (PROPORTIONAL * old + INTEGRAL * mean) * (
                    rest / UNITS_PER_NAT / sensitivity
                )
                change = np.rint(ONE_TICK * (REACTION * (1.0 - surprise * surprise)))
                interval = max(interval + int(max(change, -FARTHEST)), ONE_TICK)
            samples, sampled = samples + 1, tick
            due = tick + interval // ONE_TICK
        released[tick] = int(np.rint(estimate))
