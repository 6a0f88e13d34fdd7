"""No text claims more about correlated values than is true."""

import re
from dataclasses import asdict
from math import inf
from pathlib import Path

import pytest

from fugu.operators.leakage.wording import in_words, rounded_up
from tests.conformance.kinds import KINDS

ROOT = Path(__file__).parents[3]
TEXTS = [
    path
    for pattern in ("*.md", "docs/**/*.md", "deploy/**/*", "operators/**/*.py", "dataflows/**/*.py")
    for path in sorted(ROOT.glob(pattern))
    if path.suffix in (".md", ".py", ".yaml", ".json")
]
CLAIM = re.compile(
    r"(ε|eps|epsilon|\bdifferential(ly)?\b)\W{0,5}(dp\b|priva)[^.;:]{0,40}"
    r"\b(under|despite|with|for)\b[^.;:]{0,30}correlat",
    re.IGNORECASE,
)


@pytest.mark.parametrize(
    "claim",
    [
        "ε-DP under temporal correlation",
        "epsilon-DP under correlation",
        "epsilon-differential privacy for correlated streams",
        "ε-differentially private despite temporal\ncorrelations",
    ],
)
def test_what_is_forbidden_is_recognised(claim: str) -> None:
    assert CLAIM.search(claim)


def test_no_page_and_no_source_promises_differential_privacy_under_correlation() -> None:
    assert len(TEXTS) > 100
    found = {str(path.relative_to(ROOT)) for path in TEXTS if CLAIM.search(path.read_text())}
    assert found == set()


def test_no_guarantee_promises_differential_privacy_under_correlation() -> None:
    for kind in KINDS.values():
        for example in kind.examples():
            for guarantee in example.mechanism.guarantees():
                assert not CLAIM.search(str(asdict(guarantee)))


def test_a_window_has_the_required_words() -> None:
    said = in_words(10, 1.0, about_one=1.776388, about_window=inf, neighbours="add/remove")
    assert said == (
        "Within any 10 consecutive ticks the releases are 1-differentially private for one user's "
        "data (w-event; add/remove), for an attacker with no knowledge of how that person's ticks "
        "depend on each other. For an attacker who knows the transition matrix P the leakage about "
        "one tick is at most TPL=1.7764, and about 10 ticks it has no upper bound (TPL_w=∞); "
        "these may exceed ε and, for some P, have no upper bound. Setting the correlation flag "
        "improves accuracy, not privacy."
    )
    assert not CLAIM.search(said)


def test_a_window_of_one_tick_has_one_figure() -> None:
    said = in_words(1, 0.5, about_one=0.7, about_window=0.7)
    assert said.startswith("Within any one tick the releases are 0.5-differentially private")
    assert "TPL_w" not in said


@pytest.mark.parametrize(
    ("nats", "shown"),
    [(inf, "∞"), (0.0, "0.0000"), (0.1, "0.1000"), (0.10001, "0.1001"), (2.7499999, "2.7500")],
)
def test_figures_are_rounded_up(nats: float, shown: str) -> None:
    assert rounded_up(nats) == shown
