"""The layout of words and release ids is a wire format: these values never change."""

from fugu.operators.columns import binding_digest, encode_fields
from fugu.operators.randomness import DrawScope, Secret, record_positions
from tests.operators import word_layout

KEY = bytes(range(32))
LAW = bytes(range(100, 132))
SCOPE = DrawScope(Secret(KEY), "pipeline", "crr", 7, LAW, key_epoch=3)
STREAMS = [b"alice", "bób".encode()]
OFFSETS = [41, 42]
BINDINGS = [bytes([9]) * 32, bytes([8]) * 32]

# Computed once, from `word_layout` and nothing else.
WORDS = [
    0xABA4879D8997565B,
    0xB43EED12CC263938,
    0xFC62010E690DB548,
    0x5F91F745D6B7892A,
    0x69CA8E162663F0D8,
    0x2881EFC807F9AE40,
    0x5C8EBCE5AC37810B,
    0xE99D587569895D97,
    0x32577176BC77A992,
]
WORD_OF_ZEROS = 0x34247C0875C4B840
BINDING_OF_FIVE = "3234a60ce149e35b8370cd8aa7bebf0cbe925494d328871e7e529d91cc1da1b8"
RELEASE_ID_OF_0 = b"be6b4d21ad214141dec0768c833d7627"
RELEASE_ID_OF_41 = b"72b4d28f6fa5116550e038e915af05ce"


def expected_words(coordinates: int, count: int) -> list[list[list[int]]]:
    return [
        [
            [
                word_layout.word(
                    key=KEY,
                    key_epoch=3,
                    pipeline="pipeline",
                    operator="crr",
                    version=7,
                    law=LAW,
                    stream_key=stream,
                    position=word_layout.record_position("topic-1", 2, offset),
                    purpose="release",
                    coordinate=coordinate,
                    binding=binding,
                    index=index,
                )
                for index in range(count)
            ]
            for coordinate in range(coordinates)
        ]
        for stream, offset, binding in zip(STREAMS, OFFSETS, BINDINGS, strict=True)
    ]


def test_words_follow_the_documented_layout() -> None:
    draws = SCOPE.draws(STREAMS, record_positions("topic-1", 2, OFFSETS))
    words = draws.words("release", BINDINGS, coordinates=3, count=19)
    assert words.tolist() == expected_words(coordinates=3, count=19)


def test_words_are_pinned() -> None:
    assert expected_words(1, 9)[0][0] == WORDS
    draws = SCOPE.draws(STREAMS, record_positions("topic-1", 2, OFFSETS))
    words = draws.words("release", BINDINGS, count=9)
    assert words[0, 0].tolist() == WORDS


def test_words_of_the_bytes_of_zero_are_pinned() -> None:
    scope = DrawScope(Secret(bytes(32)), "p", "o", 1, bytes(32))
    words = scope.draws([b"k"], [b"at"]).words("w", [bytes(32)])
    assert words.item() == WORD_OF_ZEROS


def test_a_binding_is_a_short_digest_of_the_encoded_data() -> None:
    assert binding_digest(5).hex() == BINDING_OF_FIVE


def test_the_encoding_of_fields_is_pinned() -> None:
    assert encode_fields("é", -2, b"\x00").hex() == (
        "02000000c3a9" + "08000000fffffffffffffffe" + "0100000000"
    )


def test_positions_of_records_are_pinned() -> None:
    assert [position.hex() for position in record_positions("t", 1, [258])] == [
        "0100000074" + "080000000000000000000001" + "080000000000000000000102"
    ]


def test_release_ids_follow_the_documented_layout() -> None:
    offsets = [0, 1, 2, 3, 4, 41, 2**40]
    expected = [
        word_layout.release_id(
            key=KEY,
            pipeline="pipeline",
            operator="crr",
            version=7,
            purpose="release",
            topic="topic-1",
            partition=2,
            offset=offset,
        )
        for offset in offsets
    ]
    assert list(SCOPE.release_ids("release", "topic-1", 2, offsets)) == expected
    assert [expected[0], expected[5]] == [RELEASE_ID_OF_0, RELEASE_ID_OF_41]
