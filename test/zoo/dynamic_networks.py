#!/usr/bin/env python3
"""Networks whose sizes are dynamic, with random weights, as ONNX; beside each its inputs and its results in double
precision, at several sizes.

    test/zoo/dynamic_networks.py --list
    test/zoo/dynamic_networks.py gpt2_with_cache models/zoo/dynamic/gpt2_with_cache.onnx

Runs in .venv-zoo (test/zoo/requirements.txt). All are small; their architectures are those of the packages.
"""

import argparse
import pathlib
import sys
import warnings

import numpy as np
import torch
from torch import nn
from torch.export import Dim
from torch.nn import functional as F

OPSET = 18
BATCH, LENGTH, PAST = Dim("batch", max=64), Dim("length", min=2, max=512), Dim("past", max=512)


class Network:
    """A module; inputs by name, made for sizes; which axes are dynamic; the sizes that it is run at, the first for the
    exporter."""

    def __init__(self, module, inputs, dynamic, sizes, older=False):
        self.module, self.inputs, self.dynamic, self.sizes, self.older = module.eval(), inputs, dynamic, sizes, older


class Tensors(nn.Module):
    """The results of a network as a flat tuple; `call` takes it and the inputs."""

    def __init__(self, network, call):
        super().__init__()
        self.network, self.call = network, call

    def forward(self, *inputs):
        return self.call(self.network, *inputs)


# --- pictures -----------------------------------------------------------------------------------------------------


def pictures(make, sizes, multiple=None, channels=3):
    """A network of pictures; `multiple`: of which height and width are, None where they are fixed."""

    def build():
        axes = {0: BATCH}
        if multiple:
            axes |= {2: multiple * Dim("h", min=2, max=64), 3: multiple * Dim("w", min=2, max=64)}
        return Network(make(), lambda b, h, w: {"image": torch.randn(b, channels, h, w)}, {"image": axes}, sizes)

    return build


def resnet50():
    import torchvision

    return torchvision.models.resnet50(weights=None, num_classes=40)


def mobilenet_v3():
    import torchvision

    return torchvision.models.mobilenet_v3_large(weights=None, num_classes=40)


def vit():
    from torchvision.models.vision_transformer import VisionTransformer

    return VisionTransformer(64, 16, 2, 4, 64, 128, num_classes=40)


def swin():
    from torchvision.models.swin_transformer import SwinTransformer

    return SwinTransformer([4, 4], 24, [2, 2], [2, 4], [4, 4], num_classes=40)


class UNet(nn.Module):
    """1505.04597, narrow: three times halved and doubled."""

    def __init__(self, widths=(8, 16, 32, 64)):
        super().__init__()

        def block(inputs, outputs):
            layers = []
            for i in (inputs, outputs):
                layers += [nn.Conv2d(i, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]
            return nn.Sequential(*layers)

        self.down = nn.ModuleList(block(i, o) for i, o in zip((3, *widths), widths, strict=False))
        pairs = list(zip(widths[1:], widths, strict=False))[::-1]
        self.widen = nn.ModuleList(nn.ConvTranspose2d(i, o, 2, 2) for i, o in pairs)
        self.up = nn.ModuleList(block(2 * o, o) for _, o in pairs)
        self.last = nn.Conv2d(widths[0], 2, 1)

    def forward(self, x):
        skips = []
        for i, block in enumerate(self.down):
            x = block(x if i == 0 else F.max_pool2d(x, 2))
            skips.append(x)
        for widen, block, skip in zip(self.widen, self.up, skips[-2::-1], strict=True):
            x = block(torch.cat([widen(x), skip], 1))
        return self.last(x)


class Detector(nn.Module):
    """Boxes around the places of a grid, with scores, and the best that do not overlap: how many depends on values."""

    def __init__(self):
        super().__init__()
        from torchvision.ops import nms

        self.nms = nms
        layers, width = [], 3
        for outputs in (8, 16, 32):
            layers += [nn.Conv2d(width, outputs, 3, 2, 1), nn.SiLU()]
            width = outputs
        self.body, self.head = nn.Sequential(*layers), nn.Conv2d(width, 2 * 6, 1)

    def forward(self, image):
        y = self.head(self.body(image))[0]
        h, w = y.shape[1:]
        rows, columns = torch.arange(h, device=y.device)[:, None], torch.arange(w, device=y.device)
        y = y.view(2, 6, h, w)
        x0, y0 = torch.sigmoid(y[:, 0]) + columns, torch.sigmoid(y[:, 1]) + rows
        half_w, half_h = torch.exp(y[:, 2]), torch.exp(y[:, 3])
        boxes = torch.stack([x0 - half_w, y0 - half_h, x0 + half_w, y0 + half_h], -1).reshape(-1, 4)
        scores = torch.sigmoid(y[:, 4] * 9).reshape(-1)
        kept = self.nms(boxes, scores, 0.4)
        return boxes[kept], scores[kept]


class Heads(nn.Module):
    """1703.06870, the heads: features of boxes, their classes and shifts, and a mask for each."""

    def __init__(self, channels=16, classes=5):
        super().__init__()
        from torchvision.ops import roi_align

        self.roi_align = roi_align
        self.box = nn.Sequential(nn.Flatten(), nn.Linear(channels * 49, 64), nn.ReLU())
        self.score, self.shift = nn.Linear(64, classes), nn.Linear(64, 4 * classes)
        self.mask = nn.Sequential(
            nn.Conv2d(channels, 16, 3, padding=1),
            nn.ReLU(),
            nn.ConvTranspose2d(16, 16, 2, 2),
            nn.ReLU(),
            nn.Conv2d(16, classes, 1),
        )

    def forward(self, features, boxes):
        which = torch.cat([boxes.new_zeros(boxes.shape[0], 1), boxes], 1)
        small = self.roi_align(features, which, 7, 0.25, 2, True)
        large = self.roi_align(features, which, 14, 0.25, 2, True)
        hidden = self.box(small)
        scores = self.score(hidden).softmax(-1)
        masks = self.mask(large).sigmoid()
        chosen = scores[:, 1:].argmax(1) + 1
        index = chosen[:, None, None, None].expand(-1, 1, masks.shape[2], masks.shape[3])
        return scores, self.shift(hidden), masks.gather(1, index)


def detector():
    axes = {2: Dim("h"), 3: Dim("w")}
    sizes = [(1, 64, 64), (1, 96, 64), (1, 32, 128)]
    return Network(Detector(), lambda b, h, w: {"image": torch.randn(b, 3, h, w)}, {"image": axes}, sizes, older=True)


def mask_heads():
    def inputs(h, w, boxes):
        corner = torch.rand(boxes, 2) * torch.tensor([w * 2.0, h * 2.0])
        return {
            "features": torch.randn(1, 16, h, w),
            "boxes": torch.cat([corner, corner + 8 + 9 * torch.rand(boxes, 2)], 1),
        }

    axes = {
        "features": {2: Dim("h", min=8, max=99), 3: Dim("w", min=8, max=99)},
        "boxes": {0: Dim("boxes", max=500)},
    }
    return Network(Heads(), inputs, axes, [(16, 20, 5), (12, 12, 1), (24, 16, 17)], older=True)


# --- text and sound -----------------------------------------------------------------------------------------------

WORDS = 120


def config(name, **more):
    import transformers

    return transformers.AutoConfig.for_model(name, vocab_size=WORDS, attn_implementation="eager", **more)


def words(b, n):
    return torch.randint(3, WORDS, (b, n))


def mask(b, n):
    return (torch.arange(n) < torch.linspace(n, max(1, n // 2), b)[:, None]).to(torch.int64)


TEXT = [(2, 7), (1, 3), (3, 16)]


def bert():
    import transformers

    shape = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    network = transformers.BertModel(config("bert", **shape))
    call = Tensors(network, lambda m, ids, kept: tuple(m(input_ids=ids, attention_mask=kept, return_dict=False)[:2]))
    axes = {0: BATCH, 1: LENGTH}
    return Network(
        call,
        lambda b, n: {"input_ids": words(b, n), "attention_mask": mask(b, n)},
        {"input_ids": axes, "attention_mask": axes},
        TEXT,
    )


def gpt2_network():
    import transformers

    return transformers.GPT2LMHeadModel(
        config("gpt2", n_embd=64, n_layer=2, n_head=4, n_positions=64, bos_token_id=1, eos_token_id=2)
    )


def gpt2():
    call = Tensors(gpt2_network(), lambda m, ids: (m(input_ids=ids, use_cache=False, return_dict=False)[0],))
    return Network(call, lambda b, n: {"input_ids": words(b, n)}, {"input_ids": {0: BATCH, 1: LENGTH}}, TEXT)


def cache_of(tensors):
    import transformers

    return transformers.DynamicCache(list(zip(tensors[::2], tensors[1::2], strict=True)))


def flat(cache):
    return tuple(t for layer in cache.layers for t in (layer.keys, layer.values))


def gpt2_with_cache():
    """A step of one word, with the keys and values of the words before it as inputs."""

    def call(network, ids, *past):
        result = network(input_ids=ids, past_key_values=cache_of(past), use_cache=True)
        return (result.logits, *flat(result.past_key_values))

    def inputs(b, past):
        held = {f"past{i}": torch.randn(b, 4, past, 16) for i in range(4)}
        return {"input_ids": words(b, 1), **held}

    dynamic = {"input_ids": {0: BATCH}} | {f"past{i}": {0: BATCH, 2: PAST} for i in range(4)}
    return Network(Tensors(gpt2_network(), call), inputs, dynamic, [(2, 5), (1, 1), (3, 20)])


def t5_config():
    return config(
        "t5", d_model=64, d_kv=16, d_ff=128, num_layers=2, num_heads=4, decoder_start_token_id=0, pad_token_id=0
    )


def t5_encoder():
    import transformers

    network = transformers.T5EncoderModel(t5_config())
    call = Tensors(network, lambda m, ids, kept: (m(input_ids=ids, attention_mask=kept, return_dict=False)[0],))
    axes = {0: BATCH, 1: LENGTH}
    return Network(
        call,
        lambda b, n: {"input_ids": words(b, n), "attention_mask": mask(b, n)},
        {"input_ids": axes, "attention_mask": axes},
        TEXT,
    )


def t5_decoder():
    import transformers

    network = transformers.T5ForConditionalGeneration(t5_config())

    def call(m, ids, encoded):
        y = m.decoder(input_ids=ids, encoder_hidden_states=encoded, use_cache=False, return_dict=False)[0]
        return (m.lm_head(y),)

    return Network(
        Tensors(network, call),
        lambda b, n, e: {"ids": words(b, n), "encoded": torch.randn(b, e, 64)},
        {"ids": {0: BATCH, 1: LENGTH}, "encoded": {0: BATCH, 1: Dim("encoded_length", max=512)}},
        [(2, 4, 7), (1, 2, 3), (3, 9, 12)],
    )


def whisper_network():
    import transformers

    shape = dict(d_model=64, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4)
    more = dict(encoder_ffn_dim=128, decoder_ffn_dim=128, num_mel_bins=20, max_source_positions=30)
    ends = dict(max_target_positions=40, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    return transformers.WhisperModel(config("whisper", **shape, **more, **ends))


def whisper_encoder():
    call = Tensors(whisper_network(), lambda m, x: (m.encoder(x, return_dict=False)[0],))
    return Network(call, lambda b: {"mel": torch.randn(b, 20, 60)}, {"mel": {0: BATCH}}, [(2,), (1,), (4,)])


def whisper_decoder():
    def call(m, ids, encoded):
        return (m.decoder(input_ids=ids, encoder_hidden_states=encoded, use_cache=False, return_dict=False)[0],)

    return Network(
        Tensors(whisper_network(), call),
        lambda b, n: {"ids": words(b, n), "encoded": torch.randn(b, 30, 64)},
        {"ids": {0: BATCH, 1: Dim("length", min=2, max=40)}, "encoded": {0: BATCH}},
        TEXT,
    )


def wav2vec2():
    import transformers

    shape = dict(hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128)
    convs = dict(conv_dim=[32, 32, 32], conv_stride=[5, 2, 2], conv_kernel=[10, 3, 2], num_feat_extract_layers=3)
    more = dict(
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, mask_time_prob=0.0, apply_spec_augment=False
    )
    network = transformers.Wav2Vec2Model(config("wav2vec2", **shape, **convs, **more))
    call = Tensors(network, lambda m, x: (m(x, return_dict=False)[0],))
    axes = {0: BATCH, 1: Dim("samples", min=800, max=16000)}
    return Network(call, lambda b, n: {"sound": torch.randn(b, n)}, {"sound": axes}, [(2, 1000), (1, 2100), (3, 905)])


def recurrent(kind):
    """Two layers in both directions; the older exporter writes ONNX's own operators of these, and of torchvision's."""

    def build():
        network = getattr(nn, kind)(12, 16, 2, batch_first=True, bidirectional=True)

        def call(m, x):
            y, state = m(x)
            return (y, *(state if isinstance(state, tuple) else (state,)))

        axes = {"x": {0: BATCH, 1: LENGTH}}
        return Network(Tensors(network, call), lambda b, n: {"x": torch.randn(b, n, 12)}, axes, TEXT, older=True)

    return build


PICTURES = [(2, 64, 64), (1, 96, 64), (3, 64, 128)]
NETWORKS = {
    "resnet50": pictures(resnet50, PICTURES, 32),
    "mobilenet_v3": pictures(mobilenet_v3, PICTURES, 32),
    "vit": pictures(vit, [(2, 64, 64), (1, 64, 64), (5, 64, 64)]),
    "swin": pictures(swin, [(2, 64, 64), (1, 64, 64), (5, 64, 64)]),
    "unet": pictures(UNet, PICTURES, 8),
    "detector": detector,
    "mask_heads": mask_heads,
    "bert": bert,
    "gpt2": gpt2,
    "gpt2_with_cache": gpt2_with_cache,
    "t5_encoder": t5_encoder,
    "t5_decoder": t5_decoder,
    "whisper_encoder": whisper_encoder,
    "whisper_decoder": whisper_decoder,
    "wav2vec2": wav2vec2,
    "lstm": recurrent("LSTM"),
    "gru": recurrent("GRU"),
}


def export(network, inputs, path):
    names = list(inputs)
    if network.older:
        axes = {name: {axis: dim.__name__ for axis, dim in of.items()} for name, of in network.dynamic.items()}
        torch.onnx.export(
            network.module,
            tuple(inputs.values()),
            path,
            input_names=names,
            dynamic_axes=axes,
            dynamo=False,
            opset_version=17,
        )
        return
    shapes = tuple(network.dynamic.get(name, {}) for name in names)
    if isinstance(network.module, Tensors):
        shapes = (shapes,)
    torch.onnx.export(
        network.module,
        tuple(inputs.values()),
        path,
        input_names=names,
        dynamo=True,
        opset_version=OPSET,
        external_data=False,
        dynamic_shapes=shapes,
    )


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("name", nargs="?", choices=NETWORKS)
    arguments.add_argument("output", nargs="?", type=pathlib.Path)
    arguments.add_argument("--list", action="store_true")
    given = arguments.parse_args()
    if given.list or not given.output:
        print(*NETWORKS, sep="\n")
        return
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    network = NETWORKS[given.name]()
    sys.path.insert(0, str(pathlib.Path(__file__).parent))
    from export import fill

    fill(network.module)
    torch.manual_seed(2)
    inputs = [network.inputs(*size) for size in network.sizes]
    partial = given.output.with_suffix(".part")
    export(network, inputs[0], str(partial))
    arrays = {}
    exact = network.module.double()
    for i, one in enumerate(inputs):
        with torch.no_grad():
            results = exact(*(x.double() if x.is_floating_point() else x for x in one.values()))
        results = results if isinstance(results, tuple) else (results,)
        arrays |= {f"{i}/input/{name}": x.numpy() for name, x in one.items()}
        arrays |= {f"{i}/output/{k}": np.asarray(x) for k, x in enumerate(results)}
    np.savez(given.output.with_suffix(".npz"), **arrays)
    partial.rename(given.output)


if __name__ == "__main__":
    main()
