"""Enumerate what releases tell a reader: of one pipeline, and of two over the same stream."""

from fugu.operators.auditing.enumeration import Sequences, sequences, stream_probabilities
from fugu.operators.mechanism import EnumerableMechanism, Floats
from fugu.operators.sip.markov_model import Chain

ROUNDING = 1e-12
"""Rounding of the doubles that the enumeration adds up; ledgers are rounded up by one unit."""


def all_sequences(mechanism: EnumerableMechanism, steps: int) -> Sequences:
    """Every sequence of `steps` releases."""
    *_, paths = sequences(mechanism, steps)
    return paths


def together(first: Sequences, second: Sequences) -> Sequences:
    """Every pair of sequences of two pipelines that draw independently."""
    truths = len(first.log_likelihood)
    likelihood = first.log_likelihood[:, :, None] + second.log_likelihood[:, None, :]
    spent = first.state["spent"][:, None] + second.state["spent"]
    return Sequences(
        first.steps, first.inputs, likelihood.reshape(truths, -1), {"spent": spent.ravel()}
    )


def about_truth(paths: Sequences, reader: Chain) -> Floats:
    """Return what each sequence of releases told a reader who believes in a model."""
    return paths.about_truth(stream_probabilities(reader, paths.steps))
