"""Write learned models as model files: the same bytes for the same history, one row a line."""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import orjson

from fugu.dataflows.files.model_file import FORMAT
from fugu.operators.sip.learning import Learned, LearnedIntervals, Memory

_DIGITS = 9
"""Digits of a probability: rows sum to 1 within a millionth, and are normalised when read."""
_PARTS = 1e6
"""Ends of intervals are millionths."""


def written(
    learned: Learned,
    alphabet: Sequence[str] | Sequence[int],
    *,
    sparse: bool,
    smoothing: float,
    source: str,
    date: str,
    description: str,
    declared: bool = True,
    intervals: LearnedIntervals | None = None,
) -> bytes:
    """Return a model file of version 2; `declared` says that the order of the alphabet was."""
    if sparse:
        rows: Iterable[object] = (
            _row(memory, followers, spread, alphabet)
            for memory, (followers, spread) in learned.rows.items()
        )
    else:
        rows = (list(map(_rounded, row)) for row in learned.matrix().tolist())
    header = {
        "format": FORMAT,
        "format_version": 2,
        "description": description,
        "learned": {
            "source": source,
            "date": date,
            "alphabet": "declared" if declared else "sorted",
        },
        "alphabet": list(alphabet),
        "prior": list(map(_rounded, learned.prior.tolist())),
        "smoothing": smoothing,
    }
    if intervals is not None:
        header["intervals"] = _ends(intervals)
    lines = [b"  %b: %b," % (orjson.dumps(name), orjson.dumps(header[name])) for name in header]
    transition = b",\n".join(b"    " + orjson.dumps(row) for row in rows)
    return b"\n".join([b"{", *lines, b'  "transition": [', transition, b"  ]", b"}", b""])


def _row(
    memory: Memory,
    followers: Mapping[int, float],
    spread: float,
    alphabet: Sequence[str] | Sequence[int],
) -> dict[str, object]:
    names = [alphabet[number] for number in memory]
    to = {str(alphabet[number]): _rounded(p) for number, p in sorted(followers.items())}
    uniform = {"uniform": _rounded(spread)} if spread > 0.0 else {}
    return {"from": names[0] if len(names) == 1 else names, "to": to, **uniform}


def _ends(intervals: LearnedIntervals) -> dict[str, object]:
    """Return the ends of intervals, rounded outwards."""
    parts = {"prior": intervals.first, "transition": intervals.rows}
    ends: dict[str, object] = {
        name: {
            "low": (np.floor(low * _PARTS) / _PARTS).tolist(),
            "high": (np.ceil(high * _PARTS) / _PARTS).tolist(),
        }
        for name, (low, high) in parts.items()
    }
    return {"confidence": intervals.confidence, **ends}


def _rounded(probability: float) -> float:
    return float(f"{probability:.{_DIGITS}g}")
