"""The fused ladder on tiles of 16 rows and 64 centers, compiled by numba: distances, one exp, squarings, weighted sums.

A tile never leaves the first cache. Every loop runs over centers with constant strides and has no sum across lanes, so
that LLVM makes vector instructions of it without being allowed to change the order of a sum. Needs the extra `fast`;
imported by nothing but `fused`.
"""

import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types

from densdiff.core.scaling import FloatArray
from densdiff.engines.compiling import compiled, compiled_on_disk, instruction, prefer_wide_vectors

TILE = 64  # centers
TILE_ROWS = 16  # fewer would be ruled by the cost of a call, more leave the first cache
COLUMNS, COLUMNS_DIRECT = 4, 2  # taken at once: columns must be padded to multiples of these
RUNGS = 5  # levels of the ladder taken at once, in registers
_QUAD = 4  # rows taken at once: one load and one store of a sum serves four products
_X86 = platform.machine().lower() in {"x86_64", "amd64"}
_FLUSH = 0x8040  # the bits of MXCSR that take denormal numbers as 0, in results and in operands

# 2^r = 1 + r (c1 + r (c2 + ...)) on [-1/2, 1/2], by interpolation of (2^r - 1) / r at 10 Chebyshev points in 40 digits:
# relative error 7e-16, of which 2e-16 are the polynomial's.
_C1, _C2, _C3, _C4, _C5 = (
    0.6931471805599462,
    0.24022650695910075,
    0.05550410866465167,
    0.009618129107618665,
    0.0013333558200794592,
)
_C6, _C7, _C8, _C9, _C10 = (
    0.00015403530424776529,
    1.5252672924850737e-05,
    1.3215451633221434e-06,
    1.0205905413765595e-07,
    7.070977866508138e-09,
)
_ROUND = 1.5 * 2.0**52  # added to a number, its low bits are the nearest integer
_LEAST = -1023.0  # 2^-1023 comes out as 0 exactly, because its exponent bits do


def _call_with_slot(builder: Any, name: str, slot: Any) -> None:
    pointer = builder.bitcast(slot, ir.IntType(8).as_pointer())
    kind = ir.FunctionType(ir.VoidType(), [pointer.type])
    builder.call(builder.module.declare_intrinsic(name, (), kind), [pointer])


@instruction
def _status(context: Any) -> Any:
    """How this thread computes (MXCSR); 0 on machines that are not x86, where denormals cost nothing."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if not _X86:
            return ir.Constant(ir.IntType(32), 0)
        slot = builder.alloca(ir.IntType(32))
        _call_with_slot(builder, "llvm.x86.sse.stmxcsr", slot)
        return builder.load(slot)

    return types.int32(), generate


@instruction
def _set_status(context: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        if _X86:
            slot = builder.alloca(ir.IntType(32))
            builder.store(arguments[0], slot)
            _call_with_slot(builder, "llvm.x86.sse.ldmxcsr", slot)
        return context.get_dummy_value()

    return types.none(types.int32), generate


@compiled
def expanded_distances(squared: FloatArray, rows: FloatArray, start: int, tiles: FloatArray, t: int) -> None:
    """Products of 16 rows and 64 centers, which are |x|^2 + |c|^2 - 2xc if rows and centers were packed for it."""
    prefer_wide_vectors()
    tile = tiles[t]
    for i in range(start, start + TILE_ROWS, _QUAD):
        four = squared[(i - start) * TILE :]
        for j in range(0, rows.shape[1], COLUMNS):
            a0, a1, a2, a3 = rows[i, j], rows[i, j + 1], rows[i, j + 2], rows[i, j + 3]
            b0, b1, b2, b3 = rows[i + 1, j], rows[i + 1, j + 1], rows[i + 1, j + 2], rows[i + 1, j + 3]
            c0, c1, c2, c3 = rows[i + 2, j], rows[i + 2, j + 1], rows[i + 2, j + 2], rows[i + 2, j + 3]
            d0, d1, d2, d3 = rows[i + 3, j], rows[i + 3, j + 1], rows[i + 3, j + 2], rows[i + 3, j + 3]
            center = tile[j * TILE :]
            if j == 0:  # nothing to load yet
                for c in range(TILE):
                    x0, x1, x2, x3 = center[c], center[TILE + c], center[2 * TILE + c], center[3 * TILE + c]
                    four[c] = a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                    four[TILE + c] = b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                    four[2 * TILE + c] = c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                    four[3 * TILE + c] = d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3
                continue
            for c in range(TILE):
                x0, x1, x2, x3 = center[c], center[TILE + c], center[2 * TILE + c], center[3 * TILE + c]
                four[c] = four[c] + a0 * x0 + a1 * x1 + a2 * x2 + a3 * x3
                four[TILE + c] = four[TILE + c] + b0 * x0 + b1 * x1 + b2 * x2 + b3 * x3
                four[2 * TILE + c] = four[2 * TILE + c] + c0 * x0 + c1 * x1 + c2 * x2 + c3 * x3
                four[3 * TILE + c] = four[3 * TILE + c] + d0 * x0 + d1 * x1 + d2 * x2 + d3 * x3


@compiled
def direct_distances(squared: FloatArray, rows: FloatArray, start: int, tiles: FloatArray, t: int) -> None:
    """Squared distances of 16 rows and 64 centers by direct differences."""
    prefer_wide_vectors()
    tile = tiles[t]
    for i in range(start, start + TILE_ROWS, _QUAD):
        four = squared[(i - start) * TILE :]
        for c in range(_QUAD * TILE):
            four[c] = 0.0
        for j in range(0, rows.shape[1], COLUMNS_DIRECT):
            a0, b0, c0, d0 = rows[i, j], rows[i + 1, j], rows[i + 2, j], rows[i + 3, j]
            a1, b1, c1, d1 = rows[i, j + 1], rows[i + 1, j + 1], rows[i + 2, j + 1], rows[i + 3, j + 1]
            center = tile[j * TILE :]
            for c in range(TILE):
                x0, x1 = center[c], center[TILE + c]
                four[c] = four[c] + (a0 - x0) * (a0 - x0) + (a1 - x1) * (a1 - x1)
                four[TILE + c] = four[TILE + c] + (b0 - x0) * (b0 - x0) + (b1 - x1) * (b1 - x1)
                four[2 * TILE + c] = four[2 * TILE + c] + (c0 - x0) * (c0 - x0) + (c1 - x1) * (c1 - x1)
                four[3 * TILE + c] = four[3 * TILE + c] + (d0 - x0) * (d0 - x0) + (d1 - x1) * (d1 - x1)


@compiled
def exponentials(psi: FloatArray, squared: FloatArray, scale: float) -> None:
    """psi = 2^(scale * squared) for scale < 0, which numba's own exp does one by one.

    The power is an integer n and a fraction r of at most 1/2: 2^r is a polynomial, and n is added to its exponent bits.
    An expanded square below 0 is not lifted to 0, as the error of that sign is as small as the other's.
    """
    prefer_wide_vectors()
    for c in range(len(squared)):
        power = scale * squared[c]
        power = power if power > _LEAST else _LEAST
        shifted = power + _ROUND
        r = power - (shifted - _ROUND)
        high = _C6 + r * (_C7 + r * (_C8 + r * (_C9 + r * _C10)))
        p = 1.0 + r * (_C1 + r * (_C2 + r * (_C3 + r * (_C4 + r * (_C5 + r * high)))))
        bits = np.float64(p).view(np.int64) + (np.float64(shifted).view(np.int64) << 52)
        psi[c] = np.int64(bits).view(np.float64)


@compiled
def _add_five_levels(all_sums: FloatArray, level: int, psi: FloatArray, weights: FloatArray, start: int) -> None:
    """Add five levels, each the square of the one before; psi is left at the square of the last."""
    prefer_wide_vectors()
    sums = all_sums[level * TILE :]
    for i in range(0, TILE_ROWS, _QUAD):
        four = psi[i * TILE :]
        k = start + i
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for c in range(TILE):
            p0, p1, p2, p3 = four[c], four[TILE + c], four[2 * TILE + c], four[3 * TILE + c]
            for s in range(RUNGS):
                sums[s * TILE + c] = sums[s * TILE + c] + w0 * p0 + w1 * p1 + w2 * p2 + w3 * p3
                p0, p1, p2, p3 = p0 * p0, p1 * p1, p2 * p2, p3 * p3
            four[c], four[TILE + c], four[2 * TILE + c], four[3 * TILE + c] = p0, p1, p2, p3


@compiled
def _add_one_level(all_sums: FloatArray, level: int, psi: FloatArray, weights: FloatArray, start: int) -> None:
    """Add one level."""
    prefer_wide_vectors()
    sums = all_sums[level * TILE :]
    for i in range(0, TILE_ROWS, _QUAD):
        four = psi[i * TILE :]
        k = start + i
        w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
        for c in range(TILE):
            sums[c] = sums[c] + w0 * four[c] + w1 * four[TILE + c] + w2 * four[2 * TILE + c] + w3 * four[3 * TILE + c]


@compiled
def _square(psi: FloatArray) -> None:
    prefer_wide_vectors()
    for c in range(len(psi)):
        psi[c] = psi[c] * psi[c]


@compiled
def _add_levels(
    sums: FloatArray,
    psi: FloatArray,
    squared: FloatArray,
    weights: FloatArray,
    start: int,
    scales: FloatArray,
    plan: Any,
) -> None:
    """Add all levels of one tile; plan has the squarings that lead to each, 0 for a new exp.

    Slices are left to the loops, where numba does not count references to them: a tenth of the time.
    """
    level, ahead = 0, 0
    while level < len(plan):
        if plan[level] == 0:
            exponentials(psi, squared, scales[level])
        for _ in range(plan[level] - ahead):
            _square(psi)
        five = level + RUNGS <= len(plan)
        for s in range(level + 1, min(level + RUNGS, len(plan))):
            five = five and plan[s] == 1
        if five:
            _add_five_levels(sums, level, psi, weights, start)
        else:
            _add_one_level(sums, level, psi, weights, start)
        ahead = 1 if five else 0
        level += RUNGS if five else 1


@compiled
def pack_rows(rows: FloatArray, columns: int, direct: bool) -> Any:
    """Rows of zeros added to fill the last tile, columns to make the products: (16 k, q)."""
    n, d = rows.shape
    filled = np.zeros((-(-n // TILE_ROWS) * TILE_ROWS, columns))
    for i in range(n):
        norm = 0.0
        for j in range(d):
            filled[i, j] = rows[i, j]
            norm += rows[i, j] * rows[i, j]
        if not direct:  # times (-2c, 1, |c|^2): the squared distance
            filled[i, d] = norm
            filled[i, d + 1] = 1.0
    return filled


@compiled_on_disk
def block_sums(
    rows: FloatArray, weights: FloatArray, tiles: FloatArray, scales: FloatArray, plan: Any, direct: bool
) -> Any:
    """Sums of w_i psi_l(x_i) over rows (k, d) for centers in tiles (t, q * 64): (S, t * 64).

    Denormal numbers are taken as 0 meanwhile: squarings produce them, each costs a hundred times a product, and all of
    them together are below 1e-307 times the weights.
    """
    filled, levels = pack_rows(rows, tiles.shape[1] // TILE, direct), len(plan)
    filled_weights = np.zeros(len(filled))
    filled_weights[: len(rows)] = weights
    squared, psi = np.empty(TILE_ROWS * TILE), np.empty(TILE_ROWS * TILE)
    sums, result = np.empty(levels * TILE), np.empty((levels, len(tiles) * TILE))
    status = _status()
    _set_status(status | _FLUSH)
    for t in range(len(tiles)):
        sums[:] = 0.0
        for i in range(0, len(filled), TILE_ROWS):
            if direct:
                direct_distances(squared, filled, i, tiles, t)
            else:
                expanded_distances(squared, filled, i, tiles, t)
            _add_levels(sums, psi, squared, filled_weights, i, scales, plan)
        for s in range(levels):
            for c in range(TILE):
                result[s, t * TILE + c] = sums[s * TILE + c]
    _set_status(status)
    return result
