"""What Laplace and Gaussian noise share: how noise meets data, and what may go wrong.

Noise is drawn for one position and bound to the exact index it is added to, so that an identical
replay repeats it, and other data at the same position get independent noise.

Source: noise specification, sections 2, 3 and 5.
"""

from collections.abc import Callable
from hashlib import blake2b
from math import inf, nextafter, prod

from fugu.operators.budget_units import exact_exp
from fugu.operators.byte_fields import encode_each, encode_fields
from fugu.operators.mechanism import Array, Draws, Integers, Words
from fugu.operators.noise.grid import Grid

COMFORTABLE = 100
"""With fewer grid steps (per coordinate) in the sensitivity, rounding may cost over 1 percent."""

_BEYOND = 100.0
"""Nats: e^100 makes more than 1 of every error in total variation."""
_ROUNDING = 1e-12

LARGEST_SENSITIVITY = 2**63
"""What a draw is bound to is an integer of 64 bits, with sign."""


class BudgetBelowResolution(ValueError):
    """The noise that was asked for is so large that the grid has no step left for the data."""

    def __init__(self, what_to_do: str) -> None:
        super().__init__(f"budget_below_resolution: {what_to_do}")


def add_noise(
    values: Array,
    grid: Grid,
    draws: Draws,
    purpose: str,
    *,
    bound_to: bytes,
    words_per_draw: int,
    sample: Callable[[Words], Integers],
) -> Integers:
    """Noisy grid points of values `(rows,)` or `(rows, coordinates)`, which count units.

    Draws are bound to the index and to `bound_to`: the sensitivity in units, the same in grid
    steps, how many coordinates one individual changes (without which the other two do not say how
    wide a step is), and the precision of the sampler.
    """
    index = grid.index(values)
    coordinates = prod(index.shape[1:])
    bindings = _digests(index.reshape(len(index), coordinates), bound_to)
    words = draws.words(purpose, bindings, coordinates=coordinates, count=words_per_draw)
    return index + sample(words).reshape(index.shape)


def _digests(vectors: Integers, bound_to: bytes) -> list[bytes]:
    """`binding_digest` of the integers of each vector and of `bound_to`."""
    fields = encode_each(vectors.ravel()).table
    size = vectors.shape[1] * fields.shape[1]
    content, rest = fields.tobytes(), encode_fields(bound_to)
    return [
        blake2b(content[start : start + size] + rest, digest_size=32).digest()
        for start in range(0, len(content), size)
    ]


def finite_precision_delta(
    epsilon: float, total_variation: float, draws: int, largest: float | None = None
) -> float:
    """The delta that `draws` draws, each off by e = `total_variation`, add to a proof of `epsilon`,
    which is what they lose together; one loses `largest` at most, or all of it.

    A draw that loses x nats adds (1 + e^x) e (continual release specification, Theorem 4, with
    tau <= e^x e). e^x is convex, so that the sum is largest if few lose as much as they can:

        e (2 draws + (e^m - 1) epsilon / m),    m = min(epsilon, largest)

    Only draws whose index differs between neighbours count: the others have one law for both.
    """
    most = min(epsilon, epsilon if largest is None else largest, _BEYOND)
    convex = (exact_exp(most) - 1.0) / most * epsilon
    bound = (2.0 * draws + convex) * total_variation * (1.0 + _ROUNDING)
    return min(1.0, nextafter(bound, inf))
