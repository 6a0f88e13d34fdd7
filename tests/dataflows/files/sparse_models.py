"""A model file with sparse rows, one of them for a pair of symbols."""

from typing import Any

from tests.dataflows.pipeline.pipeline_files import MODEL

REST: dict[str, Any] = {"from": "rest", "to": {"rest": 0.8, "light": 0.15}, "uniform": 0.05}
LIGHT: dict[str, Any] = {"from": "light", "to": {"light": 0.75, "rest": 0.25}}
VIGOROUS: dict[str, Any] = {"from": "vigorous", "to": {}, "uniform": 1.0}
AFTER_TWO: dict[str, Any] = {"from": ["rest", "light"], "to": {"light": 0.5, "vigorous": 0.5}}
SPARSE = MODEL | {"format_version": 2, "transition": [REST, LIGHT, VIGOROUS, AFTER_TWO]}
