"""Sentences that the guarantees of several families have in common."""

KEYED_HASH = "the keyed hash BLAKE2b is a pseudo-random function of the secret"
EXACT_SUMS_SEEN = (
    "the pipeline, its state and its partial sums see exact values; readers of the sanitized topic "
    "do not"
)
RAW_VALUES_SEEN = "the pipeline and its state see raw values; readers of the sanitized topic do not"
SECRET = "whoever obtains the secret can remove all randomness"
WHOLE_RECORDS = (
    "adding or removing whole records: when they arrive, how many there are, and which of them "
    "arrive late"
)
TIMES_OF_RECORDS = (
    "the times of records: so many people together as move stream time (ticks.stream_time) decide "
    "which ticks close when, and whose records count"
)
CORRELATION = (
    "an attacker who knows how the ticks of one person depend on each other, for example by a "
    "transition matrix: what such an attacker learns about one tick, or about a window, may exceed "
    "epsilon, and for some matrices it has no upper bound"
)
