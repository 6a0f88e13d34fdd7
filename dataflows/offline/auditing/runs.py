"""Run the real operator many times on one stream, each run under a key of its own."""

from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from fugu.dataflows.offline.auditing.audited import Advance
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


@dataclass(frozen=True)
class StreamWorld:
    """Run the operator on one stream, or on streams drawn from its model."""

    subject: Subject
    source: Source

    def seen(self, runs: int, seed: tuple[int, int], advance: Advance) -> Floats:
        """Return what a reader of each stream sees, shape (runs, columns)."""
        root, rng = _ROOT.derive(*seed), np.random.default_rng(seed)
        found = []
        for start in range(0, runs, _RUNS_PER_SECRET):
            rows = min(_RUNS_PER_SECRET, runs - start)
            found.append(
                observe(self.subject.mechanism, self._truths(rows, rng), root.derive(start))
            )
            advance(rows)
        return np.concatenate(found)

    def _truths(self, rows: int, rng: np.random.Generator) -> Array:
        if isinstance(self.source, tuple):
            return np.tile(np.array(self.source), (rows, 1))
        assert self.subject.model is not None
        return _drawn(self.subject.model, rows, self.source, rng)


def _drawn(model: Chain, rows: int, steps: int, rng: np.random.Generator) -> Array:
    belief, columns = np.tile(model.start[:, None], rows), []
    for _ in range(steps):
        reached = np.cumsum(model.marginal(belief), axis=0)[:-1]
        columns.append((reached <= rng.random(rows)).sum(axis=0))
        belief = model.advance(belief, np.eye(model.symbols)[:, columns[-1]])
    return np.stack(columns, axis=1)
