"""Read the values of releases into typed columns, as a promise says that they are shown.

Columns are read from JSON by Arrow: no Python runs for a record.
"""

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj

from fugu.dataflows.analysis.running_totals import COLUMNS, NOISE
from fugu.dataflows.base.errors import CannotBeEstimated
from fugu.dataflows.publishing.promise import Promise
from fugu.operators.mechanism import Array, Integers, Kind, Releases
from fugu.operators.responses.hadamard_response import HadamardResponse

_BLOCK = 64 * 1024 * 1024
_FLOAT, _TEXT, _FLAG = pa.float64(), pa.string(), pa.bool_()
_BESIDE: Mapping[str, Mapping[str, pa.DataType]] = {
    "symbol": {"confidence": _FLOAT, "repeated": _FLAG},
    "symbols": {"confidence": _FLOAT, "repeated": _FLAG},
    "set": {"repeated": _FLAG},
    "report": {"epsilon": _FLOAT, "repeated": _FLAG},
    "half": {"repeated": _FLAG},
    "number": {"repeated": _FLAG},
    "series": {"standard_error": _FLOAT, "predicted": _FLAG},
    "payload": {"tick": pa.int64(), "epoch": pa.int64(), "phase": _TEXT, "empty": _FLAG},
    "figures": {
        "start": pa.int64(),
        "standard_error": _FLOAT,
        "published": _FLAG,
        "predicted": _FLAG,
        "status": _TEXT,
    },
}
_FRESH_STATUS = pa.array(["sampled", "exact", "noisy", "measured"])


def alphabet_of(promise: Promise) -> list[str] | list[int] | None:
    """Return the symbols, or groups, in the order of their numbers."""
    found: Any = promise.operator.get("alphabet") or promise.operator.get("groups")
    return None if found is None else list(found)


def decoded(content: pa.ChunkedArray, promise: Promise) -> pa.Table:
    """Return `value`, `kind` and whatever else releases show, one row for each content.

    People of a window are shown as the JSON that was released.
    """
    form = promise.released_as
    if form == "person":
        return pa.table({"value": content.cast(_TEXT), "kind": pa.array(["fresh"] * len(content))})
    symbol = pa.int64() if isinstance((alphabet_of(promise) or [""])[0], int) else _TEXT
    shown = {"symbol": symbol, "half": pa.list_(pa.int64())}.get(form, pa.list_(symbol))
    name, kind_of_value = promise.fields[0], shown
    if form in ("number", "series", "figures"):
        name, kind_of_value = ("value" if form != "number" else name), _FLOAT
    fields = dict(_BESIDE[form])
    if form == "figures" and alphabet_of(promise) is not None:
        fields["group"] = symbol
    if promise.noise == NOISE:
        fields |= COLUMNS
    if form == "payload":
        name, kind_of_value = "value", _payload_type(content)
    schema = pa.schema({name: kind_of_value, **fields})
    table = _parsed(content, schema)
    kept = [one for one in fields if one not in ("repeated", "predicted", "published", "empty")]
    columns = {"value": table[name], "kind": _kinds(table, form)}
    return pa.table(columns | {one: table[one] for one in kept})


def _parsed(content: pa.ChunkedArray, schema: pa.Schema) -> pa.Table:
    """Read one JSON object for each content; keys that the schema does not name are left out."""
    parts = []
    for chunk in content.chunks:
        whole = pc.binary_join_element_wise(chunk, pa.scalar(b"\n"), pa.scalar(b""))
        start, end = whole.offset, whole.offset + len(whole)
        offsets = np.frombuffer(whole.buffers()[1], dtype=np.int32)
        lines = memoryview(whole.buffers()[2] or b"")[offsets[start] : offsets[end]]
        if len(whole) == 0:
            continue
        try:
            part = pj.read_json(
                io.BytesIO(lines),
                pj.ReadOptions(block_size=_BLOCK),
                pj.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
            )
        except pa.ArrowInvalid:
            part = None
        if part is None or len(part) != len(whole):
            raise CannotBeEstimated(
                "a record does not hold what the promise says that releases hold; is the promise "
                "that of this topic?"
            ) from None
        parts.append(part)
    return pa.concat_tables(parts) if parts else schema.empty_table()


def _payload_type(content: pa.ChunkedArray) -> pa.DataType:
    """Return a number for payloads of one number, else what Arrow finds."""
    head = content.slice(0, 1_000).combine_chunks()
    lines = b"\n".join(part or b"{}" for part in head.to_pylist())
    try:
        found = pj.read_json(io.BytesIO(lines)).schema if lines else pa.schema({})
    except pa.ArrowInvalid:
        return _TEXT
    place = found.get_field_index("value")
    kind = _FLOAT if place < 0 else found.field(place).type
    return _FLOAT if pa.types.is_integer(kind) or pa.types.is_null(kind) else kind


def _kinds(table: pa.Table, form: str) -> pa.Array:
    """Return `fresh`, or why a release says nothing new: `repeated`, `predicted` or `empty`."""
    names = table.column_names
    nothing = pa.nulls(len(table), _FLAG)

    def said(name: str) -> Any:
        return pc.fill_null(table[name] if name in names else nothing, False)

    kinds = pc.if_else(said("repeated"), "repeated", "fresh")
    if form == "figures":
        published = pc.fill_null(table["published"], True)
        status = pc.fill_null(pc.is_in(table["status"], value_set=_FRESH_STATUS), False)
        told = pc.or_(pc.is_null(table["status"]), status)
        kinds = pc.if_else(pc.and_(published, told), kinds, "repeated")
    kinds = pc.if_else(said("predicted"), "predicted", kinds)
    return pc.if_else(said("empty"), "empty", kinds)


def releases_of(records: pa.Table, promise: Promise) -> Releases:
    """Return the releases of symbols as mechanisms number them."""
    alphabet = alphabet_of(promise)
    assert alphabet is not None
    kinds = np.where(is_fresh(records), Kind.FRESH, Kind.REPEATED)
    values, notes = records["value"].unify_dictionaries().combine_chunks(), {}
    if "epsilon" in records.column_names:
        notes["epsilon"] = records["epsilon"].to_numpy()
    match promise.released_as:
        case "symbol":
            shown: Array = _numbers(values, alphabet)
        case "symbols":
            shown = _lists(values, alphabet)
        case "set" | "report":
            shown = _bits(values, alphabet)
        case "half":
            pairs = values.flatten().to_numpy().reshape(-1, 2)
            signs = (pairs[:, 1] + 1) // 2
            shown = HadamardResponse(len(alphabet), 1.0).decoded(pairs[:, 0], signs)
        case form:
            raise CannotBeEstimated(f"shares: {promise.law.kind} releases no symbols ({form})")
    return Releases(shown, notes, kinds.astype(np.int64))


def is_fresh(records: pa.Table) -> Array:
    """Return which releases say something new."""
    flags = [_codes(chunk, pa.array(["fresh"])) == 0 for chunk in records["kind"].chunks]
    return np.concatenate([np.zeros(0, dtype=bool), *flags])


def _codes(column: pa.Array, among: pa.Array) -> Integers:
    """Return the place of each value, -1 for others; those of a dictionary are looked up once."""
    if pa.types.is_dictionary(column.type):
        places = _codes(column.dictionary, among)
        return np.asarray(places[column.indices.to_numpy()])
    places = pc.index_in(column, value_set=among.cast(column.type))
    return np.asarray(pc.fill_null(places, -1).to_numpy(zero_copy_only=False).astype(np.int64))


def _numbers(symbols: pa.Array, alphabet: Sequence[str] | Sequence[int]) -> Integers:
    places = _codes(symbols, pa.array(alphabet))
    if (places < 0).any():
        raise CannotBeEstimated(
            "a record holds a symbol that is not in the alphabet of the promise; is the promise "
            "that of this topic?"
        )
    return places


def _lists(values: pa.Array, alphabet: Sequence[str] | Sequence[int]) -> Integers:
    """Return rows of symbols, filled up with -1."""
    lengths = pc.list_value_length(values).to_numpy()
    numbers = _numbers(values.flatten(), alphabet)
    shown = np.full((len(values), int(lengths.max(initial=0))), -1, dtype=np.int64)
    rows = np.repeat(np.arange(len(values)), lengths)
    begins = np.repeat(np.cumsum(lengths) - lengths, lengths)
    shown[rows, np.arange(len(numbers)) - begins] = numbers
    return shown


def _bits(values: pa.Array, alphabet: Sequence[str] | Sequence[int]) -> Array:
    lengths = pc.list_value_length(values).to_numpy()
    bits = np.zeros((len(values), len(alphabet)), dtype=bool)
    bits[np.repeat(np.arange(len(values)), lengths), _numbers(values.flatten(), alphabet)] = True
    return bits
