"""Compares single gradients of convolutions (data or weight) with PyTorch and with the multiply-add ceiling."""

import functools

import numpy as np

# name, data (n, c, h, w), weight (o, c / groups, kh, kw), strides, padding, groups
CASES = [
    ("3 x 3, 64 to 64, 56 x 56", (1, 64, 56, 56), (64, 64, 3, 3), 1, 1, 1),
    ("3 x 3, 128 to 128, 28 x 28", (1, 128, 28, 28), (128, 128, 3, 3), 1, 1, 1),
    ("3 x 3, 256 to 256, 14 x 14, batch 8", (8, 256, 14, 14), (256, 256, 3, 3), 1, 1, 1),
    ("3 x 3 by 2, 64 to 128, 56 x 56", (1, 64, 56, 56), (128, 64, 3, 3), 2, 1, 1),
    ("1 x 1, 256 to 64, 56 x 56", (1, 256, 56, 56), (64, 256, 1, 1), 1, 0, 1),
    ("1 x 1, 512 to 2048, 7 x 7, batch 8", (8, 512, 7, 7), (2048, 512, 1, 1), 1, 0, 1),
    ("7 x 7 by 2, 3 to 64, 224 x 224", (1, 3, 224, 224), (64, 3, 7, 7), 2, 3, 1),
    ("3 x 3 depthwise, 128, 56 x 56", (1, 128, 56, 56), (128, 1, 3, 3), 1, 1, 128),
]


def program(shape, weight, strides, padding, groups, wrt):
    """A module whose @main maps data, weight and the gradient of the result to the gradient of `wrt`."""
    import relay

    x, w = relay.var("x", shape=shape), relay.var("w", shape=weight)
    result = relay.nn.conv2d(x, w, strides=[strides] * 2, padding=[padding] * 2, groups=groups, channels=weight[0],
                             kernel_size=list(weight[2:]))  # fmt: skip
    main = relay.vjp(relay.Function([x, w], result), wrt=[wrt])["main"]
    gradient = relay.TupleGetItem(relay.TupleGetItem(main.body, 1), 0)
    return relay.run_passes(
        relay.IRModule({"main": relay.Function(main.params, gradient)}), ["infer_type", "dead_code"]
    )


def torch_call(x, w, seed, strides, padding, groups, of_weight):
    """PyTorch's own gradient function."""
    import torch

    mask = [not of_weight, of_weight, False]
    return lambda: torch.ops.aten.convolution_backward(
        seed, x, w, None, [strides] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, mask
    )


def measure(threads, gflops, median_us):
    """A row for each case, gradient and number of threads. `gflops`: the measured GFLOP/s of one core."""
    import torch

    import relay

    rng = np.random.default_rng(0)
    rows = []
    for name, shape, weight, strides, padding, groups in CASES:
        size = (shape[2] + 2 * padding - weight[2]) // strides + 1
        arrays = [rng.standard_normal(s).astype(np.float32) for s in (shape, weight, (shape[0], weight[0], size, size))]
        x, w, seed = map(torch.from_numpy, arrays)
        flops = 2 * seed.numel() * w[0].numel()
        for of_weight, kind in enumerate(("data", "weight")):
            module = program(shape, weight, strides, padding, groups, "w" if of_weight else "x")
            for count in threads:
                torch.set_num_threads(count)
                model = relay.compile(module, threads=count, tier="full")
                call = torch_call(x, w, seed, strides, padding, groups, bool(of_weight))
                given, expected = model(*arrays), call()[of_weight].numpy()
                if np.abs(given - expected).max() > 1e-4 * np.abs(expected).max():
                    raise RuntimeError(f"{name}: the gradient of the {kind} differs from PyTorch's")
                rows.append({
                    "name": f"{name}: gradient of the {kind}",
                    "threads": count,
                    "us": median_us(functools.partial(model, *arrays)),
                    "torch_us": median_us(call),
                    "compute_us": flops / (count * gflops * 1e3),
                })  # fmt: skip
    return rows
