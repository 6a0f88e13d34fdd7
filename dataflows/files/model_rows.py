"""Read sparse rows of a model file: only what often follows a symbol, or a pair, is listed.

    {"from": "rest", "to": {"rest": 0.9, "light": 0.08}, "uniform": 0.02}
    {"from": ["rest", "light"], "to": {"light": 0.7, "rest": 0.3}}

With probability `uniform` any symbol follows, all alike, and what came before is forgotten; it and
the numbers in `to` sum to 1. Every symbol has a row; a pair without one behaves as its last symbol.
Symbols that are integers are written in quotes in `to`, as JSON has it.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from pydantic import Field

from fugu.dataflows.base.section import Section
from fugu.operators.sip.markov_model import check_entries, smoothed_row
from fugu.operators.sip.second_order_model import SecondOrderModel
from fugu.operators.sip.sparse_markov_model import SparseMarkovModel
from fugu.operators.sip.sparse_rows import SparseRows

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
    """Return the chain; `ValueError` names the row and the column that cannot be."""
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
