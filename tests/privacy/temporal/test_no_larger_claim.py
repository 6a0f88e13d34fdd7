"""No text of this project says that temporal perturbation is epsilon-TLDP: it is not, for any."""

import re
from pathlib import Path

import pytest

from fugu.dataflows.pipeline.guarantee_text import in_words
from fugu.operators.mechanism import Mechanism
from tests.conformance.kinds import KINDS

ROOT = Path(__file__).parents[3]
TEXTS = [
    ROOT / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "examples").rglob("*.py")),
    *sorted((ROOT / "operators").rglob("*.py")),
    *sorted((ROOT / "dataflows").rglob("*.py")),
]
TEMPORAL = [kind for kind in KINDS if kind.endswith("_perturbation")]


def larger_claims(text: str) -> list[str]:
    """Sentences that name TLDP, other than as the name of a document, and do not deny it."""
    sentences = re.split(r"[.;!?]\s", " ".join(text.split()))
    name = re.compile(r"TLDP(?! specification)|temporal(?:ly)? local(?:ly)? differential", re.I)
    denial = re.compile(r"\b(not|never|no|nor|cannot|literal_tldp)\b", re.I)
    return [one for one in sentences if name.search(one) and not denial.search(one)]


def test_no_page_and_no_module_claims_tldp() -> None:
    assert len(TEXTS) > 100
    claims = {path: larger_claims(path.read_text()) for path in TEXTS}
    assert {path: found for path, found in claims.items() if found} == {}


def temporal() -> list[Mechanism]:
    return [example.mechanism for kind in TEMPORAL for example in KINDS[kind].examples()]


def test_no_promise_claims_tldp_or_any_notion_that_covers_all_outputs() -> None:
    assert len(TEMPORAL) == 4
    for mechanism in temporal():
        audit = mechanism.audit()
        assert audit["literal_tldp"] is False
        for promise in mechanism.guarantees():
            assert promise.notion == "delay-law"
            assert promise.composition == "none"
            assert "this is no bound on inference" in str(promise.adversary)
            points = promise.adversary, promise.proof, *promise.assumptions, *promise.not_covered
            told = [in_words(promise), *map(str, points), str(audit["caveats"])]
            assert [claim for text in told for claim in larger_claims(text)] == []


@pytest.mark.parametrize(
    "claim",
    [
        "The threshold mechanism satisfies epsilon-TLDP.",
        "Releases are\n2.0-tldp for any prior. It is not slow.",
        "This is temporal local differential privacy with epsilon 1.",
        "See the TLDP specification; every stream is TLDP with epsilon 3.",
    ],
)
def test_a_claim_would_be_found(claim: str) -> None:
    assert larger_claims(claim) != []


@pytest.mark.parametrize(
    "text",
    ["Source: TLDP specification, section 3.", "This is not TLDP in the paper's sense."],
)
def test_denials_and_references_are_none(text: str) -> None:
    assert larger_claims(text) == []
