"""Every registered mechanism gives the same bytes whatever the CPU can do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from operators.registry import KINDS
from tests.operators import fixed_streams
from tests.operators.fixed_run import dispatched_features

RUNS = {
    "adaptive_crr": "0c8d797d7f428e48909c67b4c399610d",
    "backward_perturbation": "da2077d2034abde75c188fccc185fb12",
    "batched_crr": "53d08135e9231438e6fa7e84fe6650b0",
    "binary_tree": "6d6b5f0d39f91716438fd53e6008be34",
    "budget_absorption": "aa0a5bfde07102a56db81ae43fb7afcd",
    "budget_distribution": "782c4dde84bbde4440f7baa704b9b7a7",
    "cold_start_crr": "68bdbb987776ab092206c2aae57ea2f1",
    "crr": "58ada0e35b5275f0c0f59c3ef8faad24",
    "extended_threshold_perturbation": "c5bb4bd85e2c39d08582350323375de8",
    "fast": "59e55f13b444560261d9fbb53af05659",
    "forward_perturbation": "831092126b9ae5bbdbabfa104ee56e70",
    "grr": "3ab9408c82e2048da6c7a5f17a039ddb",
    "laplace": "e1db9db9f4e60994c40638ac949ff357",
    "oue": "439003e7e0755fb1a16e7317d2ad2352",
    "paper_crr": "06b14202dae24743e9ac2d13899e0476",
    "pba": "c81484b3a1d82c190ee292c924713d8d",
    "quantified": "ce6e7eb5a2816593725a9a198f53b5d6",
    "real_time": "4e3f03653499a6de6e9dac8c17420fae",
    "real_time_local": "aa690d3ef19e7697f27a5382fcf0396c",
    "rescue_dp": "871aaa0f990ea5230ad56a0e431cc23f",
    "sample": "0071f2de1093bac0e0d2e4e2d139100f",
    "threshold_perturbation": "67f75244638806deef2833b156757d7b",
    "tinar_sample": "685b4739558f964fdf7f21a01d72dd1f",
    "tinar_uniform": "15311be86e74134d70fc909e185b14e4",
    "ts_budget_absorption": "6354e983de3dac900056e749c94cbfcc",
    "ts_budget_distribution": "e8c8abab64da337c7dc7f25ada53116f",
    "ts_sample": "e52de9656501d8cabe9c44c454f3c5f6",
    "ts_uniform": "a8b30279ac87b590479b76540a8789f3",
    "unicorn": "0f3bbac7e70df5017bdc003f71e895d6",
    "unicorn_is": "5f51d0cd150e4ef4509fd1bbec115e3e",
    "unicorn_ps": "daf1f917cd81615ccaad13440e9c975b",
    "uniform": "377cffdd4bf7f2431afbe797f9c9fa6e",
}
"""If one changes, releases changed: raise `implementation`, which changes the law digest too."""


def test_every_kind_has_a_fixed_run() -> None:
    assert sorted(KINDS) == sorted(RUNS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_fixed_run_is_pinned(kind: str) -> None:
    assert fixed_streams.digest(kind) == RUNS[kind]


def test_a_cpu_with_fewer_instruction_sets_repeats_all_of_them() -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.operators.fixed_streams"],
        env={**os.environ, "NPY_DISABLE_CPU_FEATURES": " ".join(dispatched_features())},
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
    )
    assert finished.stdout == "".join(f"{kind} {RUNS[kind]}\n" for kind in KINDS)
