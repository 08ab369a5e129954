"""Small graphs of TensorFlow for tensorflow_run.py: shapes, elements by index, sparse tensors, images, boxes."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from tensorflow_cases import K, b, case, f, i, raw

# --- shapes -----------------------------------------------------------------------------------------------------------
raw("Shape", input=f(3, 4))
raw("Shape", "open", open_axes=True, input=f(3, 4))
raw("ShapeN", input=[K([1.0, 2.0]), K([[3.0]])])
raw("Size", input=f(3, 4))
raw("Rank", input=f(3, 4))
raw("Reshape", tensor=f(3, 4), shape=K([2, -1]))
raw("Reshape", "open", open_axes=True, tensor=f(3, 4), shape=K([-1, 2, 2]))
raw("Reshape", "computed", tensor=f(3, 4), shape=np.array([6, 2], np.int32))
raw("Transpose", x=f(2, 3, 4), perm=K([2, 0, 1]))
raw("ExpandDims", input=f(2, 3), axis=K(-1))
raw("Squeeze", input=f(2, 1, 3, 1))
raw("Squeeze", "axes", input=f(2, 1, 3, 1), axis=[-1])
case("Pack", [f(2, 3), f(2, 3)])(lambda x, y: tf.stack([x, y], axis=1))
case("Unpack", [f(2, 3, 4)])(lambda x: tf.unstack(x, axis=1))
case("ConcatV2", [f(2, 3), f(2, 4)])(lambda x, y: tf.concat([x, y], axis=-1))
case("Concat", [f(2, 3), f(2, 4)])(lambda x, y: tf.raw_ops.Concat(concat_dim=1, values=[x, y]))
case("Split", [f(2, 6)])(lambda x: tf.split(x, 3, axis=1))
case("SplitV", [f(2, 6)])(lambda x: tf.split(x, [1, -1, 2], axis=1))
raw("Slice", input=f(3, 4, 5), begin=K([1, 0, 2]), size=K([2, -1, 2]))
raw("Slice", "computed begin", input=f(3, 4), begin=np.array([1, 2], np.int32), size=K([2, 2]))
for _tag, _cut in (
    ("plain", lambda x: x[1:3, ::2]),
    ("shrink", lambda x: x[1, :, -1]),
    ("newaxis", lambda x: x[:, None, 2:]),
    ("ellipsis", lambda x: x[..., 1]),
    ("reverse", lambda x: x[::-1, 3:0:-2]),
    ("negative", lambda x: x[-2:, :-1]),
):
    case(f"StridedSlice {_tag}", [f(4, 5, 6)])(_cut)
case("StridedSlice open", [f(4, 5)], open_axes=True)(lambda x: x[1:, 2])
case("StridedSlice computed", [f(4, 5), np.array(2, np.int32)])(lambda x, n: x[n])
raw("Tile", input=f(2, 3), multiples=K([2, 3]))
raw("Fill", dims=K([2, 3]), value=f())
raw("BroadcastTo", input=f(3, 1), shape=K([2, 3, 4]))
case("BroadcastArgs", [f(3, 1), f(4)])(
    lambda x, y: tf.zeros(tf.raw_ops.BroadcastArgs(s0=tf.shape(x), s1=tf.shape(y))) + x
)
raw("EnsureShape", input=f(3, 4), shape=[None, 4])
raw("Pad", input=f(2, 3), paddings=K([[1, 2], [0, 3]]))
raw("PadV2", input=f(2, 3), paddings=K([[1, 2], [0, 3]]), constant_values=K(1.5))
for _mode in ("REFLECT", "SYMMETRIC"):
    raw("MirrorPad", _mode, input=f(4, 5), paddings=K([[1, 2], [0, 3]]), mode=_mode)
raw("Range", start=K(1), limit=K(9), delta=K(3))
raw("Range", "computed", start=K(1), limit=np.array(9, np.int32), delta=K(3))
raw("LinSpace", start=f(), stop=f(), num=K(7))
raw("ReverseV2", tensor=f(2, 3, 4), axis=K([0, 2]))
raw("ReverseSequence", input=f(3, 4), seq_lengths=np.array([1, 3, 4], np.int32), seq_dim=1, batch_dim=0)
raw("Roll", input=f(3, 4), shift=K([1, -2]), axis=K([0, 1]))
raw("DepthToSpace", input=f(1, 2, 3, 8), block_size=2)
raw("SpaceToDepth", input=f(1, 4, 6, 2), block_size=2)
raw("SpaceToBatchND", input=f(1, 4, 5, 2), block_shape=K([2, 2]), paddings=K([[0, 0], [1, 0]]))
raw("BatchToSpaceND", input=f(4, 2, 3, 2), block_shape=K([2, 2]), crops=K([[0, 0], [1, 0]]))
raw("SpaceToBatch", input=f(1, 4, 6, 2), paddings=K([[0, 0], [0, 0]]), block_size=2)
raw("BatchToSpace", input=f(4, 2, 3, 2), crops=K([[0, 0], [1, 0]]), block_size=2)
raw("UnravelIndex", indices=i(5, low=0, high=12), dims=K([3, 4]))
raw("InvertPermutation", x=np.array([2, 0, 3, 1], np.int32))
raw("OneHot", indices=i(2, 3, low=-1, high=5), depth=K(4), on_value=K(2.0), off_value=K(-1.0))
raw("OneHot", "axis", indices=i(2, 3, low=0, high=4), depth=K(4), on_value=K(1), off_value=K(0), axis=0)

# --- elements by index ------------------------------------------------------------------------------------------------
raw("Gather", params=f(5, 3), indices=i(2, 2, low=0, high=5))
raw("GatherV2", params=f(4, 5, 3), indices=i(2, low=0, high=5), axis=K(1))
raw("GatherV2", "batch", params=f(2, 5, 3), indices=i(2, 4, low=0, high=5), axis=K(1), batch_dims=1)
raw("GatherNd", params=f(4, 5, 3), indices=i(2, 6, 2, low=0, high=4))
raw("ScatterNd", indices=i(6, 1, low=0, high=4), updates=f(6, 3), shape=K([4, 3]))
for _name in "Update Add Sub Max Min".split():
    _places = np.array([[3], [0], [2]], np.int32) if _name == "Update" else i(6, 1, low=0, high=4)
    raw(f"TensorScatter{_name}", tensor=f(4, 3), indices=_places, updates=f(len(_places), 3))
raw("TopKV2", input=f(3, 7), k=K(3))
raw("InTopKV2", predictions=f(3, 7), targets=i(3, low=0, high=7), k=K(3))
raw("Where", condition=b(3, 4))
for _name in "Unique UniqueWithCounts".split():
    raw(_name, x=i(9, low=0, high=4))
raw("UniqueV2", x=i(9, low=0, high=4), axis=K(np.zeros(0, np.int32)))
raw("UniqueWithCountsV2", x=i(9, low=0, high=4), axis=K(np.array([0], np.int32)))
raw("MatrixDiag", diagonal=f(2, 3))
raw("MatrixDiagV3", diagonal=f(2, 3), k=K(0), num_rows=K(-1), num_cols=K(-1), padding_value=K(0.5))
raw("MatrixDiagPart", input=f(2, 3, 4))
raw("MatrixDiagPartV3", input=f(2, 4, 3), k=K(0), padding_value=K(0.0))
raw("MatrixSetDiag", input=f(2, 3, 4), diagonal=f(2, 3))
raw("MatrixSetDiagV3", input=f(2, 3, 4), diagonal=f(2, 3), k=K(0))
raw("MatrixSetDiagV3", "above", input=f(2, 3, 4), diagonal=f(2, 3), k=K(1))
raw("MatrixDiagV2", diagonal=f(2, 3), k=K(0), num_rows=K(-1), num_cols=K(-1), padding_value=K(0.5))
raw("MatrixDiagPartV2", input=f(2, 4, 3), k=K(0), padding_value=K(0.0))
raw("MatrixSetDiagV2", input=f(2, 3, 4), diagonal=f(2, 3), k=K(0))
raw("MatrixBandPart", input=f(2, 4, 5), num_lower=K(1), num_upper=K(-1))
raw("Diag", diagonal=f(3))
raw("DiagPart", input=f(3, 3))
raw("LowerBound", sorted_inputs=np.sort(f(2, 6)), values=f(2, 4))
raw("UpperBound", sorted_inputs=np.sort(i(2, 6).astype(np.float32)), values=i(2, 4).astype(np.float32))
raw("Bucketize", input=f(3, 4), boundaries=[-1.0, 0.0, 0.5])
raw("ListDiff", x=np.array([1, 5, 2, 7, 5], np.int32), y=np.array([5, 9], np.int32))
raw(
    "SparseToDense",
    sparse_indices=np.array([[0, 1], [2, 3]], np.int32),
    output_shape=K([3, 4]),
    sparse_values=f(2),
    default_value=K(0.5),
)
raw(
    "SparseToDense",
    "vector",
    sparse_indices=np.array([0, 2], np.int32),
    output_shape=K([4]),
    sparse_values=K(1.0),
    default_value=K(0.0),
)
raw(
    "SparseTensorDenseAdd",
    a_indices=np.array([[0, 1], [2, 3]], np.int64),
    a_values=f(2),
    a_shape=K(np.array([3, 4])),
    b=f(3, 4),
)
raw(
    "SparseTensorDenseMatMul",
    a_indices=np.array([[0, 1], [2, 3]], np.int64),
    a_values=f(2),
    a_shape=K(np.array([3, 4])),
    b=f(4, 2),
)
raw(
    "SparseReshape",
    input_indices=np.array([[0, 1], [2, 3]], np.int64),
    input_shape=K(np.array([3, 4])),
    new_shape=K(np.array([2, -1])),
)
raw(
    "SparseFillEmptyRows",
    indices=np.array([[0, 1], [2, 3]], np.int64),
    values=f(2),
    dense_shape=K(np.array([4, 4])),
    default_value=f(),
    first=[0, 1, 2],
)

# --- images -----------------------------------------------------------------------------------------------------------
# TensorFlow rounds the places of ResizeBicubic to 1/1024 of a pixel.
for _name in "ResizeBilinear ResizeNearestNeighbor ResizeBicubic".split():
    for _corners, _half in ((False, False), (True, False), (False, True)):
        for _target in ([7, 9], [2, 3]):
            raw(
                _name,
                f"corners={_corners} half={_half} {_target}",
                images=f(2, 4, 5, 3),
                size=K(_target),
                align_corners=_corners,
                half_pixel_centers=_half,
                tolerance=2e-3 if "cubic" in _name else None,
            )
raw(
    "CropAndResize",
    image=f(2, 6, 7, 3),
    boxes=f(3, 4, low=0, high=1),
    box_ind=np.array([0, 1, 1], np.int32),
    crop_size=K([3, 4]),
)
raw(
    "CropAndResize",
    "nearest",
    image=f(2, 6, 7, 3),
    boxes=f(3, 4, low=0, high=1),
    box_ind=np.array([0, 1, 1], np.int32),
    crop_size=K([3, 4]),
    method="nearest",
)
raw(
    "ExtractImagePatches",
    images=f(1, 6, 7, 2),
    ksizes=[1, 3, 2, 1],
    strides=[1, 2, 2, 1],
    rates=[1, 1, 1, 1],
    padding="SAME",
)


def _boxes(*shape):
    corners = f(*shape, 4, low=0, high=1)
    return np.concatenate(
        [np.minimum(corners[..., :2], corners[..., 2:]), np.maximum(corners[..., :2], corners[..., 2:])], -1
    )


raw("NonMaxSuppression", boxes=_boxes(12), scores=f(12, low=0, high=1), max_output_size=K(5), iou_threshold=0.4)
raw("NonMaxSuppressionV2", boxes=_boxes(12), scores=f(12, low=0, high=1), max_output_size=K(5), iou_threshold=K(0.4))
raw(
    "NonMaxSuppressionV3",
    boxes=_boxes(12),
    scores=f(12, low=0, high=1),
    max_output_size=K(8),
    iou_threshold=K(0.4),
    score_threshold=K(0.3),
)
for _pads in (False, True):
    raw(
        "NonMaxSuppressionV4",
        f"pads={_pads}",
        boxes=_boxes(12),
        scores=f(12, low=0, high=1),
        max_output_size=K(8),
        iou_threshold=K(0.2),
        score_threshold=K(0.3),
        pad_to_max_output_size=_pads,
    )
    raw(
        "NonMaxSuppressionV5",
        f"pads={_pads}",
        boxes=_boxes(12),
        scores=f(12, low=0, high=1),
        max_output_size=K(8),
        iou_threshold=K(0.2),
        score_threshold=K(0.3),
        soft_nms_sigma=K(0.0),
        pad_to_max_output_size=_pads,
    )
for _own in (1, 3):
    raw(
        "CombinedNonMaxSuppression",
        f"{_own} boxes",
        boxes=_boxes(2, 10, _own),
        scores=f(2, 10, 3, low=0, high=1),
        max_output_size_per_class=K(4),
        max_total_size=K(7),
        iou_threshold=K(0.3),
        score_threshold=K(0.2),
    )

raw("AdjustContrastv2", images=f(2, 4, 5, 3), contrast_factor=K(1.7))
raw("NthElement", input=f(3, 7), n=K(2))
raw("ParallelConcat", values=[K(f(1, 3)), K(f(1, 3))], shape=[2, 3])
raw("GuaranteeConst", input=f(3))
raw("CheckNumericsV2", tensor=f(3), message="not finite")
raw("TensorScatterAdd", "twice", tensor=f(4), indices=np.array([[1], [1]], np.int32), updates=f(2))
raw("ScatterNdNonAliasingAdd", input=f(4), indices=np.array([[1], [3]], np.int32), updates=f(2))
case("DynamicStitch", [f(2, 3), f(3)])(lambda x, y: tf.dynamic_stitch([[3, 0], 1], [x, y]))
case("DynamicStitch of all", [f(2, 3), f(3)])(lambda x, y: tf.dynamic_stitch([[2, 0], 1], [x, y]))
for _version in "234":
    _more = {"num_bits": K(7) if _version == "3" else 7}
    raw(
        f"QuantizeAndDequantizeV{_version}",
        input=f(3, 5, low=-4, high=4),
        input_min=K(-3.0),
        input_max=K(2.5),
        range_given=True,
        **_more,
    )

# --- complex numbers --------------------------------------------------------------------------------------------------
for _axes in (1, 2):
    _tail = "" if _axes == 1 else "2D"
    case(f"RFFT{_tail}", [f(3, 6, 8)])(
        lambda x, t=_tail: (lambda y: [tf.math.real(y), tf.math.imag(y)])(getattr(tf.signal, f"rfft{t.lower()}")(x))
    )
    case(f"FFT{_tail}, IFFT{_tail}", [f(3, 6, 8), f(3, 6, 8)])(
        lambda x, y, t=_tail: (lambda z: [tf.math.real(z), tf.math.imag(z)])(
            getattr(tf.signal, f"ifft{t.lower()}")(
                getattr(tf.signal, f"fft{t.lower()}")(tf.complex(x, y)) * tf.complex(0.5, 2.0)
            )
        )
    )
    case(f"IRFFT{_tail}", [f(3, 6, 5), f(3, 6, 5)])(
        lambda x, y, t=_tail: getattr(tf.signal, f"irfft{t.lower()}")(tf.complex(x, y))
    )
case("FFT3D, IFFT3D", [f(3, 4, 5)])(lambda x: tf.math.real(tf.signal.ifft3d(tf.signal.fft3d(tf.cast(x, tf.complex64)))))
case("RFFT of another length", [f(3, 6)])(lambda x: tf.abs(tf.signal.rfft(x, [9])))
case("ComplexAbs, Angle, Conj", [f(3, 6), f(3, 6)])(
    lambda x, y: [
        tf.abs(tf.complex(x, y)),
        tf.math.angle(tf.complex(x, y)),
        tf.math.imag(tf.math.conj(tf.complex(x, y))),
    ]
)
case("stft", [f(2, 64)])(lambda x: tf.abs(tf.signal.stft(x, frame_length=16, frame_step=8)))
