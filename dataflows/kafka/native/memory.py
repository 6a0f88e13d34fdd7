"""Read and copy memory that is known by its address, in compiled code.

Who calls these has proved that what they reach is there.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

Generated = tuple[Any, Callable[..., Any]]

_copying: Any = cgutils.raw_memcpy


def _inserted(generate: Callable[..., Generated]) -> Any:
    """Make a function of which compiled code gets the instructions."""
    return intrinsic(generate)


@_inserted
def word_at(context: Any, address: Any) -> Generated:
    """Read eight bytes, as an integer."""
    return types.int64(types.uint64), _loading(64)


@_inserted
def half_word_at(context: Any, address: Any) -> Generated:
    """Read four bytes, as an integer."""
    return types.int32(types.uint64), _loading(32)


@_inserted
def byte_at(context: Any, address: Any) -> Generated:
    """Read one byte."""
    return types.uint8(types.uint64), _loading(8)


@_inserted
def set_word_at(context: Any, address: Any, word: Any) -> Generated:
    """Write eight bytes, at an address that is a multiple of eight: nobody reads half of it."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.store(arguments[1], builder.inttoptr(arguments[0], ir.IntType(64).as_pointer()))
        return context.get_dummy_value()

    return types.void(types.uint64, types.int64), generate


@_inserted
def copied(context: Any, target: Any, source: Any, length: Any) -> Generated:
    """Copy bytes from one place to another; the two do not overlap."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        byte = ir.IntType(8).as_pointer()
        target, source = (builder.inttoptr(place, byte) for place in arguments[:2])
        _copying(builder, target, source, arguments[2], 1)
        return context.get_dummy_value()

    return types.void(types.uint64, types.uint64, types.uint64), generate


def _loading(bits: int) -> Callable[..., Any]:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        pointer = builder.inttoptr(arguments[0], ir.IntType(bits).as_pointer())
        return builder.load(pointer, align=1)

    return generate
