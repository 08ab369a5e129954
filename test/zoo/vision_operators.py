"""torchvision with operators of its own written in PyTorch: its package's library wants CUDA's, which are not here.

The schemas are torchvision's, and so are the fake implementations, which it registers itself. What eager computes with
them is what a run is compared with; they are slow.
"""

import importlib.util
import pathlib
import sys
import types
import unittest.mock

import torch

SCHEMAS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qroi_align": "(Tensor input, Tensor rois, float input_scale, int input_zero_point, float rois_scale, "
    "int rois_zero_point, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, "
    "bool aligned) -> Tensor",
    "roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width)"
    " -> (Tensor, Tensor)",
    "ps_roi_align": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool": "(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width)"
    " -> (Tensor, Tensor)",
    "deform_conv2d": "(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, "
    "SymInt offset_groups, bool use_mask) -> Tensor",
    "_roi_align_backward": "(Tensor grad, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, "
    "SymInt batch_size, SymInt channels, SymInt height, SymInt width, int sampling_ratio, bool aligned) -> Tensor",
    "_roi_pool_backward": "(Tensor grad, Tensor rois, Tensor argmax, float spatial_scale, SymInt pooled_height, "
    "SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width) -> Tensor",
    "_ps_roi_align_backward": "(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, int sampling_ratio, SymInt batch_size, SymInt channels, SymInt height, "
    "SymInt width) -> Tensor",
    "_ps_roi_pool_backward": "(Tensor grad, Tensor rois, Tensor channel_mapping, float spatial_scale, "
    "SymInt pooled_height, SymInt pooled_width, SymInt batch_size, SymInt channels, SymInt height, SymInt width)"
    " -> Tensor",
    "_deform_conv2d_backward": "(Tensor grad, Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask) -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
}


def nms(boxes, scores, threshold):
    """The places of the boxes that are kept, best first."""
    order = torch.argsort(scores, descending=True, stable=True)
    boxes = boxes[order]
    areas = (boxes[:, 2:] - boxes[:, :2]).prod(1)
    kept, left = [], torch.ones(len(boxes), dtype=torch.bool)
    for i in range(len(boxes)):
        if not left[i]:
            continue
        kept.append(i)
        corners = torch.maximum(boxes[i, :2], boxes[:, :2]), torch.minimum(boxes[i, 2:], boxes[:, 2:])
        shared = (corners[1] - corners[0]).clamp(min=0).prod(1)
        left &= ~((shared / (areas[i] + areas - shared)).double() > threshold)
    return order[torch.tensor(kept, dtype=torch.int64)]


def _inside(place, extent):
    return (place >= -1) & (place <= extent)


def roi_align(*args):
    """The Python form of torchvision's roi_align, with samples outside the image set to 0 as in the C++ form."""
    form = importlib.import_module("torchvision.ops.roi_align")
    interpolated = form._bilinear_interpolate

    def cut(input, image, y, x, *masks):
        height, width = input.shape[2:]
        are_in = _inside(y, height)[:, None, :, None, :, None] & _inside(x, width)[:, None, None, :, None, :]
        return interpolated(input, image, y, x, *masks) * are_in

    with unittest.mock.patch.object(form, "_bilinear_interpolate", cut):
        return form._roi_align.__wrapped__(*args)


def has_operators() -> bool:  # not a lambda: it is compiled with what TorchScript scripts
    return True


def load_torchvision():
    """Imports torchvision; with its own library, where that can be loaded."""
    package = pathlib.Path(importlib.util.find_spec("torchvision").origin).parent
    try:
        torch.ops.load_library(next(package.glob("_C.*")))
    except OSError:
        for name, schema in SCHEMAS.items():
            torch.library.define(f"torchvision::{name}", schema)
        for name, function in {"nms": nms, "roi_align": roi_align}.items():
            torch.library.impl(f"torchvision::{name}", "CPU", function)
        extension = types.ModuleType("torchvision.extension")
        extension._has_ops, extension._assert_has_ops = has_operators, has_operators
        extension._check_cuda_version, extension._load_library = lambda: -1, lambda name: False
        sys.modules["torchvision.extension"] = extension
    return importlib.import_module("torchvision")
