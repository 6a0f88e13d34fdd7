"""Name, for every kind, the tests that prove or enumerate its claim."""

from collections.abc import Mapping

from fugu.dataflows.kinds import KINDS
from tests.conformance.kinds import KINDS as CONFORMING

_WINDOWS = "privacy/test_window_leakage"
_INTERVALS = "privacy/test_interval_leakage"
_CHARGES = "operators/swellfish/test_charges"
_DELAYS = "privacy/temporal/test_delay_laws"
_RESPONSES = "privacy/test_local_laws"
_REPORTS = "privacy/test_local_window_leakage"
_BY_FAMILY = {"displaced": _DELAYS, "windows": _WINDOWS, "policies": _CHARGES}
_BY_KIND = {
    "crr": "privacy/test_sequence_leakage",
    "paper_crr": "privacy/test_sequence_leakage",
    "robust_crr": "privacy/test_robust_release",
    "planned_crr": "privacy/test_planned_release",
    "batched_crr": "privacy/test_batch_leakage",
    "adaptive_crr": "privacy/test_adaptive_release",
    "cold_start_crr": "privacy/test_cold_start",
    "grr": _RESPONSES,
    "oue": _RESPONSES,
    "lrm": _RESPONSES,
    "pim": "privacy/test_location_sets",
    "pba_ldp": _REPORTS,
    "budget_distribution_ldp": _REPORTS,
    "budget_absorption_ldp": _REPORTS,
    "uniform_ldp": _REPORTS,
    "sample_ldp": _REPORTS,
    "laplace": "privacy/test_finite_precision",
    "fast": "operators/wevent/test_fast",
    "binary_tree": "operators/wevent/test_binary_tree",
    "pegasus": "privacy/test_pegasus_leakage",
    "quantified": "privacy/test_temporal_leakage",
    "unicorn": _INTERVALS,
    "unicorn_is": _INTERVALS,
    "unicorn_plan": _INTERVALS,
    "unicorn_ps": _INTERVALS,
    "ts_budget_distribution": _INTERVALS,
    "ts_budget_absorption": _INTERVALS,
    "anonymize": "privacy/test_anonymity",
    "real_time": "privacy/test_real_time_composition",
    "real_time_local": "privacy/test_real_time_composition",
}


def _own(kind: str) -> str:
    """Return the module that configures the kind for the conformance suite."""
    return CONFORMING[kind].configure.__module__.removeprefix("tests.").replace(".", "/")


IN_NATS = tuple(kind for kind, one in KINDS.items() if one.evaluation != "anonymity")
"""Kinds whose claims are numbers of nats, which attacks prove a part of."""
PROOFS: Mapping[str, str] = {
    kind: _BY_KIND.get(kind) or _BY_FAMILY.get(section.evaluation or "") or _own(kind)
    for kind, section in KINDS.items()
}
"""Modules below `tests`, without their suffix."""
