"""`fugu leakage`: what it prints, what machines read, what it draws, and what it refuses."""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from typer.testing import CliRunner, Result

from fugu.dataflows.base.errors import FuguError
from fugu.dataflows.base.install import install
from fugu.dataflows.commands.cli.fugu import app
from tests.privacy.chain_responses import most_told

CYCLE = [[0.1, 0.9, 0.0], [0.0, 0.1, 0.9], [0.9, 0.0, 0.1]]
MATRICES = {
    "a": [[0.8, 0.2], [0.0, 1.0]],
    "b": [[0.7, 0.3], [0.4, 0.6]],
    "identity": [[1, 0], [0, 1]],
    "cycle": CYCLE,
}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    for name, rows in MATRICES.items():
        (tmp_path / f"{name}.json").write_bytes(orjson.dumps(rows))
    return tmp_path


def leaked(directory: Path, name: str, *options: str) -> Result:
    arguments = ["leakage", str(directory / f"{name}.json"), *options]
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "100"})


def said(result: Result) -> str:
    assert result.exit_code == 0
    return " ".join(result.stdout.split())


def document(result: Result) -> Any:
    assert result.exit_code == 0
    return orjson.loads(result.stdout)


def test_a_table_over_time_with_its_limit_and_what_it_means(directory: Path) -> None:
    options = ("--epsilon", "1", "--ticks", "4", "--window", "3")
    result = leaked(directory, "b", *options, "--backward", str(directory / "b.json"))
    assert [line.split() for line in result.stdout.splitlines()[6:15]] == [
        ["1", "nats", "per", "tick,", "4", "ticks"],
        ["tick", "backward", "forward", "total", "3", "ticks", "from", "it"],
        ["─" * 53],
        ["1", "1.0000", "1.3833", "1.3833", "3.2928"],
        ["2", "1.2928", "1.3662", "1.6590", "3.2928"],
        ["3", "1.3662", "1.2928", "1.6590"],
        ["4", "1.3833", "1.0000", "1.3833"],
        [],
        ["limit", "1.3882", "1.3882", "1.7764", "3.7764"],
    ]
    text = said(result)
    for part in (
        "Within any 3 consecutive ticks the releases are 3-differentially private for one user's",
        "b.json: 2 values",
        "backwards in time: the figures hold for attackers who take values to have come from each",
        "leakage has a limit, whatever a tick spends",
        "for an attacker with no knowledge of how that person's ticks depend on each other. For an "
        "attacker who knows the transition matrix P the leakage about one tick is at most "
        "TPL=1.7764, and about 3 ticks it is at most TPL_w=3.7764; these may exceed ε and, for "
        "some P, have no upper bound. Setting the correlation flag improves accuracy, not privacy.",
        "About all values of a stream of 4 ticks together: at most 4.0000 nats",
    ):
        assert part in text


def test_a_leakage_without_a_limit_says_so_and_for_which_epsilon_there_is_one(
    directory: Path,
) -> None:
    same = ("--backward", str(directory / "a.json"))
    text = said(leaked(directory, "a", "--epsilon", "1", "--epsilon", "0.1", *same))
    assert "leakage has a limit if every tick spends less than 0.223143 nats" in text
    assert "limit ∞ ∞ ∞" in text
    assert "limit 0.6460 0.6460 1.1919" in text
    assert "the leakage about one tick has no upper bound (TPL=∞)" in text


def test_where_a_value_is_left_for_good_a_start_may_tell_for_ever(directory: Path) -> None:
    text = said(leaked(directory, "a", "--epsilon", "0.1"))
    assert "the figures hold for every law of the first value, wherever a person began" in text
    assert "limit ∞ 0.6460 ∞" in text


def test_alpha_becomes_a_budget_per_tick(directory: Path) -> None:
    alpha = ("--alpha", "1", "--backward", str(directory / "b.json"))
    text = said(leaked(directory, "b", *alpha, "--ticks", "5"))
    assert "however long the stream: spend at most 0.540592 nats on every tick." in text
    ends = "0.770296 nats on the first, 0.540592 on each in between, and 0.770296 on the last."
    assert f"of a stream of 5 ticks: spend at most {ends}" in text
    assert "0.092050 nats" in said(leaked(directory, "b", *alpha, "--window", "10"))
    assert "0.770296 nats on every tick" in said(leaked(directory, "b", *alpha, "--ticks", "2"))


def test_where_no_budget_suffices_the_reason_is_given(directory: Path) -> None:
    text = said(leaked(directory, "identity", "--alpha", "1", "--ticks", "4"))
    assert "leakage has no limit, whatever a tick spends" in text
    assert "no budget above 0 keeps the leakage of an endless stream below a limit" in text
    assert "of a stream of 4 ticks: spend at most 0.250000 nats on every tick." in text


def test_a_long_stream_shows_some_of_its_ticks(directory: Path) -> None:
    lines = leaked(directory, "b", "--ticks", "1000").stdout.splitlines()
    ticks = [line.split()[0] for line in lines if line[:5].strip().isdigit()]
    assert (len(ticks), ticks[0], ticks[-1]) == (20, "1", "1000")


def test_machines_read_everything_and_null_is_no_limit(directory: Path) -> None:
    options = ("--epsilon", "1", "--epsilon", "0.1", "--alpha", "1", "--json", "--window", "2")
    same = ("--backward", str(directory / "a.json"))
    read = document(leaked(directory, "a", *options, *same))
    assert read["matrix"] == str(directory / "a.json")
    assert read["bounded_for_epsilon_below"] == pytest.approx(0.223144, abs=1e-6)
    whole, tenth = read["courses"]
    assert whole["limits"] == {"backward": None, "forward": None, "total": None, "window": None}
    assert tenth["limits"]["total"] == pytest.approx(1.191813, abs=1e-6)
    assert len(tenth["over_time"]["total"]) == 10
    assert len(tenth["windows"]) == 9
    assert read["allowance"]["every_tick"] < read["allowance"]["between"]
    assert document(leaked(directory, "b", "--json"))["allowance"] is None


def test_without_a_backward_matrix_figures_hold_for_every_start(directory: Path) -> None:
    leaving = directory / "leaving.json"
    leaving.write_text("[[0.99, 0.01], [0.7, 0.3]]")
    read = document(leaked(directory, "leaving", "--alpha", "1", "--json"))
    assert "every law of the first value" in read["backward_is"]
    spend = read["allowance"]["every_tick"]
    assert max(most_told(np.array([[0.99, 0.01], [0.7, 0.3]]), [spend] * 4)) <= 1.0
    stationary = document(
        leaked(directory, "leaving", "--alpha", "1", "--json", "--backward", str(leaving))
    )
    assert stationary["allowance"]["every_tick"] > 1.5 * spend, "for those who believe in it"


def test_several_epsilons_are_given_with_commas_or_one_by_one(directory: Path) -> None:
    spellings = (
        ["--epsilon", "0.1,1"],
        ["--epsilons", "0.1,1"],
        ["--epsilon", "0.1", "--epsilon", "1"],
        ["--epsilon", "0.1", "--epsilons", "1"],
    )
    for options in spellings:
        read = document(leaked(directory, "b", *options, "--json"))
        assert [course["epsilon"] for course in read["courses"]] == [0.1, 1.0]


def test_who_knows_better_gives_the_backward_matrix(directory: Path) -> None:
    given = document(
        leaked(
            directory, "a", "--backward", str(directory / "b.json"), "--epsilon", "0.1", "--json"
        )
    )
    limits = given["courses"][0]["limits"]
    assert "take values to have come from each other as --backward says" in given["backward_is"]
    assert limits["backward"] == pytest.approx(0.143203, abs=1e-6)
    assert limits["forward"] == pytest.approx(0.645907, abs=1e-6)


@pytest.mark.parametrize(("name", "start"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml")])
def test_a_picture_is_drawn(name: str, start: bytes, directory: Path) -> None:
    picture = directory / name
    options = ("--epsilon", "1", "--epsilon", "0.1", "--alpha", "1", "--plot", str(picture))
    assert leaked(directory, "a", *options).exit_code == 0
    content = picture.read_bytes()
    assert content.startswith(start)
    assert len(content) > 5_000


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--plot", "a.pdf"], "--plot a.pdf: the name must end in .png or .svg"),
        (["--plot", "no/a.png"], "--plot no/a.png: there is no directory no; create it first"),
        (
            ["--epsilon", "0.1,x"],
            "--epsilon 0.1,x: write positive numbers with commas between them, such as 0.5,1,2",
        ),
        (["--epsilon", "0"], "--epsilon: must be a number of nats above 0, not 0.0"),
        (["--epsilon", "nan"], "--epsilon: must be a number of nats above 0, not nan"),
        (["--alpha", "-1"], "--alpha: must be a number of nats above 0, not -1.0"),
    ],
)
def test_options_that_cannot_be_are_refused(options: list[str], says: str, directory: Path) -> None:
    error = leaked(directory, "b", *options).exception
    assert isinstance(error, FuguError)
    assert str(error) == says


def test_a_picture_needs_matplotlib(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    error = leaked(directory, "b", "--plot", "a.png").exception
    assert str(error) == f"--plot needs matplotlib: {install('audit')}"


def test_both_matrices_are_about_the_same_values(directory: Path) -> None:
    error = leaked(directory, "b", "--backward", str(directory / "cycle.json")).exception
    assert isinstance(error, FuguError)
    assert str(error).startswith("--backward: has 3 values, but MATRIX has 2; both must be about")


@pytest.mark.parametrize("options", [["--window", "0"], ["--ticks", "0"], ["--ticks", "10001"]])
def test_streams_without_an_extent_are_refused(options: list[str], directory: Path) -> None:
    assert leaked(directory, "b", *options).exit_code == 2


def test_two_releases_leak_together_as_they_are_connected(directory: Path) -> None:
    options = ("--backward", str(directory / "a.json"), "--ticks", "5", "--beside", "1")
    joint = document(leaked(directory, "a", *options, "--json"))
    assert joint["topology"] == "parallel"
    assert joint["together"]["backward"][-1] == pytest.approx(9.147309, abs=1e-6)
    assert joint["first"]["backward"][-1] == pytest.approx(8.516261 / 2, abs=1e-6)
    text = said(leaked(directory, "a", *options, "--topology", "independent"))
    assert "Two releases, independent" in text
    assert "leakages add up" in text
    apart = leaked(
        directory, "a", *options, "--topology", "disjoint", "--beside-matrix",
        str(directory / "b.json"), "--json",
    )  # fmt: skip
    assert document(apart)["together"]["total"] == document(apart)["first"]["total"]


def test_of_reports_the_first_release_counts_unless_it_is_memoryless(directory: Path) -> None:
    options = ("--beside", "0.1", "--topology", "serial")
    joint = document(leaked(directory, "b", *options, "--json"))
    assert joint["together"] == joint["first"]
    assert "the second perturbs every copy anew" in said(leaked(directory, "b", *options))
    less = document(leaked(directory, "b", *options, "--memoryless", "--json"))
    assert max(less["together"]["total"]) < max(less["second"]["total"])
    assert "both perturb it" in said(leaked(directory, "b", *options, "--memoryless"))


def test_one_value_has_one_matrix(directory: Path) -> None:
    result = leaked(directory, "a", "--beside", "1", "--beside-matrix", str(directory / "b.json"))
    assert isinstance(result.exception, FuguError)
    assert "both releases are about one value" in str(result.exception)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--topology", "serial"], "--topology"),
        (["--memoryless"], "--memoryless"),
        (["--beside", "1", "--memoryless"], "--memoryless"),
        (["--beside", "1", "--window", "3"], "--window"),
        (["--beside", "1", "--alpha", "3", "--epsilon", "1,2"], "--alpha, --epsilon"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(
    options: list[str], named: str, directory: Path
) -> None:
    error = leaked(directory, "a", *options).exception
    assert isinstance(error, FuguError)
    assert str(error).startswith(f"{named}: ")
