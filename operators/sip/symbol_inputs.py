"""Check symbols that come in, and bind the draws for them."""

from fugu.operators.mechanism import Inputs, Integers, Words


def checked_symbols(inputs: Inputs, symbols: int) -> Integers:
    """Raise `ValueError` for an index outside 0..symbols-1."""
    values = inputs.values.astype("int64", copy=False)
    if ((values < 0) | (values >= symbols)).any():
        raise ValueError(f"a symbol index is outside 0..{symbols - 1}")
    return values


def bound_to(digests: tuple[bytes, ...], data: Integers, histories: Words) -> list[bytes]:
    """Bind draws to the data and, through the belief, to what was published before."""
    releases = histories.astype("<u8").tobytes()
    return [
        digests[item] + releases[8 * row : 8 * row + 8] for row, item in enumerate(data.tolist())
    ]
