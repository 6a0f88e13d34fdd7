"""The Helm chart renders what Kubernetes accepts and Fugu runs, and refuses what would not run."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import helm_python
import kubernetes_validate
import pytest
import yaml

from fugu.dataflows.pipeline.config import PipelineFile
from tests.deploy.chart import CASES, CHART, ROOT, case, only, pod_of, rendered, values_of

CUSTOM = {
    "ExternalSecret",
    "PodMonitor",
    "PrometheusRule",
    "ScaledObject",
    "ServiceMonitor",
}
"""Kinds of operators' own; test_api_server.py asks a real API server with their definitions."""
OLDEST, NEWEST = "1.28", "1.37"
every_case = pytest.mark.parametrize(
    "values", [values_of(c) for c in CASES], ids=[c.stem for c in CASES]
)


def test_every_value_is_changed_by_a_case() -> None:
    """So what is rendered, linted and checked below is all that the chart can make."""
    usual = values_of(CHART / "values.yaml")
    cases = [values_of(path) for path in CASES]
    unchanged = [
        ".".join(path)
        for path, value in leaves(usual)
        if all(found_at(values, path) in (None, value) for values in cases)
    ]
    assert unchanged == []


def leaves(values: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """List where each value is, and what it is."""
    if isinstance(values, dict) and values:
        for name, value in values.items():
            yield from leaves(value, (*path, name))
    else:
        yield path, values


def found_at(values: Any, path: tuple[str, ...]) -> Any:
    """Return the value there; None where a case leaves it out."""
    for name in path:
        values = values.get(name) if isinstance(values, dict) else None
    return values


@every_case
def test_helm_finds_nothing_to_warn_of(values: dict[str, Any]) -> None:
    report = helm_python.lint(CHART, values, strict=True)
    assert [m for m in report["messages"] if m["error"] != "icon is recommended"] == []


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
@every_case
def test_kubernetes_knows_every_field(values: dict[str, Any], version: str) -> None:
    standard = [m for m in rendered(values) if m["kind"] not in CUSTOM]
    assert standard
    for manifest in standard:
        kubernetes_validate.validate(manifest, version, strict=True)


@every_case
def test_pods_run_as_nobody_in_particular_and_write_to_volumes_only(values: dict[str, Any]) -> None:
    pod = pod_of(rendered(values))["spec"]
    [container] = pod["containers"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["securityContext"]["runAsUser"] == 1000
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert not pod["automountServiceAccountToken"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"]["memory"]
    writable = {m["name"] for m in container["volumeMounts"] if not m.get("readOnly")}
    state = {"state"} if values["store"] == "disk" else set()
    assert writable == {"cache", "temporary"} | state


@every_case
def test_a_pod_is_ready_by_healthz_and_restarted_by_livez(values: dict[str, Any]) -> None:
    [container] = pod_of(rendered(values))["spec"]["containers"]
    paths = {
        p: container[f"{p}Probe"]["httpGet"]["path"] for p in PROBES if f"{p}Probe" in container
    }
    assert paths == ({} if values.get("maintenance") else PROBES)
    [port] = container["ports"]
    assert port["containerPort"] == values.get("metrics", {}).get("port", 9464)


PROBES = {"startup": "/livez", "liveness": "/livez", "readiness": "/healthz"}


@every_case
def test_fugu_reads_the_pipeline_file_of_the_config_map(
    values: dict[str, Any], tmp_path: Path
) -> None:
    for file, text in only(rendered(values), "ConfigMap")["data"].items():
        (tmp_path / file).write_text(text)
    pipeline = PipelineFile.read(tmp_path / "pipeline.yaml").pipeline
    state = pipeline.state
    wanted = ("/var/lib/fugu/state", values["replicas"])
    assert (state.directory, state.shards) == (("", 1) if state.in_kafka else wanted)
    assert state.store == values["store"]
    assert pipeline.secret.file == "/etc/fugu-secret/secret"
    assert pipeline.secret.encoding == values["secret"].get("encoding", "hex")
    assert pipeline.metrics is not None
    assert pipeline.metrics.host == "0.0.0.0", "probes come from outside of the pod"
    assert pipeline.logs == "json"
    bootstrap = values["pipeline"]["kafka"]["bootstrap"]
    addresses = bootstrap if isinstance(bootstrap, list) else [bootstrap]
    assert pipeline.kafka.bootstrap == ",".join(addresses)


def test_each_pod_of_the_disk_store_runs_the_shard_of_its_ordinal() -> None:
    manifests = rendered(case("disk"))
    assert only(manifests, "StatefulSet")["spec"]["replicas"] == 4
    [container] = pod_of(manifests)["spec"]["containers"]
    assert container["args"] == ["run", "/etc/fugu/pipeline.yaml", "--shard", "$(FUGU_SHARD)/4"]
    [shard] = [entry for entry in container["env"] if entry["name"] == "FUGU_SHARD"]
    path = shard["valueFrom"]["fieldRef"]["fieldPath"]
    assert path == "metadata.labels['apps.kubernetes.io/pod-index']"


def test_a_pod_in_maintenance_runs_no_shard_and_says_where_its_state_is() -> None:
    manifests = rendered(case("disk-maintenance"))
    [container] = pod_of(manifests)["spec"]["containers"]
    assert "args" not in container
    assert "fugu" not in " ".join(container["command"])
    state = yaml.safe_load(only(manifests, "ConfigMap")["data"]["pipeline.yaml"])["state"]
    assert {"name": "FUGU_MAINTENANCE", "value": state["directory"]} in container["env"]
    running = rendered(case("disk-maintenance") | {"maintenance": False})
    claims = [only(m, "StatefulSet")["spec"]["volumeClaimTemplates"] for m in (manifests, running)]
    assert claims[0] == claims[1], "the same volumes"


def test_volumes_with_budgets_outlive_pods_and_release() -> None:
    spec = only(rendered(case("disk")), "StatefulSet")["spec"]
    kept = {"whenDeleted": "Retain", "whenScaled": "Retain"}
    assert spec["persistentVolumeClaimRetentionPolicy"] == kept
    [claim] = spec["volumeClaimTemplates"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"], "one owner at a time"


def test_copies_of_the_kafka_store_have_no_volumes_that_last() -> None:
    manifests = rendered(case("kafka"))
    assert only(manifests, "Deployment")["spec"]["replicas"] == 3
    pod = pod_of(manifests)["spec"]
    assert {name for volume in pod["volumes"] for name in volume} == {
        "name",
        "configMap",
        "secret",
        "emptyDir",
    }
    assert pod["containers"][0]["args"] == ["run", "/etc/fugu/pipeline.yaml"]


def test_keda_scales_by_the_lag_of_the_consumer_group() -> None:
    manifests = rendered(case("kafka-keda"))
    assert "replicas" not in only(manifests, "Deployment")["spec"], "or each upgrade sets it back"
    [trigger] = only(manifests, "ScaledObject")["spec"]["triggers"]
    assert trigger["metadata"]["bootstrapServers"] == "kafka-1.kafka:9092,kafka-2.kafka:9192"
    ports = only(manifests, "NetworkPolicy")["spec"]["egress"][1]["ports"]
    assert [port["port"] for port in ports] == [9092, 9192]
    assert trigger["metadata"]["consumerGroup"] == "fugu.moods"
    assert trigger["metadata"]["topic"] == "moods.raw"
    assert trigger["metadata"]["lagThreshold"] == "100000"


def test_alerts_are_those_that_promtool_tests() -> None:
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text())
    assert only(rendered(case("disk")), "PrometheusRule")["spec"] == rules


def test_only_who_is_named_may_scrape_and_only_kafka_is_asked() -> None:
    policy = only(rendered(case("disk-secured")), "NetworkPolicy")["spec"]
    assert policy["ingress"] == []
    kafka = policy["egress"][1]
    assert [port["port"] for port in kafka["ports"]] == [9093, 9094]
    assert kafka["to"] == [{"podSelector": {"matchLabels": {"app": "kafka"}}}]
    assert len(policy["egress"]) == 2, "name servers and Kafka"
    [rule] = only(rendered(case("disk")), "NetworkPolicy")["spec"]["ingress"]
    assert rule["ports"] == [{"port": "metrics", "protocol": "TCP"}]


def test_registry_and_token_server_are_asked_where_the_pipeline_file_names_them() -> None:
    values = case("kafka-custom")
    *_, servers, dns = only(rendered(values), "NetworkPolicy")["spec"]["egress"]
    assert servers == {"ports": [{"port": p, "protocol": "TCP"} for p in (443, 8081)]}
    assert [dns] == values["networkPolicy"]["egress"]


@pytest.mark.parametrize(
    "change",
    [
        {"replicas": 1, "pipeline": {"source": {"partitioner": None}}},
        {"pipeline": {"source": {"partitioner": None, "key": {"repartition": True}}}},
    ],
)
def test_one_pod_or_an_internal_topic_needs_no_partitioner(change: dict[str, Any]) -> None:
    assert rendered(changed(case("disk"), change))


def test_the_quick_start_needs_no_definitions_of_others() -> None:
    values = case("disk") | {"metrics": {"monitor": "none"}, "alerts": {"enabled": False}}
    assert CUSTOM.isdisjoint(manifest["kind"] for manifest in rendered(values))


@pytest.mark.parametrize("field", ["pipeline", "files"])
def test_another_pipeline_or_model_is_rolled_out(field: str) -> None:
    values = case("disk")
    before = pod_of(rendered(values))["metadata"]["annotations"]
    other = copy.deepcopy(values)
    if field == "pipeline":
        other["pipeline"]["operator"]["epsilon"] = 0.5
    else:
        other["files"]["heart-zones.model.json"] += "\n"
    assert pod_of(rendered(other))["metadata"]["annotations"] != before
    assert (
        pod_of(rendered(values | {"podDisruptionBudget": {"enabled": False}}))["metadata"][
            "annotations"
        ]
        == before
    )


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no secret": ({"secret": {"existing": ""}}, "write exactly one of secret.existing"),
    "two secrets": ({"secret": {"existing": "a", "value": "ab" * 32}}, "write exactly one of"),
    "keys in the release": (
        {"secret": {"existing": "", "value": "ab" * 32, "encoding": "keys"}},
        "secret.encoding: secret.value is hex",
    ),
    "unknown encoding": ({"secret": {"encoding": "utf-8"}}, "encoding"),
    "metrics": ({"pipeline": {"metrics": {"port": 1}}}, "pipeline.metrics: the chart writes this"),
    "shards": ({"pipeline": {"state": {"shards": 2}}}, "pipeline.state.shards: the chart writes"),
    "no sink": ({"pipeline": {"sink": None}}, "pipeline.sink is missing"),
    "scaled disk": ({"autoscaling": {"kind": "keda"}}, "the shards of store: disk are fixed"),
    "a partitioner for each pod": (
        {"pipeline": {"source": {"partitioner": "auto"}}},
        "pipeline.source.partitioner: each of several pods would find out by itself",
    ),
    "no directories": ({"store": "kafka", "maintenance": True}, "store: kafka has no volumes"),
    "less than least": (
        {"store": "kafka", "autoscaling": {"kind": "hpa", "min": 5, "max": 4}},
        "autoscaling.min is above autoscaling.max",
    ),
    "unknown value": ({"replica": 2}, "replica"),
    "unknown store": ({"store": "tape"}, "store"),
    "weak secret": ({"secret": {"existing": "", "value": "password"}}, "secret"),
    "short stop": ({"terminationGracePeriodSeconds": 5}, "terminationGracePeriodSeconds"),
}


@pytest.mark.parametrize(("change", "text"), REFUSED.values(), ids=list(REFUSED))
def test_what_would_not_run_is_refused_by_name(change: dict[str, Any], text: str) -> None:
    with pytest.raises(helm_python.HelmError) as refused:
        rendered(changed(case("disk"), change))
    assert text in str(refused.value)


def changed(values: dict[str, Any], change: dict[str, Any]) -> dict[str, Any]:
    """Return values with some of them replaced; None leaves one out."""
    merged = dict(values)
    for name, value in change.items():
        if isinstance(value, dict):
            merged[name] = changed(merged.get(name, {}), value)
        elif value is None:
            del merged[name]
        else:
            merged[name] = value
    return merged
