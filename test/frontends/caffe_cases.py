"""Small networks of Caffe: layers after the input `x`, the shapes of the weights of each layer, and the input's shape.

test/python/caffe compares layers that OpenCV's reader lacks with NumPy.
"""

IMAGE = (2, 4, 9, 8)


def layer(kind, name="l", bottom="x", top=None, more=""):
    bottoms = " ".join(f'bottom: "{one}"' for one in bottom.split())
    tops = " ".join(f'top: "{one}"' for one in (top or name).split())
    return f'layer {{ name: "{name}" type: "{kind}" {bottoms} {tops} {more} }}\n'


def conv(name="c", bottom="x", filters=6, more=""):
    return layer(
        "Convolution", name, bottom, None, f"convolution_param {{ num_output: {filters} kernel_size: 3 pad: 1 {more} }}"
    )


def _cases():
    for text, shapes in (
        ("num_output: 5 kernel_size: 3", [(5, 4, 3, 3), (5,)]),
        ("num_output: 5 kernel_size: 3 pad: 2 stride: 2 bias_term: false", [(5, 4, 3, 3)]),
        (
            "num_output: 6 kernel_h: 3 kernel_w: 2 pad_h: 1 pad_w: 0 stride_h: 2 stride_w: 1 group: 2",
            [(6, 2, 3, 2), (6,)],
        ),
        ("num_output: 5 kernel_size: 3 dilation: 2", [(5, 4, 3, 3), (1, 1, 1, 5)]),
    ):
        yield f"Convolution {text}", layer("Convolution", more=f"convolution_param {{ {text} }}"), {"l": shapes}, IMAGE
    for text, shapes in (
        ("num_output: 5 kernel_size: 4 stride: 2 pad: 1", [(4, 5, 4, 4), (5,)]),
        ("num_output: 4 kernel_size: 4 stride: 2 pad: 1 group: 4 bias_term: false", [(4, 1, 4, 4)]),
    ):
        yield (
            f"Deconvolution {text}",
            layer("Deconvolution", more=f"convolution_param {{ {text} }}"),
            {"l": shapes},
            IMAGE,
        )
    for text in (
        "kernel_size: 2 stride: 2", "kernel_size: 3 stride: 2", "kernel_size: 3 stride: 2 pad: 1",
            "kernel_size: 3 stride: 1 pad: 1",
        "kernel_h: 3 kernel_w: 2 stride_h: 2 stride_w: 3", "global_pooling: true",
    ):  # fmt: skip
        for kind in ("MAX", "AVE"):
            yield f"Pooling {kind} {text}", layer("Pooling", more=f"pooling_param {{ pool: {kind} {text} }}"), {}, IMAGE
    product = "inner_product_param {{ num_output: 7 {} }}"
    yield "InnerProduct", layer("InnerProduct", more=product.format("")), {"l": [(7, 288), (7,)]}, IMAGE
    yield (
        "InnerProduct old",
        layer("InnerProduct", more=product.format("bias_term: false")),
        {"l": [(1, 1, 7, 288)]},
        IMAGE,
    )
    for text in ("local_size: 3 alpha: 0.1 beta: 0.6", "local_size: 5 alpha: 0.2 norm_region: WITHIN_CHANNEL"):
        yield f"LRN {text}", layer("LRN", more=f"lrn_param {{ {text} }}"), {}, IMAGE
    yield "BatchNorm", layer("BatchNorm", more="batch_norm_param { eps: 0.01 }"), {"l": [(4,), (4,), (1,)]}, IMAGE
    both = layer("BatchNorm") + layer("Scale", "s", "l", "l", "scale_param { bias_term: true }")
    yield "BatchNorm Scale in place", both, {"l": [(4,), (4,), (1,)], "s": [(4,), (4,)]}, IMAGE
    yield "MVN", layer("MVN"), {}, IMAGE
    yield "MVN across", layer("MVN", more="mvn_param { across_channels: true }"), {}, IMAGE
    yield (
        "Normalize",
        layer("Normalize", more="norm_param { across_spatial: false channel_shared: false }"),
        {"l": [(4,)]},
        IMAGE,
    )
    yield (
        "Normalize all",
        layer("Normalize", more="norm_param { across_spatial: true channel_shared: true }"),
        {"l": [(1,)]},
        IMAGE,
    )
    for kind, more in (
        ("ReLU", ""), ("ReLU", "relu_param { negative_slope: 0.2 }"), ("Sigmoid", ""), ("TanH", ""), ("AbsVal", ""),
            ("BNLL", ""),
        ("ELU", "elu_param { alpha: 0.7 }"), ("Power", "power_param { power: 2 scale: 0.5 shift: 1 }"),
        ("Exp", "exp_param { base: 2 scale: 0.5 shift: 0.1 }"), ("Exp", ""), ("Dropout",
            "dropout_param { dropout_ratio: 0.4 }"),
        ("Softmax", ""), ("Softmax", "softmax_param { axis: 2 }"), ("ReLU6", ""),
    ):  # fmt: skip
        yield f"{kind} {more}", layer(kind, more=more), {}, IMAGE
    yield "PReLU", layer("PReLU"), {"l": [(4,)]}, IMAGE
    two = conv("a", filters=4) + conv("b", filters=4)
    weights = {"a": [(4, 4, 3, 3), (4,)], "b": [(4, 4, 3, 3), (4,)]}
    for text in ("operation: SUM", "operation: PROD", "operation: MAX", "coeff: 0.5 coeff: -2"):
        yield f"Eltwise {text}", two + layer("Eltwise", "e", "a b", more=f"eltwise_param {{ {text} }}"), weights, IMAGE
    yield "Concat", two + layer("Concat", "e", "a b"), weights, IMAGE
    yield "Concat axis", two + layer("Concat", "e", "a b", more="concat_param { axis: 2 }"), weights, IMAGE
    parts = layer("Slice", "s", "x", "p q", "slice_param { axis: 1 slice_point: 1 }")
    yield "Slice", parts + layer("Concat", "e", "q p"), {}, IMAGE
    halves = layer("Slice", "s", "x", "p q", "slice_param { axis: 3 }")
    yield "Slice equal", halves + layer("Eltwise", "e", "q p"), {}, IMAGE
    yield "Split", layer("Split", "s", "x", "p q") + layer("Eltwise", "e", "q p"), {}, IMAGE
    yield "Flatten", layer("Flatten"), {}, IMAGE
    yield "Flatten axis", layer("Flatten", more="flatten_param { axis: 2 }"), {}, IMAGE
    for dims in ("0 -1", "0 2 -1 8", "0 0 -1"):
        text = " ".join(f"dim: {one}" for one in dims.split())
        yield f"Reshape {dims}", layer("Reshape", more=f"reshape_param {{ shape {{ {text} }} }}"), {}, IMAGE
    yield "Permute", layer("Permute", more="permute_param { order: 0 order: 2 order: 3 order: 1 }"), {}, IMAGE
    yield "Crop", conv("a", filters=2, more="stride: 2") + layer("Crop", "k", "x a",
        more="crop_param { axis: 2 offset: 1 offset: 2 }"), {
        "a": [(2, 4, 3, 3), (2,)]}, IMAGE  # fmt: skip
    yield "Scale", layer("Scale", more="scale_param { bias_term: true }"), {"l": [(4,), (4,)]}, IMAGE
    variances = "variance: 0.1 variance: 0.1 variance: 0.2 variance: 0.2"
    ratios = "aspect_ratio: 2 aspect_ratio: 3 flip: true"
    prior = f"prior_box_param {{ min_size: 2 max_size: 4 {ratios} clip: false {variances} offset: 0.5 }}"
    yield (
        "PriorBox",
        conv("a", filters=2, more="stride: 2") + layer("PriorBox", "k", "a x", more=prior),
        {"a": [(2, 4, 3, 3), (2,)]},
        IMAGE,
    )
    stepped = f"prior_box_param {{ min_size: 2 min_size: 3 flip: false clip: true step: 2 offset: 0.4 {variances} }}"
    yield (
        "PriorBox stepped",
        conv("a", filters=2, more="stride: 2") + layer("PriorBox", "k", "a x", more=stepped),
        {"a": [(2, 4, 3, 3), (2,)]},
        IMAGE,
    )


def cases():
    """The cases: name, text of the network, shapes of weights by layer, shape of the input."""
    for name, text, weights, shape in _cases():
        dims = " ".join(f"dim: {one}" for one in shape)
        yield name, f'name: "case"\ninput: "x"\ninput_shape {{ {dims} }}\n{text}', weights, shape
