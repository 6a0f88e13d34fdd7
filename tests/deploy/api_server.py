"""A real API server of Kubernetes with its etcd, alone: it judges manifests and runs no pods."""

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.deploy.chart import NAMESPACE, ROOT, Manifest
from tests.kafka.ports import HOST, free_ports

CACHE = ROOT / ".kubernetes"
START_SECONDS = 120
TOKEN = "of-the-tests"


class Refused(AssertionError):
    """The API server did not take a manifest; the text is its own."""


@dataclass(frozen=True)
class ApiServer:
    """Asked over HTTPS, as kubectl does."""

    address: str
    trust: ssl.SSLContext

    def ask(
        self, method: str, path: str, content: Any = None, kind: str = "application/json"
    ) -> tuple[Any, list[str]]:
        """Return the answer to one request, and the warnings that came with it."""
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(f"{self.address}{path}", data, method=method)
        request.add_header("Authorization", f"Bearer {TOKEN}")
        request.add_header("Content-Type", kind)
        try:
            with urllib.request.urlopen(request, context=self.trust, timeout=30) as answer:
                return json.load(answer), answer.headers.get_all("Warning") or []
        except urllib.error.HTTPError as error:
            with error:
                raise Refused(error.read().decode()) from None

    def apply(self, manifest: Manifest, *, dry_run: bool = False) -> list[str]:
        """Apply a manifest on the server's side, with every field checked; returns warnings."""
        path = self._path(manifest, NAMESPACE)
        how = "fieldManager=helm&fieldValidation=Strict" + ("&dryRun=All" if dry_run else "")
        name = manifest["metadata"]["name"]
        kind = "application/apply-patch+yaml"
        _, warnings = self.ask("PATCH", f"{path}/{name}?{how}", manifest, kind)
        return warnings

    def _path(self, manifest: Manifest, namespace: str) -> str:
        group = manifest["apiVersion"]
        root = f"/apis/{group}" if "/" in group else f"/api/{group}"
        resources, _ = self.ask("GET", root)
        [found] = [
            resource
            for resource in resources["resources"]
            if resource["kind"] == manifest["kind"] and "/" not in resource["name"]
        ]
        inside = f"/namespaces/{namespace}" if found["namespaced"] else ""
        return f"{root}{inside}/{found['name']}"


@contextmanager
def api_server(folder: Path) -> Iterator[ApiServer]:
    """Run etcd and an API server; the namespace of the tests allows restricted pods only."""
    subprocess.run([ROOT / "deploy" / "kubernetes" / "fetch"], check=True)
    clients = free_ports(3)
    peers, port = clients + 1, clients + 2
    key = folder / "key.pem"
    subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
    (folder / "tokens.csv").write_text(f"{TOKEN},tests,1,system:masters\n")
    etcd = [
        CACHE / "bin" / "etcd",
        f"--data-dir={folder / 'etcd'}",
        f"--listen-client-urls=http://{HOST}:{clients}",
        f"--advertise-client-urls=http://{HOST}:{clients}",
        f"--listen-peer-urls=http://{HOST}:{peers}",
        f"--initial-advertise-peer-urls=http://{HOST}:{peers}",
        f"--initial-cluster=default=http://{HOST}:{peers}",
    ]
    server = [
        CACHE / "bin" / "kube-apiserver",
        f"--etcd-servers=http://{HOST}:{clients}",
        f"--bind-address={HOST}",
        f"--secure-port={port}",
        f"--cert-dir={folder}",
        f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-cluster-ip-range=10.0.0.0/24",
        f"--service-account-issuer=https://{HOST}:{port}",
        f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}",
    ]
    with _running(etcd, folder / "etcd.log"), _running(server, folder / "server.log") as process:
        yield _when_ready(process, folder, port)


@contextmanager
def _running(command: list[Any], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _when_ready(process: subprocess.Popen[bytes], folder: Path, port: int) -> ApiServer:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            trust = ssl.create_default_context(cafile=folder / "apiserver.crt")
            server = ApiServer(f"https://{HOST}:{port}", trust)
            server.ask("GET", "/api/v1/namespaces/default")
            server.ask("GET", "/apis/scheduling.k8s.io/v1/priorityclasses/system-cluster-critical")
            break
        except (OSError, Refused) as error:
            log = folder / "server.log"
            tail = log.read_text(errors="replace")[-2000:]
            if process.poll() is not None or time.monotonic() > deadline:
                raise Refused(f"the API server did not start: {error}\n{tail}") from error
            time.sleep(0.2)
    label = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": NAMESPACE, "labels": label}
    server.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    for definition in sorted((CACHE / "definitions").glob("*.yaml")):
        _define(server, yaml.safe_load(definition.read_text()), deadline)
    return server


def _define(server: ApiServer, definition: Manifest, deadline: float) -> None:
    """Add a kind of an operator's own, and wait until it is served."""
    # One definition names a service that converts versions, which does not run here.
    definition["spec"].pop("conversion", None)
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    server.ask("POST", path, definition)
    name = definition["metadata"]["name"]
    while True:
        found, _ = server.ask("GET", f"{path}/{name}")
        conditions = found.get("status", {}).get("conditions") or []
        if {"Established"} <= {c["type"] for c in conditions if c["status"] == "True"}:
            return
        assert time.monotonic() < deadline, f"{name} is not established: {conditions}"
        time.sleep(0.1)
