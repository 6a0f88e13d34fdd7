"""Compiled words are those of `hashlib`, whatever lengths key, prefix and fields have."""

from hashlib import blake2b

import numpy as np
import pytest

from fugu.operators.columns import ByteColumn
from fugu.operators.compiled_keyed_words import Absorbed, draw_words
from fugu.operators.randomness import WORTH_HASHING, DrawScope, Secret, record_positions
from tests.operators.word_layout import sized


def test_words_of_random_messages_are_those_of_hashlib() -> None:
    rng = np.random.default_rng(5)

    def some_bytes(most: int) -> bytes:
        return rng.bytes(int(rng.integers(most)))

    for _ in range(400):
        secret, prefix, purpose = rng.bytes(32), some_bytes(400), some_bytes(30)
        keys, positions, bindings = (
            [some_bytes(most) for _ in range(3)] for most in (200, 90, 400)
        )
        drawn = draw_words(
            Absorbed.of(secret, prefix),
            ByteColumn.of(keys),
            ByteColumn.of(positions),
            purpose,
            ByteColumn.of(bindings),
            coordinates=2,
            blocks=2,
        )
        for row in range(3):
            for coordinate in range(2):
                context = prefix + sized(keys[row]) + sized(positions[row]) + purpose
                context += sized(coordinate.to_bytes(8, "big")) + sized(bindings[row])
                for block in range(2):
                    data = context + block.to_bytes(4, "little")
                    digest = blake2b(data, key=secret).digest()
                    words = drawn[row, coordinate, 8 * block : 8 * block + 8]
                    assert words.tobytes() == digest


@pytest.mark.parametrize("length", range(401))
def test_a_prefix_of_any_length_is_absorbed(length: int) -> None:
    prefix, key = bytes(range(200)) * 3, bytes(range(32))
    absorbed = Absorbed.of(key, prefix[:length])
    nothing = ByteColumn.of([b""])
    drawn = draw_words(absorbed, nothing, nothing, b"", nothing, 1, 1)
    data = prefix[:length] + bytes(8) + sized(bytes(8)) + bytes(4) + bytes(4)
    assert drawn.tobytes() == blake2b(data, key=key).digest()


def test_many_rows_draw_what_each_draws_alone() -> None:
    scope = DrawScope(Secret(bytes(range(32))), "p", "grr", 1, bytes(32))
    rows = 3 * WORTH_HASHING
    keys = [b"user %d" % row for row in range(rows)]
    positions = record_positions("t", 0, range(rows))
    bindings = [bytes(row) for row in range(rows)]
    together = scope.draws(keys, positions).words("w", bindings, coordinates=2, count=9)
    for row in range(rows):
        alone = scope.draws([keys[row]], [positions[row]])
        assert (alone.words("w", [bindings[row]], count=9)[0, 0] == together[row, 0]).all()


def test_nothing_that_could_draw_is_shown_or_stored() -> None:
    secret = bytes(range(100, 132))
    scope = DrawScope(Secret(secret), "p", "grr", 1, bytes(32))
    draws = scope.draws([b"a"], [b"1"])
    absorbed = draws.prefix.compiled
    for shown in map(repr, (draws, draws.prefix, absorbed)):
        assert str(int(absorbed.state[0])) not in shown
        assert repr(secret)[2:-1] not in shown
    with pytest.raises(TypeError, match="never stored"):
        draws.prefix.__reduce__()
