"""Read how pipelines about the same people are connected: from options, or as files declare."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.files.alphabet_file import read_matrix
from fugu.dataflows.pipeline.joint import Joint, Rows, Told, declared_joints, joint
from fugu.operators.leakage.combined import Topology


@dataclass(frozen=True)
class Connected:
    """Hold the options `--topology`, `--matrix` and `--beside-matrix`."""

    topology: Topology | None
    first: Rows | None
    second: Rows | None

    @classmethod
    def of(
        cls, files: int, topology: Topology | None, matrix: Path | None, beside: Path | None
    ) -> "Connected":
        """Read the matrices; `ConfigurationError` says which option would have no effect."""
        named = [
            option for option, file in (("--matrix", matrix), ("--beside-matrix", beside)) if file
        ]
        if topology is None and named:
            raise ConfigurationError(
                f"{', '.join(named)}: says nothing without --topology; leave it out"
            )
        if topology is not None and files != 2:
            raise ConfigurationError(
                f"--topology: connects two pipelines, not {files}; give two pipeline files"
            )
        if beside is not None and topology in ("parallel", "serial"):
            raise ConfigurationError(
                f"--beside-matrix: with --topology {topology} both releases are about one value, "
                "whose matrix is --matrix; leave it out"
            )
        return cls(topology, _rows_of(matrix), _rows_of(beside))

    def joints(self, pipelines: Sequence[Told]) -> list[Joint]:
        """Return what pipelines tell together: the two of `--topology`, or as files declare."""
        if self.topology is None:
            return declared_joints({told.pipeline: told for told in pipelines})
        first, second = pipelines
        if self.first is not None:
            first, second = first.knowing(self.first, None), second.knowing(self.first, None)
        if self.second is not None:
            second = second.knowing(self.second, None)
        return [joint(self.topology, first, second)]


def _rows_of(path: Path | None) -> Rows | None:
    return None if path is None else tuple(map(tuple, read_matrix(path).tolist()))
