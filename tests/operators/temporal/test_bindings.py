"""Draws of temporal mechanisms are bound to payload and history, however many there are."""

from hashlib import blake2b

import numpy as np
import pytest

from fugu.operators import compiled
from fugu.operators.temporal.temporal_perturbation import bound_to


@pytest.mark.parametrize("count", [0, 1, 5, 500])
@pytest.mark.parametrize("is_compiled", [True, False])
def test_a_draw_is_bound_to_the_payload_if_there_is_one_and_the_history(
    count: int, is_compiled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_compiled:
        monkeypatch.setattr(compiled, "available", lambda: False)
    random = np.random.default_rng(count)
    payloads = [
        None if number % 5 == 0 else b"" if number % 97 == 96 else random.bytes(1 + number % 300)
        for number in range(count)
    ]
    values = np.empty(count, dtype=object)
    values[:] = payloads
    histories = random.integers(0, 2**64, count, dtype=np.uint64)
    assert list(bound_to(values, histories)) == [
        (b"" if payload is None else blake2b(payload, digest_size=32).digest())
        + int(history).to_bytes(8, "little")
        for payload, history in zip(payloads, histories, strict=True)
    ]
