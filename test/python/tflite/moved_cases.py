"""Operators that move or choose elements, on integers with a scale and a zero point: the integers are moved as they
are, and a border is the zero point."""

import numpy as np
from lite_cases import CASES, Case, i32
from shape_cases import depth_to_space, space_to_depth

LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
HOW = {"int8": (0.1, -7), "uint8": (0.1, 120), "int16": (0.01, 0)}  # scale, zero point


def integers(rng, shape, dtype):
    low, high = LIMITS[dtype]
    return rng.integers(low, high + 1, shape).astype(dtype)


def moved(op, shapes, constants, results, expect, dtypes="int8 uint8 int16", *, first=True, result_type=None, name="",
          **options):  # fmt: skip
    """A case for each of these types. shapes: of the inputs. constants: arrays of indices, or functions of a type and a
    zero point. expect: of the inputs and the zero point. first: the inputs come before the constants."""
    for dtype in dtypes.split():
        scale, zero = HOW[dtype]

        def build(model, rng, dtype=dtype, scale=scale, zero=zero):
            quantised = {"scale": scale, "zero": zero}
            inputs = [model.input(f"x{i}", shape, dtype, **quantised) for i, shape in enumerate(shapes)]
            rest = []
            for place, one in enumerate(constants):
                made = one(dtype, zero) if callable(one) else one
                rest.append(model.constant(f"c{place}", made, **(quantised if str(made.dtype) == dtype else {})))
            types = result_type or [dtype] * len(results)
            outs = [model.tensor(f"y{i}", result, kind, **(quantised if kind == dtype else {}))
                    for i, (result, kind) in enumerate(zip(results, types, strict=True))]  # fmt: skip
            model.op(op, [*inputs, *rest] if first else [*rest, *inputs], outs, **options)
            model.outputs(*outs)
            return [integers(rng, shape, dtype) for shape in shapes]

        def wanted(*xs, zero=zero):
            made = expect(*xs, zero)
            return made if isinstance(made, tuple) else (made,)

        CASES.append(Case(f"{name or op} moved {dtype}", build, wanted, True))


def block(x, size):
    """SPACE_TO_BATCH_ND of blocks of this size."""
    return np.concatenate([x[:, i::size, j::size] for i in range(size) for j in range(size)])


BYTES = "int8 uint8"
moved("DEPTH_TO_SPACE", [[1, 2, 3, 8]], [], [[1, 4, 6, 2]], lambda x, z: depth_to_space(x, 2), BYTES, block_size=2)
moved("SPACE_TO_DEPTH", [[1, 4, 6, 2]], [], [[1, 2, 3, 8]], lambda x, z: space_to_depth(x, 2), BYTES, block_size=2)
moved("SPACE_TO_BATCH_ND", [[1, 4, 5, 2]], [i32(2, 2), i32([0, 0], [0, 1])], [[4, 2, 3, 2]],
      lambda x, z: block(np.pad(x, ((0, 0), (0, 0), (0, 1), (0, 0)), constant_values=z), 2))  # fmt: skip
moved("BATCH_TO_SPACE_ND", [[4, 2, 3, 2]], [i32(2, 2), i32([0, 0], [0, 0])], [[1, 4, 6, 2]],
      lambda x, z: x.reshape(2, 2, 2, 3, 2).transpose(2, 0, 3, 1, 4).reshape(1, 4, 6, 2))  # fmt: skip
moved("GATHER", [[4, 6, 2]], [i32([5, 0], [2, 2])], [[4, 2, 2, 2]], lambda x, z: x[:, [[5, 0], [2, 2]]], axis=1)
moved("GATHER_ND", [[4, 6]], [i32([3, 5], [0, 1])], [[2]], lambda x, z: x[[3, 0], [5, 1]])
moved("TRANSPOSE", [[2, 3, 4, 5]], [i32(0, 3, 1, 2)], [[2, 5, 3, 4]], lambda x, z: x.transpose(0, 3, 1, 2))
moved("SQUEEZE", [[1, 3, 1, 4]], [], [[3, 1, 4]], lambda x, z: x[0], squeeze_dims=[0])
moved("RESHAPE", [[3, 4]], [i32(2, 6)], [[2, 6]], lambda x, z: x.reshape(2, 6))
moved("EXPAND_DIMS", [[3, 4]], [i32(-1)], [[3, 4, 1]], lambda x, z: x[..., None])
moved("STRIDED_SLICE", [[4, 6]], [i32(3, 1), i32(0, 6), i32(-1, 2)], [[3, 3]], lambda x, z: x[3:0:-1, 1:6:2])
moved("SLICE", [[4, 6]], [i32(1, 2), i32(-1, 3)], [[3, 3]], lambda x, z: x[1:, 2:5])
moved("SPLIT", [[4, 6]], [i32(1)], [[4, 2]] * 3, lambda x, z: tuple(np.split(x, 3, 1)), first=False, num_splits=3)
moved("SPLIT_V", [[4, 6]], [i32(1, -1, 2), i32(1)], [[4, 1], [4, 3], [4, 2]],
      lambda x, z: tuple(np.split(x, [1, 4], 1)), num_splits=3)  # fmt: skip
moved("PACK", [[3, 4]] * 2, [], [[3, 2, 4]], lambda a, b, z: np.stack([a, b], 1), values_count=2, axis=1)
moved("UNPACK", [[3, 2]], [], [[3], [3]], lambda x, z: (x[:, 0], x[:, 1]), BYTES, num=2, axis=1)
moved("CONCATENATION", [[3, 4], [3, 2]], [], [[3, 6]], lambda a, b, z: np.concatenate([a, b], 1), axis=-1)
moved("PAD", [[2, 3]], [i32([1, 2], [0, 3])], [[5, 6]],
      lambda x, z: np.pad(x, ((1, 2), (0, 3)), constant_values=z))  # fmt: skip
moved("PADV2", [[2, 3]], [i32([1, 0], [2, 0]), lambda dtype, zero: np.dtype(dtype).type(zero + 3)], [[3, 5]],
      lambda x, z: np.pad(x, ((1, 0), (2, 0)), constant_values=z + 3), BYTES)  # fmt: skip
for number, mode in enumerate(("reflect", "symmetric")):
    moved("MIRROR_PAD", [[3, 4]], [i32([1, 2], [2, 1])], [[6, 7]],
          lambda x, z, mode=mode: np.pad(x, ((1, 2), (2, 1)), mode=mode), "int8", mode=number,
          name=f"MIRROR_PAD {mode}")  # fmt: skip
moved("TILE", [[2, 3]], [i32(2, 3)], [[4, 9]], lambda x, z: np.tile(x, (2, 3)), BYTES)
moved("BROADCAST_TO", [[3, 1]], [i32(2, 3, 4)], [[2, 3, 4]], lambda x, z: np.broadcast_to(x, (2, 3, 4)), version=2)
moved("REVERSE_V2", [[4, 6]], [i32(1)], [[4, 6]], lambda x, z: x[:, ::-1], BYTES)
moved("REVERSE_SEQUENCE", [[2, 5]], [i32(3, 5)], [[2, 5]],
      lambda x, z: np.stack([np.concatenate([x[0, 2::-1], x[0, 3:]]), x[1, ::-1]]), "uint8 int16", seq_dim=1,
      batch_dim=0)  # fmt: skip
moved("ARG_MAX", [[4, 6]], [i32(1)], [[4]], lambda x, z: x.argmax(1).astype(np.int32), BYTES, result_type=["int32"],
      output_type=2)  # fmt: skip
moved("ARG_MIN", [[4, 6]], [i32(0)], [[6]], lambda x, z: x.argmin(0).astype(np.int32), BYTES, result_type=["int32"],
      output_type=2)  # fmt: skip
moved("TOPK_V2", [[3, 8]], [np.int32(3)], [[3, 3]] * 2,
      lambda x, z: (-np.sort(-x.astype(int))[:, :3], np.argsort(-x.astype(int), kind="stable")[:, :3].astype(np.int32)),
      "int8", result_type=["int8", "int32"])  # fmt: skip
moved("MAXIMUM", [[3, 4], [3, 1]], [], [[3, 4]], lambda a, b, z: np.maximum(a, b))
moved("MINIMUM", [[3, 4], [3, 1]], [], [[3, 4]], lambda a, b, z: np.minimum(a, b))
moved("REDUCE_MAX", [[2, 4, 3]], [i32(1)], [[2, 3]], lambda x, z: x.max(1), keep_dims=False)
moved("REDUCE_MIN", [[2, 4, 3]], [i32(1)], [[2, 1, 3]], lambda x, z: x.min(1, keepdims=True), keep_dims=True)
moved("SELECT_V2", [[3, 4], [3, 4]], [np.array([[True], [False], [True]])], [[3, 4]],
      lambda a, b, z: np.where([[True], [False], [True]], a, b), first=False)  # fmt: skip
moved("RESIZE_NEAREST_NEIGHBOR", [[1, 3, 4, 2]], [i32(6, 8)], [[1, 6, 8, 2]],
      lambda x, z: x.repeat(2, 1).repeat(2, 2), align_corners=False, half_pixel_centers=False)  # fmt: skip
moved("DYNAMIC_UPDATE_SLICE", [[4, 5], [2, 3]], [i32(1, 2)], [[4, 5]],
      lambda x, y, z: np.vstack([x[:1], np.hstack([x[1:3, :2], y]), x[3:]]), "int8")  # fmt: skip
moved("SHAPE", [[3, 4]], [], [[2]], lambda x, z: np.int32([3, 4]), "int8", result_type=["int32"], out_type=2)
