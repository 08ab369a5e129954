"""The networks of the zoo as modules of PyTorch, inputs of other sizes, and how far results are from the exact ones."""

import copy
import functools
import importlib

import torch
import vision_operators

# The share of a detector's boxes that may differ from the exact ones, because scores are equal but for rounding; and
# the largest such share.
UNMATCHED, MOST_UNMATCHED = 0.02, 0.2
NEAR = 1e-3  # of the image's size, and of scores
IMAGE = 160  # of detectors, in pixels


class Detector(torch.nn.Module):
    """A detector of torchvision, of one image as a tensor (1, 3, height, width): boxes, labels, scores, in its
    order."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def forward(self, images):
        found = self.network([images[0]])
        found = found[1] if isinstance(found, tuple) else found  # a scripted one gives losses too
        return tuple(found[0].values())


class Heads(torch.nn.Module):
    """The results of a Detector's layers before the choice of boxes, and after it for given boxes."""

    BOXES = ((0.1, 0.1, 0.5, 0.6), (0.0, 0.0, 1.0, 1.0), (0.2, 0.05, 0.4, 0.9))  # in parts of the image

    def __init__(self, detector):
        super().__init__()
        self.network = detector.network

    def forward(self, images):
        batch, _ = self.network.transform([images[0]])
        features = self.network.backbone(batch.tensors)
        if hasattr(self.network, "head"):
            return tuple(self.network.head(list(features.values())).values())
        scores, deltas = self.network.rpn.head(list(features.values()))
        return *scores, *deltas, *self._of_boxes(features, batch)

    def _of_boxes(self, features, batch):
        layers, found = self.network.roi_heads, []
        boxes = (
            torch.tensor(self.BOXES, dtype=batch.tensors.dtype) * torch._shape_as_tensor(batch.tensors)[[3, 2, 3, 2]]
        )
        for kind in ("box", "mask", "keypoint"):
            if getattr(layers, f"{kind}_roi_pool", None) is not None:
                pool, head, predictor = (getattr(layers, f"{kind}_{one}") for one in ("roi_pool", "head", "predictor"))
                made = predictor(head(pool(features, [boxes], batch.image_sizes)))
                found += made if isinstance(made, tuple) else [made]
        return found


def _spread_scores(network, image):
    """Random weights give all classes the same scores but for rounding: the last layers get weights that spread
    them."""
    last = ("classification_head.module_list", "cls_logits", "cls_score")
    layers = [one for name, one in network.named_modules()
              if any(word in name for word in last)
              and isinstance(one, (torch.nn.Conv2d, torch.nn.Linear))]  # fmt: skip

    def hook(layer, inputs, output):
        factor = 2 / output.std().clamp(min=1e-6)
        layer.weight.mul_(factor)
        return output * factor

    handles = [one.register_forward_hook(hook) for one in layers]
    with torch.no_grad():
        network([image[0]])
    for one in handles:
        one.remove()


def _detector(torchvision, name):
    import export

    torch.manual_seed(0)
    network = torchvision.models.get_model(name, weights=None, weights_backbone=None, num_classes=5).eval()
    export.fill(network, name)
    image = torch.rand(1, 3, IMAGE, IMAGE)
    _spread_scores(network, image)
    return Detector(network).eval(), (image,), [()]


@functools.cache
def load_packages():
    """torchvision, with its operators; timm is imported with them too."""
    torchvision = vision_operators.load_torchvision()
    importlib.import_module("timm")
    return torchvision


def made(source, name):
    """(the network, example inputs with a batch of 2, of each input the axes that may vary)."""
    torchvision = load_packages()
    import export

    if source == "detection":
        return _detector(torchvision, name)
    network, inputs = {
        "timm": export.from_timm, "torchvision": export.from_torchvision, "transformers": export.from_transformers,
    }[source](name)  # fmt: skip
    export.fill(network, name)
    axes = [(0, 1) if one.dim() == 2 else (0,) for one in inputs]  # texts and sounds have lengths
    return network, tuple(inputs), axes


def resized(inputs, axes, batch, more):
    """Inputs of another batch, and texts and sounds `more` longer."""
    out = []
    for one, which in zip(inputs, axes, strict=True):
        sizes = [
            (batch if axis == 0 else extent + more) if axis in which else extent
            for axis, extent in enumerate(one.shape)
        ]
        if one.is_floating_point():
            out.append(torch.randn(sizes))
        elif (one == 1).all():
            out.append(torch.ones(sizes, dtype=one.dtype))
        else:
            out.append(torch.randint(3, 190, sizes, dtype=one.dtype))
    return tuple(out)


def first_of(result):
    while not isinstance(result, torch.Tensor):
        result = next(iter(result.values())) if isinstance(result, dict) else result[0]
    return result


def in_double(network):
    """A copy that computes in double precision. The product of groups of experts has no such form: experts are
    apart."""
    exact = copy.deepcopy(network).double()
    for one in exact.modules():
        if getattr(getattr(one, "config", None), "_experts_implementation", None) == "grouped_mm":
            one.set_experts_implementation("eager")
    return exact


def as_double(inputs):
    return tuple(one.double() if one.is_floating_point() else one for one in inputs)


def error_of(got, exact):
    """The greatest difference, in parts of the largest finite value; infinite where what is not finite differs."""
    if got.shape != exact.shape:
        return float("inf")
    if not exact.numel():
        return 0
    got, finite = got.double(), exact.isfinite()
    if not got[~finite].equal(exact[~finite]) and not _same_specials(got[~finite], exact[~finite]):
        return float("inf")
    if not got[finite].isfinite().all():
        return float("inf")
    if not finite.any():
        return 0
    return (got[finite] - exact[finite]).abs().max().item() / (exact[finite].abs().max().item() or 1)


def _same_specials(a, b):
    return a.isnan().equal(b.isnan()) and a[~a.isnan()].equal(b[~b.isnan()])


def unmatched(got, exact):
    """The share of the exact boxes without a similar box, label and score among the found ones, or the reverse."""
    if len(got) != len(exact) or any(a.shape[1:] != b.shape[1:] for a, b in zip(got, exact, strict=True)):
        return 1.0

    def rows(found):
        columns = [one.double().reshape(len(one), -1) for one in found]
        for place, one in enumerate(found):
            if place == 0 or one.shape[2:] == (3,):  # boxes, and places of keypoints
                columns[place] = columns[place] / IMAGE
        return torch.cat(columns, 1)

    a, b = rows(got), rows(exact)
    if not len(a) or not len(b):
        return 1.0  # where nothing is found, nothing is compared
    apart = torch.cdist(a, b, p=float("inf"))
    return max((apart.min(axis).values > NEAR).double().mean().item() for axis in (0, 1))
