"""Release laws for 0/1 distance, one for each row: see `hamming_law` for one of them.

`laws` is `(rows, 7, n)`; beliefs and posteriors are `(rows, n)`, transitions `(rows, n, n)`.
"""

from operators.compiled import hamming_law as law_of
from operators.compiled.compiling import entry_point
from operators.compiled.hamming_law import Room
from operators.compiled.markov_step import predict_dense
from operators.mechanism import Array, Floats, Integers


@entry_point
def propose(
    beliefs: Floats,
    gain: float,
    growth: float,
    laws: Floats,
    partials: Integers,
    ratios: Floats,
    room: Room,
) -> None:
    """Repaired proposals, and e to the power of what their releases leak."""
    for row in range(len(beliefs)):
        belief, law = beliefs[row], laws[row]
        partials[row], constant = law_of.propose(belief, gain, growth, False, law, room)
        ratios[row] = law_of.leakage_ratio(law, gain, constant)


@entry_point
def sample(
    laws: Floats,
    gain: float,
    partials: Integers,
    symbols: Integers,
    uniforms: Floats,
    drawn: Integers,
    room: Room,
) -> None:
    """A release for each row."""
    for row in range(len(laws)):
        drawn[row] = law_of.sample(
            laws[row], gain, partials[row], symbols[row], uniforms[row], room
        )


@entry_point
def correct(
    beliefs: Floats,
    laws: Floats,
    gain: float,
    partials: Integers,
    released: Integers,
    posteriors: Floats,
) -> None:
    """What a release of each row says."""
    for row in range(len(laws)):
        law_of.correct(beliefs[row], laws[row], gain, partials[row], released[row], posteriors[row])


@entry_point
def predict(posteriors: Floats, transitions: Array, predicted: Floats) -> None:
    """Every row by a chain of its own."""
    for row in range(len(posteriors)):
        predict_dense(posteriors[row], transitions[row], predicted[row])
