"""Run the real operator many times on one stream, each under a secret and a key of its own."""

from collections.abc import Callable
from hashlib import blake2b

import numpy as np

from fugu.dataflows.offline.auditing.streams import Stream
from fugu.dataflows.offline.auditing.subject import Subject
from fugu.operators.auditing.observation import observe
from fugu.operators.mechanism import Array, Floats
from fugu.operators.secret import Secret
from fugu.operators.sip.chain import Chain

Source = Stream | int
"""What is run: one stream, or streams of so many positions drawn from the declared model."""

_RUNS_PER_SECRET = 1_000
_ROOT = Secret(blake2b(b"fugu audit", digest_size=32).digest())
"""Known to everybody; what is run under it is made up."""


def run(
    subject: Subject,
    source: Source,
    runs: int,
    seed: tuple[int, int],
    advance: Callable[[int], None],
) -> Floats:
    """Return what a reader sees, one row per run; `advance` is told how many runs are done."""
    root, rng = _ROOT.derive(*seed), np.random.default_rng(seed)
    seen = []
    for start in range(0, runs, _RUNS_PER_SECRET):
        rows = min(_RUNS_PER_SECRET, runs - start)
        if isinstance(source, tuple):
            truths = np.tile(np.array(source), (rows, 1))
        else:
            assert subject.model is not None
            truths = _drawn(subject.model, rows, source, rng)
        seen.append(observe(subject.mechanism, truths, root.derive(start)))
        advance(rows)
    return np.concatenate(seen)


def _drawn(model: Chain, rows: int, steps: int, rng: np.random.Generator) -> Array:
    belief, columns = np.tile(model.start[:, None], rows), []
    for _ in range(steps):
        reached = np.cumsum(model.marginal(belief), axis=0)[:-1]
        columns.append((reached <= rng.random(rows)).sum(axis=0))
        belief = model.advance(belief, np.eye(model.symbols)[:, columns[-1]])
    return np.stack(columns, axis=1)
