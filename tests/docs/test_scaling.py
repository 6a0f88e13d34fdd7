"""Figures of the page about scaling are those that `python -m bench kafka-state` wrote."""

import json
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[2]
MEASURED = json.loads((ROOT / "bench/results/kafka-state.json").read_text())


def test_figures_of_a_state_in_kafka_are_those_of_the_bench() -> None:
    page = (ROOT / "docs/scaling.md").read_text().splitlines()
    restored = MEASURED["restored"]
    figures = {
        "records/s with `store: kafka`": f"{MEASURED['ratio']:.2f} of it",
        "state topic, per record": f"{median(MEASURED['bytes_per_record']):.1f} bytes",
        "state topic, per row, when": f"{median(r['bytes_per_row'] for r in restored):.0f} bytes",
        "restore, 1,000,000 rows": f"{median(r['seconds'] for r in restored):.1f} s",
        "no release after `kill -9` of a copy": f"{median(MEASURED['stood_still']):.1f} s",
        "the same, with a warm copy": f"{median(MEASURED['stood_still_warm']):.1f} s",
    }
    for begin, figure in figures.items():
        [row] = [line for line in page if line.startswith(f"| {begin}")]
        assert figure in row, begin
