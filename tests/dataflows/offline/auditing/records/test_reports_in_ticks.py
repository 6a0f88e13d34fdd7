"""Reports in ticks are attacked with records and without, after the tick that everybody sees."""

from pathlib import Path

import pytest

from fugu.dataflows.offline.auditing.families.by_section import audited
from tests.dataflows.stages.reports.running import pipeline_file

ENTRIES = {"alphabet": ["rest", "light"], "epsilon": 2.0, "window": 2}


@pytest.mark.parametrize(("kind", "flags"), [("pba_ldp", True), ("uniform_ldp", None)])
def test_exact_worst_cases_count_absence_and_keep_epsilon(
    kind: str, flags: bool | None, tmp_path: Path
) -> None:
    file = pipeline_file(tmp_path, {}, {**ENTRIES, "kind": kind, "flags": flags})
    found = audited(file, 2)
    assert found.worst
    assert not any(case.broken for case in found.worst)
    assert all(check.passed for check in found.checks)
    names = [attack.name for attack in found.attacks]
    assert any("after the first tick" in name for name in names)
    assert "with the last release and without after the first tick" in names
