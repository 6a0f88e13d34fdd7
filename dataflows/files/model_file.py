"""Read model files: frozen, versioned descriptions of how a stream of symbols behaves.

    {"format": "fugu-markov-model", "format_version": 2, "alphabet": ["rest", "active"],
     "prior": "uniform", "transition": [[0.9, 0.1], [0.2, 0.8]], "smoothing": 0.001}

`prior` is a list or "uniform". `transition` is a matrix, or sparse rows (see `sparse_model`), which
may depend on the last two symbols. `smoothing` mixes every distribution with the uniform one and is
part of the model that the guarantee is relative to. `intervals` say how far probabilities may be
off (`kind: robust_crr`, `within: learned`), and `learned` says where a model comes from.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import numpy as np
import orjson
from pydantic import Discriminator, Field, Tag, ValidationError
from pydantic import model_validator as checked

from fugu.dataflows.base.errors import ConfigurationError
from fugu.dataflows.base.problems import in_words
from fugu.dataflows.base.section import Section
from fugu.operators.mechanism import Floats
from fugu.operators.sip.long_run import Model
from fugu.operators.sip.markov_model import MarkovModel, check_entries, smoothed_row
from fugu.operators.sip.model_sets import ModelIntervals
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_models import SparseMarkovModel, SparseRows

Symbol = str | int
Memory = tuple[int, ...]


class Row(Section):
    """Hold the probabilities of what follows one symbol, or two."""

    memory: Symbol | list[Symbol] = Field(alias="from")
    to: dict[str, float]
    uniform: float = 0.0


def sparse_model(
    alphabet: Sequence[Symbol], prior: Sequence[float], rows: Sequence[Row], smoothing: float
) -> SparseMarkovModel | SecondOrderModel:
    """Return the chain; `ValueError` names the row and the column that cannot be.

        {"from": "rest", "to": {"rest": 0.9, "light": 0.08}, "uniform": 0.02}
        {"from": ["rest", "light"], "to": {"light": 0.7, "rest": 0.3}}

    With probability `uniform` any symbol follows, all alike, and what came before is forgotten; it
    and the numbers in `to` sum to 1. Every symbol has a row; a pair without one behaves as its last
    symbol. Symbols that are integers are written in quotes in `to`, as JSON has it.
    """
    index = {symbol: number for number, symbol in enumerate(alphabet)}
    columns = {str(symbol): number for symbol, number in index.items()}
    first = np.array(smoothed_row("prior", prior, smoothing))
    if len(first) != len(alphabet):
        raise ValueError(f"prior: has {len(first)} entries, but there are {len(alphabet)} symbols")
    given: dict[Memory, tuple[Mapping[int, float], float]] = {}
    for number, row in enumerate(rows):
        name = f"transition row {number} (from {_shown(row.memory)})"
        memory = _memory(name, row.memory, index)
        if memory in given:
            raise ValueError(f"{name}: is there twice; every row may be written once")
        given[memory] = _entries(name, row, columns, sure=smoothing == 0.0)
    for symbol, number in index.items():
        if (number,) not in given:
            raise ValueError(
                f"transition: nothing is said about what follows {symbol}; add "
                f'{{"from": {_shown(symbol)}, "to": {{}}, "uniform": 1}} if it may be anything'
            )
    memories = sorted(given, key=lambda memory: (len(memory), memory))
    built = SparseRows.smoothed((given[memory] for memory in memories), len(first), smoothing)
    pairs = memories[len(first) :]
    if pairs:
        return SecondOrderModel(first, np.array(pairs), built)
    return SparseMarkovModel(first, built)


def _memory(name: str, symbols: Symbol | list[Symbol], index: Mapping[Symbol, int]) -> Memory:
    listed = symbols if isinstance(symbols, list) else [symbols]
    if len(listed) not in (1, 2):
        raise ValueError(f"{name}: write one symbol or two")
    for symbol in listed:
        if symbol not in index:
            raise ValueError(f"{name}: {_shown(symbol)} is not in the alphabet")
    return tuple(index[symbol] for symbol in listed)


def _entries(
    name: str, row: Row, columns: Mapping[str, int], *, sure: bool
) -> tuple[Mapping[int, float], float]:
    if not 0.0 <= row.uniform <= 1.0:
        raise ValueError(f"{name}: uniform must be at least 0 and at most 1")
    check_entries(name, [*row.to.values(), row.uniform], list(row.to))
    unknown = next((symbol for symbol in row.to if symbol not in columns), None)
    if unknown is not None:
        raise ValueError(f"{name}, column {unknown}: is not in the alphabet")
    if sure and row.uniform == 0.0:
        impossible = [symbol for symbol in columns if not row.to.get(symbol)]
        if impossible:
            raise ValueError(
                f"{name}: has a zero (column {impossible[0]}); "
                "set smoothing above 0 (for example 0.001), or uniform"
            )
    return {columns[symbol]: value for symbol, value in row.to.items()}, row.uniform


def _shown(symbols: Symbol | list[Symbol]) -> str:
    if isinstance(symbols, list):
        return "[" + ", ".join(_shown(symbol) for symbol in symbols) + "]"
    return f'"{symbols}"' if isinstance(symbols, str) else str(symbols)


FORMAT = "fugu-markov-model"
Probabilities = list[float]


def _kind_of_rows(rows: object) -> str:
    return "sparse" if isinstance(rows, list) and rows and isinstance(rows[0], dict) else "dense"


Transition = Annotated[
    Annotated[list[Probabilities], Tag("dense")] | Annotated[list[Row], Tag("sparse")],
    Discriminator(_kind_of_rows),
]


class Learned(Section):
    """Say where a model comes from; what was counted is not kept.

    `alphabet` says whether somebody declared the order of its symbols.
    """

    source: str
    date: str
    alphabet: Literal["declared", "sorted"]


class Ends(Section):
    """Hold the ends of intervals, one for each probability of the same place."""

    low: list[Any]
    high: list[Any]


class Intervals(Section):
    """Hold intervals around the probabilities of a matrix and its first symbol.

    `confidence` is there where they were learned.
    """

    confidence: float | None = Field(default=None, gt=0, lt=1)
    prior: Ends
    transition: Ends

    def around(self, model: MarkovModel) -> ModelIntervals:
        """Return them, wide enough for the model itself; `ValueError` where they have no sense."""
        n = model.symbols
        first = _read_ends("prior", self.prior, (n,))
        rows = _read_ends("transition", self.transition, (n, n))
        return ModelIntervals(
            np.minimum(first[0], model.prior),
            np.maximum(first[1], model.prior),
            np.minimum(rows[0], model.transition),
            np.maximum(rows[1], model.transition),
            self.confidence,
        )


def _read_ends(name: str, ends: Ends, shape: tuple[int, ...]) -> tuple[Floats, Floats]:
    low, high = _numbers(name, ends.low, shape), _numbers(name, ends.high, shape)
    right = (low >= 0.0) & (low <= high) & (high <= 1.0)
    if not right.all():
        place = np.argwhere(~right)[0].tolist()
        row = f" row {place[0]}" if len(place) > 1 else ""
        raise ValueError(
            f"intervals.{name}{row}: every interval must go from its low end, 0 or more, up to its "
            f"high end, at most 1 (column {place[-1]})"
        )
    return low, high


def _numbers(name: str, given: object, shape: tuple[int, ...]) -> Floats:
    try:
        ends = np.array(given, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.empty(0)
    if ends.shape != shape:
        raise ValueError(f"intervals.{name}: write a number for each probability of {name}")
    return ends


class ModelFile(Section):
    """Hold the content of a model file, not yet checked as probabilities."""

    format: Literal["fugu-markov-model"]
    format_version: Literal[2]
    description: str = ""
    learned: Learned | None = None
    alphabet: list[str] | list[int]
    prior: Literal["uniform"] | Probabilities
    transition: Transition
    smoothing: float = Field(default=0.001, ge=0.0, le=0.5)
    intervals: Intervals | None = None

    @checked(mode="after")
    def _check(self) -> Self:
        if len(set(self.alphabet)) != len(self.alphabet):
            raise ValueError("alphabet: every symbol may be listed once")
        return self

    @property
    def sparse_rows(self) -> list[Row] | None:
        """Return the rows, unless they are a matrix."""
        rows = [row for row in self.transition if isinstance(row, Row)]
        return rows or None

    @property
    def has_sorted_alphabet(self) -> bool:
        """Return whether learning has put the symbols in order."""
        return self.learned is not None and self.learned.alphabet == "sorted"

    def model(self) -> Model:
        """Return the model; `ValueError` names the row that is not a probability distribution."""
        size, rows = len(self.alphabet), self.sparse_rows
        prior = [1.0 / size] * size if self.prior == "uniform" else self.prior
        if rows is not None:
            return sparse_model(self.alphabet, prior, rows, self.smoothing)
        matrix = [row for row in self.transition if isinstance(row, list)]
        model = MarkovModel.smoothed(prior, matrix, self.smoothing)
        if model.symbols != size:
            raise ValueError(f"transition: {model.symbols} symbols, but alphabet lists {size}")
        return model


def read_json(path: Path) -> object:
    """Read a file of JSON; `ConfigurationError` names the file and the line."""
    try:
        return orjson.loads(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read ({error.strerror})") from None
    except orjson.JSONDecodeError as error:
        raise ConfigurationError(f"{path}:{error.lineno}: is not valid JSON") from None


def read_model_file(path: Path) -> ModelFile:
    """Read a model file; `ConfigurationError` names the file and what is wrong."""
    if not path.exists():
        raise ConfigurationError(
            f"{path} cannot be read (No such file or directory). Write the path of a model file: "
            "fugu model learn makes one from public data, and fugu init writes an example of one"
        )
    try:
        return ModelFile.model_validate(read_json(path))
    except ValidationError as error:
        raise ConfigurationError(f"{path}: {_problem(dict(error.errors()[0]))}") from None


def read_model(path: Path, alphabet: list[str] | list[int]) -> Model:
    """Return the model in `path`, which must have exactly the pipeline's alphabet, in its order."""
    try:
        content = read_model_file(path)
        if content.alphabet != alphabet:
            raise ConfigurationError(
                f"{path} is about another alphabet than operator.alphabet; both must list the same "
                "symbols in the same order"
            )
        return content.model()
    except ConfigurationError as error:
        raise ConfigurationError(f"operator.model: {error}") from None
    except ValueError as error:
        raise ConfigurationError(f"operator.model: {path}: {error}") from None


def _problem(item: dict[str, Any]) -> str:
    location = [part for part in item["loc"] if part not in ("dense", "sparse")]
    match location:
        case []:
            context = item.get("ctx", {})
            return str(context.get("error", "write a JSON object: its first key is format"))
        case ["prior", *_]:
            return 'prior: write "uniform" or a list of numbers'
        case ["transition", int(row), "to", str(symbol), *_]:
            return f'transition row {row}, column "{symbol}": write a number'
        case ["transition", int(row), *rest] if "sparse" in item["loc"]:
            key = f", {rest[0]}" if rest else ""
            return f'transition row {row}{key}: write {{"from": SYMBOL, "to": {{SYMBOL: NUMBER}}}}'
        case ["transition", int(row), *_]:
            return f"transition row {row}: write a list of numbers"
    name = ".".join(str(part) for part in location)
    if item["type"] == "extra_forbidden":
        return f"{name}: unknown key; delete it"
    return f"{name}: {in_words(item)}"
