"""Draw discrete Gaussian noise from a table, and bound what its finite precision costs.

    P(k) proportional to e^(-k^2 / (2 sigma^2)),   sigma = 2^14

The table holds C_k = min(2^64 - 1, round(2^64 P(|X| <= k))) for k = 0..10 sigma. The magnitude of a
draw is the number of entries that are at most the first word, its sign the top bit of the second.

Entries come from integers that stand for multiples of 2^-208. With w(k) = e^(-k^2 / (2 sigma^2))
and r(k) = e^(-(2 k + 1) / (2 sigma^2)), w(k + 1) = w(k) r(k) and r(k + 1) = r(k) e^(-2^-28); the
only exponential, e^(-2^-29), is a short series of shifts. Every product is cut off, by less than
one such multiple: after k < 2^19 steps r errs by less than 2^24 of them, w by 2^43, a sum by 2^63,
and an entry by 2^-94, while none is nearer than 2^-19 to where its rounding would change.

>>> words = np.array([[0, 0], [2**64 - 1, 2**63]], dtype=np.uint64)
>>> sample(words).tolist()
[0, -163841]

Source: noise specification, section 4; Canonne, Kamath and Steinke 2020.
"""

from collections.abc import Iterator
from decimal import ROUND_CEILING, Decimal, localcontext
from fractions import Fraction
from functools import cache, lru_cache
from hashlib import blake2b
from math import isqrt

import numpy as np

from fugu.operators.mechanism import Integers, Words

PRECISION = 14
"""The deviation is 2^14 grid steps."""
WORDS_PER_DRAW = 2
LARGEST = 10 * 2**PRECISION + 1
"""No draw is farther from zero."""
TABLE_DIGEST = "8d7f7a71af8b3be62c78048ac97668996719cbcb81d6a4347fe525f29431378c"
"""BLAKE2b-256 of the entries as 8 little-endian bytes each."""

_BITS = 208


def sample(words: Words) -> Integers:
    """Draw once for each two words, which are the last axis."""
    magnitude = np.searchsorted(table(), words[..., 0], side="right").astype(np.int64)
    return np.where(words[..., 1] >> np.uint64(63), -magnitude, magnitude)


@cache
def table() -> Words:
    """Return C_k for k = 0..10 sigma, computed at first use and checked."""
    sums = list(_sums())
    total = sums[-1]
    entries = [min(2**64 - 1, ((part << 65) + total) // (2 * total)) for part in sums[:LARGEST]]
    computed = np.array(entries, dtype=np.uint64)
    if blake2b(computed.astype("<u8").tobytes(), digest_size=32).hexdigest() != TABLE_DIGEST:
        raise ArithmeticError("the noise table came out wrong; do not use this machine")
    computed.setflags(write=False)
    return computed


def _sums() -> Iterator[int]:
    """Yield the sums of w(-k) to w(k) for k = 0, 1, 2, ... until w is below 2^-208."""
    ratio = _exponential()
    square = ratio * ratio >> _BITS
    weight = total = 1 << _BITS
    while weight:
        yield total
        weight = weight * ratio >> _BITS
        ratio = ratio * square >> _BITS
        total += 2 * weight


def _exponential() -> int:
    """Return e^(-2^-29) in multiples of 2^-208, by its power series."""
    term, number, total = 1 << _BITS, 0, 0
    while term:
        total += -term if number % 2 else term
        number += 1
        term = (term >> 2 * PRECISION + 1) // number
    return total


PER_DEVIATION = 32
UNITS = 2**100
ANY_STEPS = 2**40
"""More steps than the table covers: with them a draw adds the most that it can."""
_TABLE = """
1619712964195611 1638744347595818 1696597234712012 1795581598651639 1939661459293904
2134631379343123 2388374599910537 2711214434195931 3116374709077379 3620569902203469
4244751374443588 5015042988643107 5963907726025474 7131597009275339 8567946735354936
10334599017621903 12507746948403195 15181522061876671 18472171502082257 22523205271581259
27511734672218955 33656272747861561 41226328131930377 50554197525236043 62049451902037180
76216720866804560 93677512462041765 115196967097384566 141716640073421386 174394644550624627
214654774337091733 264246573820018350 325318743063227323 400508774279527462 493052329188105291
606916606233714701 746962837388489255 919144126204516665 1130746127558342363 1390679617483796399
1709835858934083396 2101517895930649390 2581963575070010546 3170979283484883463 3892707205067444349
4776553448941317424 5858309833679590709 7181508580032089690 8799056865075132927 10775207346368624487
13187931639600319465 16131776636497108889 19721298843548301056 24095190029773282182
29421228888023248707 35902218716213470931 43783100984833534179 53359469857529523709
64987754181842128768 79097382222768781105 96205301696117439853 116933294887882818457
142028607457383141752 172388501805907981674 209089453828511619492 253421837963585641314
306931092598014005920 371466529387569624477 449239149710697370502 542890063637244229424
655571376433278635930 791041720414025784807 953778972368305932717 1149113116173023334184
1383382694963657066219 1664118856822617451113 2000261643151211644940 2402413911874438305992
2883139142138246524017 3457310348698369172914 4142518460220805928124 4959549805832138093873
5932943830483136793756 7091643846676184796341 8469755555424986122906 10107430263737749067894
12051892223732056598246 14358632357838111349523 17092793857764419533880 20330778798897381221310
24162109048461712918841 28691579422339179113427 34041746324994243530487 40355801058805672520535
47800883689282196073060 56571900884354922380736 66895919600045880632320 79037217960289813328576
93303085283103977811805 110050475055272323105192 129693627879330853841481 152712796145892624246935
179664218567471021500556 211191510903758173790161 248038659380426125591230 291064825632577164273971
341261196679693755982058 399770140662097626210512 467906959051183482772224 547184559009289011565907
639341405752340212288470 746373154401129091820077 870568404145515670745418 1014549064847644003137352
1181315877739015474498536 1374299687889787855584778 1597419126916948902757005
1855145430220784911034553 2152575184163013153963660 2495511875285487514379161
2890557196165998965897526 3345213151053788420672858 3867996099239684568142491
4468563975388152571477251 5157858033955360675627482 5948260579467285698503213
6853770265921037640266089 7890196676937329152601028 9075376033511010523625074
"""
TAUS = tuple(map(int, _TABLE.split()))


@lru_cache(maxsize=1024)
def delta_of_draw(steps: int, epsilon: float) -> Fraction:
    """Return the delta of one draw whose index neighbours move by at most so many steps.

    The law p~ of a draw is not quite p: entries of the table are rounded, and it ends at 9.11
    deviations. Let e be their distance in total variation, a(x) = max(0, 1 - p~(x) / p(x)), 1
    beyond the end, and tau(v) = sum of p(x) a(x + v), which grows with |v| from tau(0) = e. A draw
    whose index neighbours move by v steps adds at most

        e + min(tau(v), e^epsilon e)

    to the delta of a claim made at epsilon, and draws add up, of releases that are chosen one after
    the other too; draws that are the same for both neighbours add nothing.

    `TAUS` are tau at 0, 1/32, 2/32, ... deviations, in units of 2^-100 and rounded up; between two
    of them the next one counts. `tests/operators/noise/test_gaussian_table.py` derives them.

    >>> [f"{float(delta_of_draw(steps, epsilon=3.0)):.3g}" for steps in (163, 1638, 8192, 16384)]
    ['2.57e-15', '2.81e-15', '1.11e-14', '2.69e-14']
    >>> float(delta_of_draw(2**20, epsilon=20.0))
    6.199092701569074e-07

    Source: continual release specification, section 4 (Theorem 4); noise specification, section 4.
    """
    column = -(-steps * PER_DEVIATION >> PRECISION)
    tau = TAUS[column] if column < len(TAUS) else UNITS
    return min(Fraction(1), Fraction(TAUS[0] + min(tau, _grown(epsilon)), UNITS))


def delta_of_draws(draws: int, squares: int, epsilon: float) -> Fraction:
    """Bound the sum of the deltas of draws, whatever share of the squares each of them has.

    Delta grows with the steps v of a draw, to the end of the table. A line base + slope * v^2 that
    is above all of its values bounds the sum by draws * base + slope * squares.
    """
    column = (1 << PRECISION) // PER_DEVIATION
    columns = range(1, min(isqrt(squares) // column + 2, len(TAUS) + 1))
    base, *others = (delta_of_draw(at * column, epsilon) for at in columns)
    slope = max(
        ((delta - base) / (at * column) ** 2 for at, delta in enumerate(others, 1)),
        default=Fraction(0),
    )
    largest = max([base, *others])
    return min(draws * largest, draws * base + slope * squares)


@lru_cache(maxsize=64)
def _grown(epsilon: float) -> int:
    """Return e^epsilon e, rounded up."""
    with localcontext() as context:
        context.prec, context.rounding = 60, ROUND_CEILING
        grown = Decimal(epsilon).exp().next_plus() * TAUS[0]
        return int(grown.to_integral_value())
