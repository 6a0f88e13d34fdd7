"""Rules of alerts fire and stay silent as their cases say, by Prometheus' own tool."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from fugu.dataflows.base.metrics import METRICS
from fugu.dataflows.monitoring.notices import Kind

ROOT = Path(__file__).parents[2]
RULES = ROOT / "deploy" / "prometheus"
RUNBOOK = (ROOT / "docs" / "runbook.md").read_text()
ENTRIES = {
    part.partition("\n")[0].lower().replace(" ", "-"): part for part in RUNBOOK.split("\n## ")[1:]
}
"""Entries of the runbook, by anchor."""


@pytest.fixture(scope="module")
def promtool() -> str:
    """Return the tool; without it the rules are not tested, which is a failure."""
    found = shutil.which("promtool") or ROOT / ".prometheus" / "usr" / "bin" / "promtool"
    assert Path(found).exists(), (
        "promtool is missing: run deploy/prometheus/fetch, or install Prometheus"
    )
    return str(found)


@pytest.fixture(scope="module")
def rules() -> list[dict[str, Any]]:
    [group] = yaml.safe_load((RULES / "alerts.yaml").read_text())["groups"]
    return list(group["rules"])


@pytest.mark.parametrize("command", [["check", "alerts.yaml"], ["test", "alerts.test.yaml"]])
def test_promtool_accepts_the_rules_and_their_cases(promtool: str, command: list[str]) -> None:
    what, file = command
    ended = subprocess.run(
        [promtool, what, "rules", file], cwd=RULES, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_every_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent(
    rules: list[dict[str, Any]],
) -> None:
    cases = yaml.safe_load((RULES / "alerts.test.yaml").read_text())["tests"]
    tested = {
        (one["alertname"], bool(one["exp_alerts"])) for c in cases for one in c["alert_rule_test"]
    }
    assert tested == {(rule["alert"], fires) for rule in rules for fires in (True, False)}


def test_alerts_ask_for_metrics_and_kinds_that_exist(rules: list[dict[str, Any]]) -> None:
    asked = {name for rule in rules for name in re.findall(r"fugu_[a-z_]+", rule["expr"])}
    assert asked <= {metric.name for metric in METRICS}
    kinds = {
        kind
        for rule in rules
        for found in re.findall(r'kind[!=]~"(.+?)"', rule["expr"])
        for kind in found.split("|")
    }
    assert kinds <= set(Kind)


def test_alerts_name_the_entry_of_the_runbook_that_says_what_to_do(
    rules: list[dict[str, Any]],
) -> None:
    for rule in rules:
        page, _, anchor = rule["annotations"]["runbook"].partition("#")
        assert page == "docs/runbook.md"
        assert f"`{rule['alert']}`" in ENTRIES[anchor], rule["alert"]
        assert f"`{rule['alert']}`" in (ROOT / "docs" / "operations.md").read_text()


@pytest.mark.parametrize("kind", Kind)
def test_every_notice_has_an_entry_in_the_runbook(kind: Kind) -> None:
    [row] = [row for row in ENTRIES["by-notice-or-alert"].splitlines() if f"`{kind}`" in row]
    [anchor] = re.findall(r"\]\(#(.+?)\)", row)
    assert f"`{kind}`" in ENTRIES[anchor], f"{anchor} does not say what to do"
