"""Every mechanism gives the same bytes whatever the CPU can do."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conformance.kinds import KINDS
from tests.operators import fixed_streams
from tests.operators.fixed_run import dispatched_features

RUNS = {
    "adaptive_crr": "8fab95b411f8df76c515267ba998ced4",
    "backward_perturbation": "18c08b47794ac2342c26556a581543c7",
    "batched_crr": "01defcfab8f012ecc9b2b87102222ea5",
    "binary_tree": "6d6b5f0d39f91716438fd53e6008be34",
    "budget_absorption": "aa0a5bfde07102a56db81ae43fb7afcd",
    "budget_distribution": "782c4dde84bbde4440f7baa704b9b7a7",
    "cold_start_crr": "ae6989b6e354eacc30ea761d8d5a4b55",
    "crr": "1320bdb72e563e2ec3e8df90f40809d1",
    "extended_threshold_perturbation": "d83ba444fb7a2ed287acfadf41d98f8a",
    "fast": "f6b4eeee5fce715007cf579eaf29fe33",
    "forward_perturbation": "15274f99cfdb6555f0559a38bd7f2140",
    "grr": "3ab9408c82e2048da6c7a5f17a039ddb",
    "laplace": "e1db9db9f4e60994c40638ac949ff357",
    "oue": "439003e7e0755fb1a16e7317d2ad2352",
    "paper_crr": "eb61fe3372ce7540af37112be2c0d4eb",
    "pba": "c81484b3a1d82c190ee292c924713d8d",
    "quantified": "5d932c4db948f83a060512fb6ae09cc7",
    "real_time": "aee5406643e41183922f75c83d5410ac",
    "real_time_local": "771a62ca3bee7520b41bb1f29cb94717",
    "rescue_dp": "4c188379bd21bdc39826467f5bd059f7",
    "sample": "0071f2de1093bac0e0d2e4e2d139100f",
    "threshold_perturbation": "c897fd972a8cfcc4dfd1a52c76da4221",
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
