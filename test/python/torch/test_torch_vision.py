"""torchvision's operators compared with plain PyTorch code. Without torchvision, the test registers their schemas."""

import math

import numpy as np
import pytest
from forms import each_nth

import relay

torch = pytest.importorskip("torch")
nn = torch.nn

SCHEMAS = """
nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor
roi_align(Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width, int sampling_ratio, bool aligned) -> Tensor
deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor
"""  # noqa: E501


def nms(boxes, scores, threshold):
    kept = []
    for i in torch.argsort(scores, descending=True, stable=True).tolist():
        a = boxes[i]
        for k in kept:
            b = boxes[k]
            meet = (torch.minimum(a[2:], b[2:]) - torch.maximum(a[:2], b[:2])).clamp(min=0).prod()
            overlap = meet / ((a[2:] - a[:2]).prod() + (b[2:] - b[:2]).prod() - meet)
            if overlap.item() > threshold:  # in double precision, as torchvision does
                break
        else:
            kept.append(i)
    return torch.tensor(kept, dtype=torch.int64)


def sampled(image, y, x):
    """(channels,) between the pixels around a position; zero more than a pixel outside."""
    height, width = image.shape[1:]
    if not (-1 <= y <= height and -1 <= x <= width):
        return torch.zeros(image.shape[0])
    y, x = min(max(y, 0), height - 1), min(max(x, 0), width - 1)
    top, left = int(y), int(x)
    bottom, right, v, u = min(top + 1, height - 1), min(left + 1, width - 1), y - top, x - left
    rows = [image[:, row, left] * (1 - u) + image[:, row, right] * u for row in (top, bottom)]
    return rows[0] * (1 - v) + rows[1] * v


def roi_align(data, rois, scale, height, width, samples, aligned):
    out = torch.zeros(len(rois), data.shape[1], height, width)
    for r, (image, *corners) in enumerate(rois.tolist()):
        x0, y0, x1, y1 = (one * scale - 0.5 * aligned for one in corners)
        tall, wide = (y1 - y0, x1 - x0) if aligned else (max(y1 - y0, 1), max(x1 - x0, 1))
        down = samples if samples > 0 else max(math.ceil(tall / height), 0)
        across = samples if samples > 0 else max(math.ceil(wide / width), 0)
        for i in range(height):
            for j in range(width):
                for p in range(down):
                    for q in range(across):
                        y = y0 + (i + (p + 0.5) / down) * tall / height
                        x = x0 + (j + (q + 0.5) / across) * wide / width
                        out[r, :, i, j] += sampled(data[int(image)], y, x) / (down * across)
    return out


def deform_conv2d(data, weight, offset, mask, bias, *how):
    (sy, sx, py, px, dy, dx, groups, offset_groups), use_mask = how[:8], how[8]
    outputs, per_group, kh, kw = weight.shape
    n, channels = data.shape[:2]
    height, width = offset.shape[2:]
    out = torch.zeros(n, outputs, height, width)

    def pixel(image, y, x):
        if not (-1 < y < image.shape[1] and -1 < x < image.shape[2]):
            return torch.zeros(image.shape[0])
        wide = torch.nn.functional.pad(image, (1, 1, 1, 1))
        top, left = math.floor(y), math.floor(x)
        v, u = y - top, x - left
        at = [[wide[:, top + 1 + a, left + 1 + b] for b in (0, 1)] for a in (0, 1)]
        return (at[0][0] * (1 - u) + at[0][1] * u) * (1 - v) + (at[1][0] * (1 - u) + at[1][1] * u) * v

    shares = channels // offset_groups
    for b in range(n):
        for i in range(height):
            for j in range(width):
                columns = torch.zeros(channels, kh, kw)
                for g in range(offset_groups):
                    for k in range(kh * kw):
                        at = (g * kh * kw + k) * 2
                        y = i * sy - py + k // kw * dy + offset[b, at, i, j].item()
                        x = j * sx - px + k % kw * dx + offset[b, at + 1, i, j].item()
                        value = pixel(data[b, g * shares : (g + 1) * shares], y, x)
                        if use_mask:
                            value = value * mask[b, g * kh * kw + k, i, j]
                        columns[g * shares : (g + 1) * shares, k // kw, k % kw] = value
                parts = columns.reshape(groups, per_group, kh, kw)
                kernels = weight.reshape(groups, outputs // groups, per_group, kh, kw)
                out[b, :, i, j] = torch.einsum("gcyx,gocyx->go", parts, kernels).reshape(-1) + bias
    return out


ORACLES = {"nms": nms, "roi_align": roi_align, "deform_conv2d": deform_conv2d}
SHAPES = {
    "nms": lambda boxes, *_: boxes.new_empty(torch.library.get_ctx().new_dynamic_size(), dtype=torch.int64),
    "roi_align": lambda data, rois, _, height, width, *rest: data.new_empty(len(rois), data.shape[1], height, width),
    "deform_conv2d": lambda data, weight, offset, *_: data.new_empty(len(data), len(weight), *offset.shape[2:]),
}


@pytest.fixture(scope="module", autouse=True)
def operators():
    try:
        import torchvision  # noqa: F401
    except ImportError:
        library = torch.library.Library("torchvision", "FRAGMENT")
        for line in SCHEMAS.strip().splitlines():
            name = line.partition("(")[0]
            library.define(line)
            library.impl(name, ORACLES[name], "CPU")
            torch.library.register_fake(f"torchvision::{name}", SHAPES[name], lib=library)
        yield library
    else:
        yield None


class Called(nn.Module):
    def __init__(self, name, *more):
        super().__init__()
        self.name, self.more = name, more

    def forward(self, *tensors):
        return getattr(torch.ops.torchvision, self.name)(*tensors, *self.more)


def boxes_of(count, seed=0):
    torch.manual_seed(seed)
    corner = torch.rand(count, 2) * 20
    return torch.cat([corner, corner + 2 + 8 * torch.rand(count, 2)], 1)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 1 / 3])
@pytest.mark.parametrize("count", each_nth(3, [1, 40]))
def test_nms(count, threshold):
    inputs = boxes_of(count), torch.rand(count)
    model = relay.compile(relay.from_pytorch(Called("nms", threshold), inputs))
    assert torch.equal(model(*inputs), nms(*inputs, threshold))


def test_an_overlap_of_the_threshold_stays():
    """Two boxes that share exactly a third."""
    inputs = torch.tensor([[0.0, 0, 2, 2], [1, 0, 3, 2], [0, 0, 2, 2]]), torch.tensor([0.3, 0.9, 0.5])
    for threshold, kept in ((1 / 3, [1]), (0.3, [1]), (float(np.float32(1 / 3)), [1, 2])):
        model = relay.compile(relay.from_pytorch(Called("nms", threshold), inputs))
        assert model(*inputs).tolist() == kept == nms(*inputs, threshold).tolist()


@pytest.mark.parametrize("samples", [2, 0, -1])
@pytest.mark.parametrize("aligned", each_nth(3, [False, True]))
def test_roi_align(aligned, samples):
    data = torch.randn(2, 3, 12, 10)
    boxes = torch.cat([boxes_of(4), torch.tensor([[-300.0, -200, 400, 250], [3, 4, 3, 4], [9, 8, 2, 1]])])
    rois = torch.cat([torch.tensor([[0.0], [1], [1], [0], [1], [0], [1]]), boxes], 1)
    how = 0.5, 3, 2, samples, aligned
    model = relay.compile(relay.from_pytorch(Called("roi_align", *how), (data, rois)))
    torch.testing.assert_close(model(data, rois), roi_align(data, rois, *how), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("groups", "offset_groups", "use_mask"), [(1, 1, False), (2, 1, True), (1, 2, True)])
def test_deform_conv2d(groups, offset_groups, use_mask):
    torch.manual_seed(1)
    data, weight = torch.randn(2, 4, 7, 6), torch.randn(6, 4 // groups, 3, 3)
    offset = torch.randn(2, 18 * offset_groups, 4, 3)
    mask = torch.rand(2, 9 * offset_groups if use_mask else 0, 4, 3)
    inputs, how = (data, weight, offset, mask, torch.randn(6)), (2, 2, 1, 1, 1, 1, groups, offset_groups, use_mask)
    model = relay.compile(relay.from_pytorch(Called("deform_conv2d", *how), inputs))
    torch.testing.assert_close(model(*inputs), deform_conv2d(*inputs, *how), rtol=1e-4, atol=1e-4)


def test_what_follows_the_boxes():
    """Boxes and scores of those that are kept: how many there are depends on elements."""

    class Detector(nn.Module):
        def forward(self, boxes, scores):
            kept = torch.ops.torchvision.nms(boxes, scores.sigmoid(), 0.3)
            return boxes[kept] * 2, scores[kept].softmax(0)

    inputs = boxes_of(30), torch.randn(30)
    model = relay.compile(relay.from_pytorch(Detector(), inputs))
    for seed in (0, 3):
        inputs = boxes_of(30, seed), torch.randn(30)
        for got, want in zip(model(*inputs), Detector()(*inputs), strict=True):
            torch.testing.assert_close(got, want)
