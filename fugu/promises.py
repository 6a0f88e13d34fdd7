"""Say in words what a mechanism promises."""

from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.operators.mechanism import Mechanism


def promise(mechanism: Mechanism) -> str:
    """Write the guarantees of a mechanism, and what they do not cover.

    >>> from fugu.mechanisms import mechanism
    >>> print(promise(mechanism("grr", symbols=4, epsilon=1.0)).split(",")[0])
    Local Differential Privacy with epsilon 1 nats per release
    """
    guarantees = mechanism.guarantees()
    open_points = dict.fromkeys(point for one in guarantees for point in one.not_covered)
    paragraphs = [in_words(guarantee) for guarantee in guarantees]
    listed = "\n".join(["Not covered:", *(f"- {point}" for point in open_points)])
    return "\n\n".join([*paragraphs, listed])
