"""Convert (epsilon, delta) to zero-concentrated DP: the usual account, which wants more noise."""

from decimal import ROUND_FLOOR, Decimal, localcontext
from functools import lru_cache

from fugu.operators.budget_units import UNITS_PER_NAT

_DIGITS = 50
_HALVINGS = 90
_SMALLEST, _LARGEST = Decimal("1e-12"), Decimal("1e15")
"""The range of alpha, less 1."""
_ROUNDING = Decimal("1e-25")
"""Far above the error of the arithmetic, far below a unit."""


@lru_cache(maxsize=64)
def units_of_rho(epsilon: float, delta: float) -> int:
    """Return the most whole units of rho that (epsilon, delta) pays for: 2^-40 nat each.

    rho-zCDP is (epsilon, delta)-DP if, for some alpha > 1,

        delta >= exp((alpha - 1) (alpha rho - epsilon)) (1 - 1 / alpha)^alpha / (alpha - 1).

    Solved for rho, every alpha gives a rho that may be spent, and the best one is found by halving.
    Arithmetic is decimal with 50 digits, where every operation and logarithm is correctly rounded,
    so that a budget never depends on a machine. Values of rho add up over releases that are chosen
    one after the other, and so do units of it. Both are positive, and delta is below 1.

    >>> units_of_rho(epsilon=1.0, delta=1e-7) / UNITS_PER_NAT
    0.02018713244160608

    Source: real-time release specification, section 5; Canonne, Kamath and Steinke 2020,
    Proposition 12.
    """
    with localcontext() as context:
        context.prec = _DIGITS
        nats, logarithm = Decimal(epsilon), Decimal(delta).ln()
        low, high, most = _SMALLEST, _LARGEST, Decimal(0)
        for _ in range(_HALVINGS):
            beyond = (low * high).sqrt()
            entropy = (1 + 1 / beyond).ln()
            affordable = nats + (logarithm + beyond.ln()) / beyond + (1 + beyond) / beyond * entropy
            rho = affordable / (1 + beyond)
            most = max(most, rho)
            if (2 * beyond + 1) * rho > nats + entropy:
                high = beyond
            else:
                low = beyond
        units = (most - _ROUNDING) * UNITS_PER_NAT
        return max(0, int(units.to_integral_value(rounding=ROUND_FLOOR)))
