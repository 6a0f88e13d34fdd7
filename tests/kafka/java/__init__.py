"""Serializers in Java, and the compiler of Protocol Buffers, as Maven has them."""

import subprocess
from pathlib import Path

HERE = Path(__file__).parent
FETCHED = HERE.parents[2] / ".registry" / "java"
PROTOC = FETCHED / "protoc"


def serializers() -> str:
    """Fetch them unless they are there; return their part of a class path."""
    subprocess.run([HERE / "fetch"], check=True)
    return f"{FETCHED}/lib/*"
