"""The section of `anonymize`: what it refuses, and what is said of it."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from fugu.dataflows.base.batches import Reason
from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.commands.explain import explain
from fugu.dataflows.kinds import AnonymizeOperator
from fugu.dataflows.pipeline.config import PipelineFile, reading_digest
from fugu.dataflows.pipeline.mechanisms import configure, remarks_of
from fugu.dataflows.records.json_fields import Refused

OPERATOR = {
    "kind": "anonymize",
    "sensitive": "diagnosis",
    "taxonomy": {"Disease": {"Virus": ["Dengue", "H1N1"], "Lung": ["Asthma"], "Heart": None}},
    "privacy_height": 2,
    "K": 3,
    "rho": 2,
    "quantum": "2h",
    "ticks": {"width": "1d", "grace": "1h"},
}


def pipeline_file(folder: Path, sink: str = "pseudonym", **changes: Any) -> PipelineFile:
    document = {
        "name": "patients",
        "source": {
            "topic": "visits",
            "value": "place",
            "timestamp": {"field": "at", "format": "epoch-ms"},
        },
        "operator": OPERATOR | changes,
        "sink": {"topic": "anonymous", "key": sink},
        "kafka": {"bootstrap": "localhost:9092"},
        "state": {"directory": "state"},
        "secret": {"env": "FUGU_TEST_SECRET"},
    }
    path = folder / "pipeline.yaml"
    path.write_text(yaml.safe_dump(document))
    return PipelineFile.read(path)


def section(folder: Path, **changes: Any) -> AnonymizeOperator:
    operator = pipeline_file(folder, **changes).pipeline.operator
    assert isinstance(operator, AnonymizeOperator)
    return operator


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sigma": "3/2"}, "sigma: write a share above 0 and below 1"),
        ({"sigma": "most"}, "sigma: write a share between 0 and 1"),
        ({"quantum": "5h"}, "quantum: the width of a window .* must be a multiple"),
        ({"min_people": 2}, r"min_people: must be at least K \(3\)"),
        ({"max_people": 5}, "max_people: must be at least 6"),
        ({"rho": 5}, "max_points: a person of 60 points brings 5,985,197 sub-trajectories"),
        ({"stage": "thesis"}, "stage: thesis stops before the repair.*accept_unsound: true"),
        ({"K": 1}, "K: must be at least 2"),
        ({"rho": 0}, "rho: must be at least 1"),
        ({"privacy_height": 1}, "privacy_height: must be at least 2"),
        ({"sensitive": "place"}, "operator.sensitive: names the location or the time"),
        ({"sensitive": "at"}, "operator.sensitive: names the location or the time"),
        ({"sensitive": "points"}, "a release has a field points of its own"),
        ({"taxonomy": {"A": None, "B": None}}, "taxonomy: the tree: has 2 names at the top"),
        ({"taxonomy": {"A": ["B", "B"]}}, "taxonomy: A.1: B is in the tree already"),
        ({"sink": "original"}, "sink.key: anonymize hides who a record is about"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(
    changes: dict[str, Any], told: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigurationError, match=rf"pipeline.yaml:\d+: .*{told}"):
        pipeline_file(tmp_path, **changes)


def test_a_taxonomy_may_be_a_file_whose_lines_are_named(tmp_path: Path) -> None:
    path = tmp_path / "diseases.yaml"
    path.write_text("Disease:\n  Virus:\n    - Dengue\n    - on\n  Lung: [Dengue]\n")
    with pytest.raises(ConfigurationError) as refused:
        section(tmp_path, taxonomy="diseases.yaml")
    first, second = str(refused.value).splitlines()
    assert f"{path}:4: Disease.Virus.1: is no text" in first
    assert f"{path}:5: Disease.Lung.0: Dengue is in the tree already" in second
    path.write_text("Disease:\n  Virus: [Dengue, H1N1]\n  Lung: [Asthma]\n  Heart:\n")
    inline = section(tmp_path)
    assert section(tmp_path, taxonomy="diseases.yaml").taxonomy == inline.taxonomy


def test_shares_are_exact(tmp_path: Path) -> None:
    for written in (0.1, "0.1", "1/10", "2/20"):
        assert section(tmp_path, sigma=written).confidence == Fraction(1, 10)


def test_records_are_read_or_refused_with_the_field(tmp_path: Path) -> None:
    operator = section(tmp_path)
    values, number = operator.values(["place"]), operator.tree.index("Asthma")
    assert values.read({"place": 17, "diagnosis": "Asthma"}) == b"[%d,17]" % number
    refused_records: list[tuple[dict[str, object], Reason, str]] = [
        ({"diagnosis": "Asthma"}, Reason.FIELD_MISSING, "place"),
        ({"place": "a"}, Reason.FIELD_MISSING, "diagnosis"),
        ({"place": None, "diagnosis": "Asthma"}, Reason.WRONG_TYPE, "place"),
        ({"place": 1.5, "diagnosis": "Asthma"}, Reason.WRONG_TYPE, "place"),
        ({"place": True, "diagnosis": "Asthma"}, Reason.WRONG_TYPE, "place"),
        ({"place": "", "diagnosis": "Asthma"}, Reason.OUTSIDE_DOMAIN, "place"),
        ({"place": "x" * 300, "diagnosis": "Asthma"}, Reason.OUTSIDE_DOMAIN, "place"),
        ({"place": "a", "diagnosis": "Plague"}, Reason.OUTSIDE_DOMAIN, "diagnosis"),
        ({"place": "a", "diagnosis": 3}, Reason.WRONG_TYPE, "diagnosis"),
    ]
    for record, reason, field in refused_records:
        with pytest.raises(Refused) as refused:
            values.read(record)
        assert (refused.value.reason, refused.value.field) == (reason, field)


def test_what_records_mean_and_the_law_change_with_the_keys_that_say_so(tmp_path: Path) -> None:
    def digests(**changes: Any) -> tuple[str, bytes]:
        file = pipeline_file(tmp_path, **changes)
        return reading_digest(file.pipeline), configure(file).mechanism.law_digest()

    before = digests()
    assert digests(max_people=500) == before
    assert digests(quantum="1h")[0] != before[0]
    other = {"Disease": {"Virus": ["H1N1", "Dengue"], "Lung": ["Asthma"], "Heart": None}}
    assert digests(taxonomy=other)[0] != before[0], "the numbers of values in the state"
    for changes in ({"K": 4, "min_people": 6}, {"rho": 1}, {"sigma": 0.4}, {"linked": True}):
        assert digests(**changes)[1] != before[1]


def test_it_is_explained_as_what_it_is_and_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    explain([pipeline_file(tmp_path)])
    said = " ".join(capsys.readouterr().out.split())
    for words in (
        "no epsilon bounds what a release tells",
        "at least 3 different people of the window",
        "no category of the sensitive value has a share above 1/2",
        "windows do not compose",
        "What is not covered - differential privacy",
        "whoever reads the internal log or the state",
    ):
        assert words in said
    explain([pipeline_file(tmp_path)], as_json=True)
    [guarantee] = orjson.loads(capsys.readouterr().out)["guarantees"]
    assert (guarantee["notion"], guarantee["epsilon"]) == ("anonymity", None)
    assert (guarantee["window"], guarantee["tick_milliseconds"]) == (1, 86_400_000)


def test_bounds_that_allow_windows_too_large_to_count_are_remarked(tmp_path: Path) -> None:
    def remarks(**changes: Any) -> list[str]:
        file = pipeline_file(tmp_path, **changes)
        return remarks_of(file, configure(file).mechanism)

    assert not remarks()
    [remark] = remarks(rho=3)
    assert "max_people and max_points allow a window of 3,605,000,000 sub-trajectories" in remark
    [remark] = remarks(sigma="1/3")
    assert "operator.sigma: of 3 categories one nearly always has more than 1/3" in remark
    [remark] = remarks(privacy_height=9)
    assert "privacy_height 9 is above the height of the taxonomy, 3" in remark


def test_the_baseline_promises_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = pipeline_file(tmp_path, stage="thesis", accept_unsound=True)
    assert not any(one.sound for one in configure(file).mechanism.guarantees())
    explain([file])
    assert "no bound is promised" in " ".join(capsys.readouterr().out.split())
