#!/usr/bin/env python3
"""Exports a network of the zoo with random weights as ONNX, and writes its inputs and its results in double precision.

    test/zoo/export.py timm resnet18 models/zoo/timm.resnet18.onnx
    test/zoo/export.py --serve    a line of the input is SOURCE NAME OUTPUT; answers a line, the way or `failed: ..`

Weights come from a fixed seed. The image is the first of SIZES that the network takes; a transformer is made of few
small layers. The batch is dynamic where the exporter can, else 1. Runs in .venv-zoo (test/zoo/requirements.txt).
"""

import argparse
import contextlib
import importlib
import inspect
import os
import pathlib
import sys
import warnings

import numpy as np
import torch
from torch import nn

# From 160 pixels on, arrays in the first layers are as large as those of real use, where schedules differ.
SIZES = [160, 192, 224, 240, 256, 384, 64, 32]
OPSET = 18
# Settings that make a transformer small; each applies if its configuration has the name.
SMALL = {
    "hidden_size": 64,
    "d_model": 64,
    "n_embd": 64,
    "dim": 64,
    "embedding_size": 64,
    "num_hidden_layers": 2,
    "n_layer": 2,
    "n_layers": 2,
    "num_layers": 2,
    "encoder_layers": 2,
    "decoder_layers": 2,
    "num_attention_heads": 4,
    "n_head": 4,
    "n_heads": 4,
    "num_heads": 4,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "d_kv": 16,
    "rotary_dim": 8,
    "intermediate_size": 128,
    "hidden_dim": 128,
    "d_ff": 128,
    "n_inner": 128,
    "ffn_dim": 128,
    "word_embed_proj_dim": 64,
    "encoder_ffn_dim": 128,
    "decoder_ffn_dim": 128,
    "vocab_size": 200,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "num_local_experts": 4,
    "num_experts": 4,
    "moe_intermediate_size": 64,
    "attention_types": [[["global", "local"], 1]],
    "image_size": 64,
    "use_cache": False,
}
# Settings of models that need other numbers: sizes that must fit each other, images that windows divide.
OWN = {
    "convnext": {"num_hidden_layers": 4},
    "convnextv2": {"num_hidden_layers": 4},
    "efficientnet": {"hidden_dim": 2560},
    "lilt": {"hidden_size": 96},
    "swin": {"image_size": 224},
    "xmod": {"default_language": "en_XX"},
}
# Variances of batch norms. Variances below one multiply values in each block. After the residual blocks of fbnetv3_b,
# values would reach thousands, its gates would be 0 or 1, and PyTorch's own error would be 3e-2, too much for a
# comparison.
VARIANCES = {"fbnetv3_b": (1, 2)}


def first_tensor(result):
    """The first tensor of a network's result, which may be a tensor, a list or a dictionary."""
    while not isinstance(result, torch.Tensor):
        result = next(iter(result.values())) if isinstance(result, dict) else result[0]
    return result


class FirstResult(nn.Module):
    """The network with inputs by name, and the first of its results."""

    def __init__(self, network, names):
        super().__init__()
        self.network, self.names = network, names

    def forward(self, *args):
        return first_tensor(self.network(**dict(zip(self.names, args, strict=True))))


def image_network(make):
    """The network and an image of the smallest size that it takes; make(size) gives the network for it."""
    said = None
    for size in SIZES:
        try:
            network, image = make(size), torch.randn(2, 3, size, size)
            with torch.no_grad():
                network(image)
            return network, (image,)
        except Exception as error:
            said = error
    raise said


def from_timm(name):
    import timm

    def make(size):
        torch.manual_seed(0)
        with contextlib.suppress(TypeError):
            return timm.create_model(name, exportable=True, img_size=size, num_classes=100).eval()
        return timm.create_model(name, exportable=True, num_classes=100).eval()

    return image_network(make)


def from_torchvision(name):
    import torchvision

    def make(size):
        torch.manual_seed(0)
        how = {"image_size": size} if name.startswith("vit") else {}
        if name.startswith(("deeplab", "fcn", "lraspp")):
            how["weights_backbone"] = None
        return torchvision.models.get_model(name, weights=None, **how).eval()

    return image_network(make)


def can_be_given(name, key, value):
    """Some sizes follow from others, and cannot be said."""
    import transformers

    try:
        transformers.AutoConfig.for_model(name, **{key: value})
    except (AttributeError, NotImplementedError):
        return False
    except Exception:  # of sizes that do not fit the others as they are
        return True
    return True


def from_transformers(name):
    import transformers

    # Some eager code takes fewer operators than what fused attention becomes; both are ordinary.
    config = transformers.AutoConfig.for_model(name)
    given = {key: value for key, value in SMALL.items() if hasattr(config, key)}
    given = {k: v for k, v in given.items() if isinstance(v, list) or not isinstance(getattr(config, k), (list, tuple))}
    given = {key: value for key, value in given.items() if can_be_given(name, key, value)}
    config = transformers.AutoConfig.for_model(name, **(given | OWN.get(name, {})))
    torch.manual_seed(0)
    kinds = transformers.MODEL_MAPPING[type(config)]
    kind = kinds[0] if isinstance(kinds, tuple) else kinds
    network = kind._from_config(config).eval()
    main = network.main_input_name
    if main == "pixel_values":
        size = getattr(config, "image_size", 64)
        size = size if isinstance(size, int) else size[0]
        inputs = {main: torch.randn(2, 3, size, size)}
    elif main == "input_features":
        inputs = {main: torch.randn(2, config.num_mel_bins, 2 * config.max_source_positions)}
    elif main == "input_values":  # a sound, or its spectrum
        inputs = {main: torch.randn(2, getattr(config, "max_length", 0), config.num_mel_bins)
                  if hasattr(config, "num_mel_bins") else torch.randn(2, 4000)}  # fmt: skip
    else:
        inputs = {"input_ids": torch.randint(3, 190, (2, 16)), "attention_mask": torch.ones(2, 16, dtype=torch.long)}
    takes = inspect.signature(network.forward).parameters
    inputs = {key: value for key, value in inputs.items() if key in takes}
    if getattr(config, "is_encoder_decoder", False):
        inputs["decoder_input_ids"] = torch.randint(3, 190, (2, 8))
    return FirstResult(network, list(inputs)), tuple(inputs.values())


MADE = {"timm": from_timm, "torchvision": from_torchvision, "transformers": from_transformers}


def fill(network, name=""):
    """Fills the weights. Zeros and tiny gains would hide the layers before them, and fresh batch norms do nothing."""
    torch.manual_seed(1)
    with torch.no_grad():
        for p in network.parameters():
            if p.ndim >= 2 and p.std() == 0:
                p.normal_(0, 0.02)
            elif p.ndim == 1 and p.numel() > 1 and p.std() == 0 and 0 < p.abs().max() < 0.1:
                p.uniform_(0.5, 1)
        for module in network.modules():
            if isinstance(module, nn.modules.batchnorm._BatchNorm) and module.running_var is not None:
                module.running_mean.normal_(0, 0.1)
                module.running_var.uniform_(*VARIANCES.get(name, (0.5, 1.5)))


def export(network, inputs, path):
    """Dynamic batch, then a fixed one, then the older exporter: the first that works, by name."""
    one = tuple(value[:1] for value in inputs)
    batch = torch.export.Dim("batch")
    dynamic = tuple({0: batch} for _ in inputs)
    if isinstance(network, FirstResult):
        dynamic = (dynamic,)
    ways = {
        "dynamic batch": lambda: torch.onnx.export(
            network, inputs, path, dynamo=True, opset_version=OPSET, external_data=False, dynamic_shapes=dynamic
        ),
        "batch of 1": lambda: torch.onnx.export(
            network, one, path, dynamo=True, opset_version=OPSET, external_data=False
        ),
        "batch of 1, older exporter": lambda: torch.onnx.export(network, one, path, dynamo=False, opset_version=17),
    }
    said = []
    for way, call in ways.items():
        try:
            call()
            return way
        except Exception as error:
            said.append(f"{way}: {type(error).__name__}: {str(error).strip().splitlines()[0][:200]}")
    raise RuntimeError("; ".join(said))


def write(source, name, output):
    """Exports a network, and returns the way that was used."""
    network, inputs = MADE[source](name)
    fill(network, name)
    partial = output.with_suffix(".part")
    way = export(network, inputs, str(partial))
    one = tuple(value[:1] for value in inputs)
    with torch.no_grad():
        exact = network.double()(*(value.double() if value.is_floating_point() else value for value in one))
    exact = first_tensor(exact)
    arrays = {f"input{i}": value.numpy() for i, value in enumerate(one)}
    np.savez(output.with_suffix(".npz"), **arrays, exact=exact.numpy())
    partial.rename(output)
    return way


def answer(source, name, output):
    try:
        return write(source, name, pathlib.Path(output))
    except Exception as error:
        return "failed: " + (str(error).strip().splitlines() or [type(error).__name__])[0]


def serve():
    """Each network in a process of its own, a fork of one that has imported everything and exported once."""
    for package in ("timm", "torchvision", "transformers"):
        importlib.import_module(package)
    torch.set_num_threads(1)  # threads do not live on in a fork
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # the exporter's own output does not mix with the answers
    torch.onnx.export(nn.Linear(2, 2).eval(), (torch.ones(1, 2),), dynamo=True, opset_version=OPSET)
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.write(writing, answer(*line.strip().split(maxsplit=2)).encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as said:
            text = said.read()
        status = os.waitpid(child, 0)[1]
        print(text or f"failed: exit status {os.waitstatus_to_exitcode(status)}", file=answers)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("network", nargs="*", help=f"SOURCE ({', '.join(MADE)}), NAME and OUTPUT")
    arguments.add_argument("--serve", action="store_true", help="read them from the input, a network a line")
    given = arguments.parse_args()
    warnings.simplefilter("ignore")
    if given.serve:
        return serve()
    if len(given.network) != 3 or given.network[0] not in MADE:
        arguments.error(f"give a source ({', '.join(MADE)}), a network's name and a file to write")
    source, name, output = given.network
    print(write(source, name, pathlib.Path(output)))


if __name__ == "__main__":
    main()
