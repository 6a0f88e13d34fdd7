"""The audit of a temporal mechanism: one object of exact numbers, a function of configuration.

Source: TLDP specification, section 6.1.
"""

from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from fugu.operators.mechanism import Array, Floats
from fugu.operators.temporal.costs import Expected


def audit_object(
    *,
    mechanism: str,
    k: int,
    eps_delay_law: float,
    delay_law: Floats,
    expected: Expected,
    warm_up: str,
    caveats: tuple[str, ...],
    own: Mapping[str, object],
) -> Mapping[str, object]:
    """All keys of the object; those of `own` that a mechanism does not have are null."""
    possible = delay_law[delay_law > 0.0]
    return {
        "mechanism": mechanism,
        "k": k,
        "c0": None,
        "a": None,
        "eps_nominal": None,
        "eps_delay_law": eps_delay_law,
        "joint_bound_distinct": None,
        "literal_tldp": False,
        "delay_law": delay_law.tolist(),
        "mean_delay": float((delay_law * np.arange(k)).sum()),
        "entropy_bits": float(-(possible * np.log2(possible)).sum()),
        "max_posterior_exchangeable": 1.0,
        "law_only": float(delay_law.max()),
        "impossible_share": None,
        "expected": asdict(expected),
        "warmup": {"ticks": k - 1, "published": warm_up == "emit"},
        "cooldown": {"ticks": k - 1},
        "caveats": list(caveats),
        **own,
    }


def by_distance(shares: Array) -> dict[str, float]:
    """Shares of the distances 1, 2, ... of two swapped values."""
    return {str(distance): share for distance, share in enumerate(shares.tolist(), start=1)}
