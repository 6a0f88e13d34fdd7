"""The Helm chart of `deploy/helm/fugu`, rendered by Helm's own library."""

from pathlib import Path
from typing import Any

import helm_python
import yaml

ROOT = Path(__file__).parents[2]
CHART = ROOT / "deploy" / "helm" / "fugu"
CASES = sorted((CHART / "ci").glob("*.yaml"))
"""Values with which the chart is tested."""
RELEASE = "demo"
NAMESPACE = "privacy"

Values = dict[str, Any]
Manifest = dict[str, Any]


def values_of(case: Path) -> Values:
    """Return the values of a case."""
    return dict(yaml.safe_load(case.read_text()))


def case(name: str) -> Values:
    """Return the values of the case of that name."""
    return values_of(CHART / "ci" / f"{name}.yaml")


def rendered(values: Values) -> list[Manifest]:
    """Return what `helm template` prints for these values, checked against their schema."""
    with helm_python.Chart.load(CHART) as chart:
        chart.validate_schema(values)
        texts = chart.render(values, name=RELEASE, namespace=NAMESPACE)
    files = [text for name, text in texts.items() if name.endswith(".yaml")]
    return [found for text in files for found in yaml.safe_load_all(text) if found]


def only(manifests: list[Manifest], kind: str) -> Manifest:
    """Return the one manifest of a kind."""
    [found] = [manifest for manifest in manifests if manifest["kind"] == kind]
    return found


def pod_of(manifests: list[Manifest]) -> Manifest:
    """Return the template of the pods that the chart runs."""
    [owner] = [m for m in manifests if m["kind"] in ("StatefulSet", "Deployment")]
    return dict(owner["spec"]["template"])
