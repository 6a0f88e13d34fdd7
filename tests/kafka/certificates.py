"""Certificates for one test run, made by the openssl command."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

DAYS = "2"
NEW_KEY = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]


@dataclass(frozen=True)
class Certificate:
    """A certificate and its private key, as PEM files; the key may have a password."""

    certificate: Path
    key: Path
    key_password: str | None = None


def make_authority(folder: Path, name: str) -> Certificate:
    """A certificate authority that signs itself."""
    made = _files(folder, name)
    _openssl("req", "-x509", "-nodes", *NEW_KEY, "-subj", f"/CN={name}", "-days", DAYS,
             "-addext", "keyUsage=critical,keyCertSign",
             "-keyout", made.key, "-out", made.certificate)  # fmt: skip
    return made


def make_certificate(
    folder: Path, name: str, authority: Certificate, *, alternative: str | None = None,
    key_password: str | None = None,
) -> Certificate:  # fmt: skip
    """A certificate signed by an authority; `alternative` such as `IP:127.0.0.1` names a host."""
    made = _files(folder, name, key_password)
    request, extensions = folder / f"{name}.request", folder / f"{name}.extensions"
    protection = ["-passout", f"pass:{key_password}"] if key_password else ["-nodes"]
    extensions.write_text(f"subjectAltName={alternative or f'DNS:{name}'}\n")
    _openssl("req", "-new", *protection, *NEW_KEY, "-subj", f"/CN={name}",
             "-keyout", made.key, "-out", request)  # fmt: skip
    _openssl("x509", "-req", "-in", request, "-days", DAYS, "-extfile", extensions,
             "-CA", authority.certificate, "-CAkey", authority.key, "-CAcreateserial",
             "-out", made.certificate)  # fmt: skip
    return made


def _files(folder: Path, name: str, key_password: str | None = None) -> Certificate:
    return Certificate(folder / f"{name}.pem", folder / f"{name}.key", key_password)


def _openssl(*arguments: str | Path) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
