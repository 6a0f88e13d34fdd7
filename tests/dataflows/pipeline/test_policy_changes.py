"""A pipeline says who can change its policies, and refuses what it could not verify."""

import re
from pathlib import Path

import pytest

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.pipeline.config import PipelineFile
from fugu.dataflows.pipeline.policy_changes import signatures_of, who_can_change
from tests.dataflows.pipeline.pipeline_files import PIPELINE
from tests.dataflows.pipeline.pipeline_files import read as read_pipeline
from tests.dataflows.policies.documents import DOCUMENT

OPERATOR = PIPELINE[PIPELINE.index("operator:") : PIPELINE.index("sink:")]
WITHOUT_TOPIC = PIPELINE.replace(
    OPERATOR, "operator: {kind: unicorn, policies: policies.yaml}\n"
).replace("  value: zone\n", "  value: kw\n  timestamp: {field: at, format: epoch-ms}\n")
ALICE = "{name: alice, ed25519: iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w=}"
SECRET = "{env: FUGU_TEST_POLICIES}"


def pipeline(
    directory: Path, policies: str | None = "changes", shop: str = "", everything: str = ""
) -> PipelineFile:
    """A pipeline whose collection `shop`, or every one, has these owners."""
    document = DOCUMENT.replace("    policies: []\n", f"    owners: [{shop}]\n    policies: []\n")
    document = document if shop else DOCUMENT
    document = f"owners: [{everything}]\n{document}" if everything else document
    (directory / "policies.yaml").write_text(document)
    topic = "" if policies is None else f"  policies: {policies}\n"
    return read_pipeline(directory, WITHOUT_TOPIC.replace("  value: kw\n", f"  value: kw\n{topic}"))


def says(directory: Path, policies: str | None = "changes", shop: str = "") -> list[str]:
    return who_can_change(pipeline(directory, policies, shop).pipeline)


def test_without_a_topic_nobody_can_change_anything(tmp_path: Path) -> None:
    [said] = says(tmp_path, None, ALICE)
    assert said.startswith("nobody: source.policies is not set")
    assert signatures_of(pipeline(tmp_path, None)) is None


def test_without_owners_everybody_can_who_may_write(tmp_path: Path) -> None:
    [said] = says(tmp_path)
    assert said == (
        "household, shop: whoever can write to topic changes can add policies, within the limits, "
        "and remove or weaken them after a notice of 260 minutes"
    )


def test_owners_are_named_with_what_is_left_to_others(tmp_path: Path) -> None:
    everybody, owned = says(tmp_path, shop=ALICE)
    assert everybody.startswith("household: whoever can write to topic changes can add policies")
    assert owned.startswith("shop: alice (ed25519) can remove or weaken policies, after a notice")
    assert owned.endswith(
        "whoever can write to topic changes can add more, within half of the limits"
    )


def test_many_owners_are_counted(tmp_path: Path) -> None:
    many = ", ".join(ALICE.replace("alice", f"alice-{i}") for i in range(7))
    _, owned = says(tmp_path, shop=many)
    assert "alice-4 (ed25519), and 2 more can remove or weaken policies" in owned


def test_where_signatures_are_required_owners_alone_change_policies(tmp_path: Path) -> None:
    nobody, owned = says(tmp_path, "{topic: changes, signed: required}", ALICE)
    assert nobody.startswith("household: nobody, because it has no owners")
    assert owned.endswith("nobody else changes any")


def test_explain_names_the_topic_it_relies_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain([pipeline(tmp_path)])
    said = " ".join(capsys.readouterr().out.split())
    relied_on = said[said.index("Relies on") : said.index("Who can change policies")]
    assert "topic changes (source.policies)" in relied_on
    assert "is not counted here (fugu policy force shows it)" in relied_on
    assert "household, shop: whoever can write to topic changes" in said


def test_a_topic_in_short_is_the_same_as_in_long(tmp_path: Path) -> None:
    short, long = (pipeline(tmp_path, text) for text in ("changes", "{topic: changes}"))
    assert short.pipeline.source == long.pipeline.source


def test_signatures_are_those_that_the_file_declares(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUGU_TEST_POLICIES", "ab" * 32)
    policies = f"{{topic: changes, signed: required, hmac: {SECRET}}}"
    made = signatures_of(pipeline(tmp_path, policies, everything="{name: us, hmac: true}"))
    assert made is not None
    assert (made.topic, made.required) == ("changes", True)
    assert made.secret is not None
    assert made.secret.reveal() == b"\xab" * 32


@pytest.mark.parametrize(
    ("policies", "everything", "said"),
    [
        ("changes", "{name: us, hmac: true}", "owner us signs by hmac; say where the secret is"),
        (f"{{topic: changes, hmac: {SECRET}}}", ALICE, "has no owner who signs by it"),
        (
            f"{{topic: changes, hmac: {SECRET}}}",
            "{name: us, hmac: true}",
            "source.policies.hmac: environment variable FUGU_TEST_POLICIES holds 2 bytes",
        ),
    ],
)
def test_what_could_not_be_verified_is_refused(
    policies: str, everything: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FUGU_TEST_POLICIES", "abcd")
    with pytest.raises(ConfigurationError, match=said):
        signatures_of(pipeline(tmp_path, policies, everything=everything))


@pytest.mark.parametrize(
    ("policies", "said"),
    [
        ("{topic: changes, hmac: {env: FUGU_TEST_SECRET}}", "is the secret of the pipeline"),
        ("{topic: changes, hmac: {file: keys, encoding: keys}}", "keys are those of the pipeline"),
        ("{topic: changes, signed: perhaps}", "'optional' or 'required'"),
        ("{signed: required}", "topic: is required"),
        ("vitals.raw", "must be different ones"),
    ],
)
def test_a_section_that_cannot_be_meant_is_refused(
    policies: str, said: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=said):
        pipeline(tmp_path, policies)


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = "cryptography.hazmat.primitives.asymmetric.ed25519"
    monkeypatch.setitem(__import__("sys").modules, module, None)
    with pytest.raises(ConfigurationError, match=re.escape(install("signed"))):
        signatures_of(pipeline(tmp_path, shop=ALICE))
    assert signatures_of(pipeline(tmp_path)) is not None
