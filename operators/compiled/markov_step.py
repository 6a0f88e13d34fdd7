"""What a first-order chain predicts from one posterior, dense or sparse, in the order of numpy."""

from operators.compiled.compiling import inlined
from operators.mechanism import Floats, Integers
from operators.sip.markov_model import SUM_TOLERANCE


@inlined
def predict_dense(posterior: Floats, transition: Floats, belief: Floats) -> None:
    """As `MarkovModel.predict`."""
    symbols = len(posterior)
    for following in range(symbols):
        belief[following] = 0.0
    for now in range(symbols):
        for following in range(symbols):
            belief[following] += posterior[now] * transition[now, following]
    normalise(belief)


@inlined
def predict_sparse(
    posterior: Floats,
    sources: Integers,
    columns: Integers,
    kept: Floats,
    restart: Floats,
    belief: Floats,
) -> None:
    """As `SparseMarkovModel.skip`."""
    symbols = len(posterior)
    for following in range(symbols):
        belief[following] = 0.0
    for entry in range(len(sources)):
        belief[columns[entry]] += posterior[sources[entry]] * kept[entry]
    restarted = posterior[0] * restart[0]
    for now in range(1, symbols):
        restarted += posterior[now] * restart[now]
    restarted /= symbols
    for following in range(symbols):
        belief[following] += restarted
    normalise(belief)


@inlined
def normalise(shares: Floats) -> None:
    """Divide by the sum, added in order."""
    total = shares[0]
    for symbol in range(1, len(shares)):
        total += shares[symbol]
    for symbol in range(len(shares)):
        shares[symbol] /= total


@inlined
def is_distribution(belief: Floats) -> bool:
    """As `checked_belief` has it."""
    total = belief[0]
    for symbol in range(1, len(belief)):
        total += belief[symbol]
    for symbol in range(len(belief)):
        if belief[symbol] < 0.0:
            return False
    return bool(abs(total - 1.0) <= SUM_TOLERANCE)
