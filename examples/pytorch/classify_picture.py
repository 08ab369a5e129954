#!/usr/bin/env python3
"""Classifies a picture with a vision transformer of random weights: compares relay.hf with transformers.

.venv/bin/python examples/pytorch/classify_picture.py [PICTURE]
"""

import sys

import numpy as np
import PIL.Image
import relay.hf
import torch
import transformers
from skimage import data


def pixels(picture, size):
    """(1, 3, size, size), between -1 and 1."""
    array = np.asarray(picture.convert("RGB").resize((size, size)), "float32")
    return torch.from_numpy(array / 127.5 - 1).permute(2, 0, 1)[None]


def main():
    torch.manual_seed(0)
    picture = PIL.Image.open(sys.argv[1]) if len(sys.argv) > 1 else PIL.Image.fromarray(data.astronaut())
    config = transformers.ViTConfig(hidden_size=96, num_hidden_layers=4, num_attention_heads=4, num_labels=10)
    eager = transformers.ViTForImageClassification(config).eval()
    fast = relay.hf.load(eager)
    with torch.no_grad():
        x = pixels(picture, config.image_size)
        shares, wanted = (model(pixel_values=x).logits.softmax(-1)[0] for model in (fast, eager))
    torch.testing.assert_close(shares, wanted, rtol=1e-4, atol=1e-5)
    for place in shares.argsort(descending=True)[:3]:
        print(f"{config.id2label[int(place)]}: {shares[place]:.1%}")


if __name__ == "__main__":
    main()
