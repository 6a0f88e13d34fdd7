"""`fugu policy check`: what it prints, what machines read, and what it refuses."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.cli.fugu import app
from tests.dataflows.policies.documents import DOCUMENT, EXAMPLE, with_change

ONCE_LATER = "{start: 2026-07-20T06:00, end: 2026-07-20T07:00}"
"""A Monday, when showers are hidden too."""


def checked(path: Path, *options: str) -> Result:
    return CliRunner().invoke(app, ["policy", "check", str(path), *options], env={"COLUMNS": "80"})


def document(path: Path) -> Any:
    result = checked(path, "--json")
    assert result.exit_code == 0
    return orjson.loads(result.stdout)


def test_people_read_collections_policies_and_what_they_come_to() -> None:
    result = checked(EXAMPLE)
    assert result.exit_code == 0
    lines = [line.rstrip() for line in result.stdout.splitlines()]
    assert lines[1:10] == [
        "policies.yaml: OK",
        "",
        "household, for everybody else",
        "policy         when                              hides   in a row   first week",
        "─" * 78,
        "shower         mon–fri 06:00–09:00              2.2 kW    2 ticks            5",
        "               from 2026-01-05",
        "cooking        daily 17:30–20:00                3.5 kW    5 ticks            7",
        "               from 2026-01-05, except 2 days",
    ]
    assert "electric-car, for 2 keys" in lines
    assert lines[-8:] == [
        "What a change takes away stays for 7 days: that is the notice.",
        "A tick is 10 minutes. The first week and year begin on 2026-01-05.",
        "Largest sensitivity in that year: 14.5 kW; 14.5 kW without policies.",
        "Largest delta in that year: 136 of an interval's 1,008 ticks can differ.",
        "Epsilon is 2 in each interval of each policy.",
        "Largest expected noise of a figure in that year: 986 kW, first on 2026-07-19 19:00; mean "
        "of the first week: 37.9 kW.",
        "Without electric-car that mean would be 1.11 kW; see fugu policy show.",
        "Changes may bring each collection to noise of 1,972 kW, 100 policies and intervals of "
        "1,008 ticks; one change may add noise of 1,972 kW.",
    ]


def test_limits_are_said_of_the_collections_that_have_them(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(
        with_change(
            "    applies_to: {default: true}\n",
            "    applies_to: {default: true}\n    limits: {noise: 250 kW, added: 50 kW}\n",
        )
    )
    said = checked(path).stdout
    assert "Changes may bring household to noise of 250 kW, 100 policies" in said
    assert "one change may add noise of 50 kW" in said
    limits = document(path)["collections"][0]["limits"]
    assert limits == {"noise": 250.0, "added": 50.0, "interval_ticks": 152, "policies": 100}


def test_owners_are_named(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    owned = "    applies_to: {default: true}\n    owners: [{name: alice, hmac: true}]\n"
    text = with_change("    applies_to: {default: true}\n", owned)
    path.write_text("owners: [{name: utility, hmac: true}]\n" + text)
    said = checked(path).stdout
    assert "household, for everybody else, owned by utility, alice" in said
    assert "shop, for 2 keys, owned by utility" in said
    assert [one["owners"] for one in document(path)["collections"]] == [
        ["utility", "alice"],
        ["utility"],
    ]


def test_machines_read_the_same_and_no_keys() -> None:
    read = document(EXAMPLE)
    assert read["first_day"] == "2026-01-05"
    household, car = read["collections"]
    assert (household["default"], household["keys"], car["keys"]) == (True, 0, 2)
    assert household["policies"][1] == {
        "id": "cooking",
        "when": "daily 17:30–20:00, from 2026-01-05, except 2 days",
        "theta": [3.5],
        "ticks": 5,
        "occurrences_in_first_week": 7,
    }
    assert car["policies"][2]["theta"] == [2.2, 2.2, 3.5, 3.5, 3.5, 3.5]
    assert read["first_year"] == {"sensitivity": 14.5, "affected": 136, "noise": 986.0}
    assert read["first_week"]["noise"]["mean"] == pytest.approx(37.92, abs=0.01)
    assert read["remarks"] == []
    assert "meter" not in orjson.dumps(read).decode()


def test_the_costliest_policy_is_named_where_there_is_one_collection(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(with_change("{start: 2026-07-18T12:00, end: 2026-07-18T13:00}", ONCE_LATER))
    text = checked(path).stdout
    most = "22.8 kW, first on 2026-07-20 06:10"
    assert f"Largest expected noise of a figure in that year: {most}" in text
    left = 2 * (1 + 5 * 3.5) / (7 * 144)
    assert f"Without household/shower that mean would be {left:.3g} kW; see fugu policy" in text


def test_remarks_are_shown(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(with_change("2.2 kW", "0"))
    output = checked(path).stdout
    assert "remark household/shower: theta is 0: it hides nothing\n" in output
    assert document(path)["remarks"][0] == {
        "about": "household/shower",
        "says": "theta is 0: it hides nothing",
    }


def test_a_document_that_hides_nothing_is_checked_too(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    head, shop = DOCUMENT.split("    policies:\n      - id: shower")[0], "    policies: []\n"
    path.write_text(head + shop)
    assert "Nothing is hidden in that year." in checked(path).stdout


def test_an_error_ends_the_command(tmp_path: Path) -> None:
    path = tmp_path / "policies.yaml"
    path.write_text(with_change("2.2 kW", "-1"))
    result = checked(path)
    assert result.exit_code == 1
    assert isinstance(result.exception, ConfigurationError)
    assert (
        "policies.yaml:14: collections.household.policies.shower.theta: must be 0 or more"
        in str(result.exception)
    )
