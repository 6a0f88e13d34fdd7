"""A real API server takes all that the chart renders, and the real `helm` renders the same."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.api_server import CACHE, ApiServer, Refused, api_server
from tests.deploy.chart import CASES, CHART, NAMESPACE, RELEASE, case, pod_of, rendered, values_of

pytestmark = pytest.mark.acceptance


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiServer]:
    with api_server(tmp_path_factory.mktemp("kubernetes")) as server:
        yield server


@pytest.mark.parametrize("path", CASES, ids=[c.stem for c in CASES])
def test_the_server_takes_every_manifest_without_a_warning(server: ApiServer, path: Path) -> None:
    for manifest in rendered(values_of(path)):
        assert server.apply(manifest, dry_run=True) == [], manifest["kind"]


@pytest.mark.parametrize("path", CASES, ids=[c.stem for c in CASES])
def test_a_pod_of_the_chart_is_admitted_where_only_restricted_ones_are(
    server: ApiServer, path: Path
) -> None:
    manifests = rendered(values_of(path))
    [account] = [m for m in manifests if m["kind"] == "ServiceAccount"]
    server.apply(account)
    pod = pod_of(manifests)
    claims = [m["name"] for c in pod["spec"]["containers"] for m in c["volumeMounts"]]
    if "state" in claims:  # which a StatefulSet adds for each of its pods
        claim = {"claimName": "state-demo-0"}
        pod["spec"]["volumes"].append({"name": "state", "persistentVolumeClaim": claim})
    pod |= {"apiVersion": "v1", "kind": "Pod"}
    pod["metadata"]["name"] = f"{RELEASE}-0"
    assert server.apply(pod, dry_run=True) == []


def test_the_server_refuses_what_the_chart_must_not_render(server: ApiServer) -> None:
    pod = pod_of(rendered(case("kafka"))) | {"apiVersion": "v1", "kind": "Pod"}
    pod["metadata"]["name"] = "root"
    pod["spec"]["securityContext"]["runAsUser"] = 0
    with pytest.raises(Refused, match="runAsUser=0"):
        server.apply(pod, dry_run=True)
    [monitor] = [m for m in rendered(case("kafka-keda")) if m["kind"] == "PodMonitor"]
    monitor["spec"]["endpoints"] = []
    with pytest.raises(Refused, match="endpoints"):
        server.apply(monitor, dry_run=True)


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize("path", CASES, ids=[c.stem for c in CASES])
def test_the_helm_command_renders_what_its_library_renders(path: Path) -> None:
    printed = helm("template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", path)
    documents = [found for found in yaml.safe_load_all(printed) if found]
    assert by_name(documents) == by_name(rendered(values_of(path)))
    helm("lint", "--strict", CHART, "--values", path)


def by_name(manifests: list[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(m["kind"], m["metadata"]["name"]): m for m in manifests}


def helm(*arguments: str | Path) -> str:
    ended = subprocess.run(
        [CACHE / "bin" / "helm", *arguments], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr + ended.stdout
    return ended.stdout
