"""The step of peers in Java draws what the step of peers in Python draws."""

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

PEERS = Path(__file__).parents[2] / "bench" / "peers"
LINES = Path(__file__).with_name("ReleaseLawLines.java")
SMOOTHING = 0.001
ACCURACY = 1e-10


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that holds the compiled step and what reads lines for it."""
    if not (javac := shutil.which("javac")):
        pytest.skip("a JDK is not installed")
    folder = tmp_path_factory.mktemp("classes")
    sources = [str(PEERS / "java" / "ReleaseLaw.java"), str(LINES)]
    subprocess.run([javac, "--release", "17", "-d", str(folder), *sources], check=True)
    return folder


@pytest.fixture
def peer_step(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class that peers in Python use."""
    monkeypatch.syspath_prepend(PEERS)
    module = import_module("crr_step")
    monkeypatch.delitem(sys.modules, "crr_step")
    return module.ConditionalRandomizedResponse


@pytest.mark.parametrize("symbols", [2, 3, 10])
@pytest.mark.parametrize("epsilon", [0.2, 1.0, 3.0])
def test_step_in_java_draws_as_that_in_python(
    classes: Path, peer_step: Any, symbols: int, epsilon: float
) -> None:
    random = np.random.default_rng(symbols)
    rows = random.dirichlet(np.full(symbols, 0.5), size=symbols + 1).tolist()
    step = peer_step("abcdefghij"[:symbols], rows[0], rows[1:], epsilon, SMOOTHING, compiled=False)
    beliefs = np.concatenate(
        [random.dirichlet(np.full(symbols, how), size=300) for how in (0.1, 0.5, 5.0)]
        + [np.full((1, symbols), 1 / symbols)]
    )
    beliefs = np.maximum(beliefs, 1e-12)
    beliefs /= beliefs.sum(axis=1, keepdims=True)
    asked = [
        (belief, int(random.integers(symbols)), float(random.random()))
        for belief in beliefs.tolist()
    ]
    lines = [
        *([epsilon], *step.transition),
        *([symbol, uniform, *belief] for belief, symbol, uniform in asked),
    ]
    told = "\n".join(" ".join(map(repr, line)) for line in lines)
    run = ["java", "-cp", str(classes), "ReleaseLawLines"]
    drawn = subprocess.run(run, input=told, capture_output=True, text=True, check=True).stdout
    for (belief, symbol, uniform), line in zip(asked, drawn.splitlines(), strict=True):
        after, released, confidence = step.after(belief, symbol, uniform)
        released_in_java, *numbers = map(float, line.split())
        assert released_in_java == released
        assert numbers == pytest.approx([confidence, *after], abs=ACCURACY)
