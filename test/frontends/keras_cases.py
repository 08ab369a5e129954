"""Small Keras models, each for one layer or operation in a configuration: name, and the function that builds it.

cases(framework) returns them for Keras 3 or Keras 2. The functions that build models use the framework of the last
call.
"""

import dataclasses
from collections.abc import Callable

import numpy as np

CASES = []
keras = L = ops = None  # set by cases()


class _Layers:
    """The layers of a framework; None for those that it lacks, of which no model can be built."""

    def __init__(self, framework):
        self._layers = framework.layers

    def __getattr__(self, name):
        return getattr(self._layers, name, None)


@dataclasses.dataclass(frozen=True)
class Case:
    name: str  # the layer or operation, then what is special
    build: Callable  # makes the model
    inputs: Callable  # rng -> arrays
    forms: tuple = (".keras", ".h5", "live")
    is_old: bool = False  # of a layer that Keras 3 has no more


def floats(*shapes, low=-2.0, high=2.0):
    return lambda rng: [rng.uniform(low, high, shape).astype(np.float32) for shape in shapes]


def integers(most, *shapes):
    return lambda rng: [rng.integers(0, most, shape).astype(np.int32) for shape in shapes]


def layer(name, make, *shapes, inputs=None, dtype="float32", forms=Case.forms, is_old=False, **call):
    """A model of one layer on inputs of these shapes, with the batch."""

    def build():
        given = [keras.Input(shape[1:], dtype=dtype) for shape in shapes]
        made = make()
        return keras.Model(given, made(given[0] if len(given) == 1 else given, **call))

    CASES.append(Case(name, build, inputs or floats(*shapes), forms, is_old))


def graph(name, function, *shapes, inputs=None, dtype="float32", forms=Case.forms, has_batch=True):
    """A model of a function of tensors. has_batch: their first axes are the batch, which Keras leaves open. It is the
    same for all inputs: Keras refuses data of other sizes ("Data cardinality is ambiguous")."""

    def build():
        given = [
            keras.Input(shape[1:], dtype=dtype) if has_batch else keras.Input(batch_shape=shape, dtype=dtype)
            for shape in shapes
        ]
        return keras.Model(given, function(*given))

    CASES.append(Case(name, build, inputs or floats(*shapes), forms))


IMAGE, SEQUENCE, VOLUME = (2, 8, 7, 6), (2, 9, 6), (2, 6, 5, 4, 4)
OF_RANK = {1: SEQUENCE, 2: IMAGE, 3: VOLUME}


def convolutions():
    for rank in (1, 2, 3):
        shape = OF_RANK[rank]
        conv, turned = getattr(L, f"Conv{rank}D"), getattr(L, f"Conv{rank}DTranspose")
        for padding in ("valid", "same"):
            for strides, dilation in ((1, 1), (2, 1), (1, 2 if rank < 3 else 1), (3, 1)):
                name = f"Conv{rank}D {padding} {strides} {dilation}"
                layer(name, lambda c=conv, p=padding, s=strides, d=dilation: c(5, 3, s, p, dilation_rate=d), shape)
        layer(f"Conv{rank}D groups", lambda c=conv: c(4, 2, groups=2, use_bias=False, activation="relu"), shape)
        layer(f"Conv{rank}D even", lambda c=conv: c(4, 2, padding="same", bias_initializer="ones"), shape)
        for padding, strides, size in (("valid", 1, 3), ("valid", 2, 3), ("valid", 3, 2), ("same", 1, 3),
                                       ("same", 2, 4), ("valid", 2, 2)):  # fmt: skip
            layer(f"Conv{rank}DTranspose {padding} {strides} {size}",
                  lambda c=turned, p=padding, s=strides, k=size: c(5, k, s, p, activation="tanh"), shape)  # fmt: skip
    layer("Conv1D causal", lambda: L.Conv1D(5, 3, padding="causal", dilation_rate=2), SEQUENCE)
    layer("Conv2D strides by axis", lambda: L.Conv2D(5, (3, 2), (2, 1), "same"), IMAGE)
    layer("Conv2D channels first", lambda: L.Conv2D(5, 3, 2, "same", data_format="channels_first"), IMAGE)
    layer("Conv2DTranspose channels first", lambda: L.Conv2DTranspose(5, 3, data_format="channels_first"), IMAGE)
    layer("Conv2DTranspose output padding", lambda: L.Conv2DTranspose(5, 3, 2, "same", output_padding=1), IMAGE)
    for rank in (1, 2):
        shape = OF_RANK[rank]
        depthwise, separable = getattr(L, f"DepthwiseConv{rank}D"), getattr(L, f"SeparableConv{rank}D")
        for padding, strides, many in (("valid", 1, 1), ("same", 1, 2), ("same", 2, 1)):
            layer(f"DepthwiseConv{rank}D {padding} {strides} {many}",
                  lambda c=depthwise, p=padding, s=strides, m=many: c(3, s, p, depth_multiplier=m), shape)  # fmt: skip
            layer(f"SeparableConv{rank}D {padding} {strides} {many}",
                  lambda c=separable, p=padding, s=strides, m=many: c(
                      5, 3, s, p, depth_multiplier=m), shape)  # fmt: skip
        layer(f"DepthwiseConv{rank}D dilated", lambda c=depthwise: c(3, dilation_rate=2, padding="same"), shape)


def pools():
    for rank in (1, 2, 3):
        shape = OF_RANK[rank]
        for kind in ("Max", "Average"):
            pool, whole = getattr(L, f"{kind}Pooling{rank}D"), getattr(L, f"Global{kind}Pooling{rank}D")
            for size, strides, padding in ((2, None, "valid"), (3, 2, "same"), (3, 1, "same"), (2, 3, "valid")):
                layer(f"{kind}Pooling{rank}D {size} {strides} {padding}",
                      lambda c=pool, k=size, s=strides, p=padding: c(k, s, p), shape)  # fmt: skip
            layer(f"Global{kind}Pooling{rank}D", lambda c=whole: c(), shape)
            layer(f"Global{kind}Pooling{rank}D keepdims", lambda c=whole: c(keepdims=True), shape)
            adaptive = getattr(L, f"Adaptive{kind}Pooling{rank}D")
            for size in (2, 3):
                layer(f"Adaptive{kind}Pooling{rank}D {size}", lambda c=adaptive, k=size: c(k), shape)
    layer("MaxPooling2D channels first", lambda: L.MaxPooling2D(2, data_format="channels_first"), IMAGE)
    layer("GlobalAveragePooling2D channels first", lambda: L.GlobalAveragePooling2D("channels_first"), IMAGE)


def activations():
    others = ("get", "serialize", "deserialize", "threshold")
    names = [name for name in dir(keras.activations) if name.islower() and name[0] != "_" and name not in others]
    for name in names:
        layer(f"Activation {name}", lambda n=name: L.Activation(n), (3, 8))
    layer("Activation softmax of an image", lambda: L.Activation("softmax"), IMAGE)
    layer("ReLU", lambda: L.ReLU(), (3, 8))
    layer("ReLU all options", lambda: L.ReLU(1.5, 0.2, 0.3), (3, 8))
    layer("ReLU slope", lambda: L.ReLU(negative_slope=0.2), (3, 8))
    layer("ReLU most", lambda: L.ReLU(6.0), (3, 8))
    layer("ReLU threshold", lambda: L.ReLU(threshold=0.5), (3, 8))
    layer("LeakyReLU", lambda: L.LeakyReLU(0.1), (3, 8))
    layer("ELU", lambda: L.ELU(0.7), (3, 8))
    layer("PReLU", lambda: L.PReLU("uniform"), IMAGE)
    layer("PReLU shared", lambda: L.PReLU("uniform", shared_axes=[1, 2]), IMAGE)
    layer("Softmax", lambda: L.Softmax(), (3, 8))
    layer("Softmax axis", lambda: L.Softmax(1), IMAGE)
    layer("Softmax axes", lambda: L.Softmax((1, 2)), IMAGE)


def dense():
    layer("Dense", lambda: L.Dense(5), (3, 8))
    layer("Dense activation", lambda: L.Dense(5, "gelu", bias_initializer="ones"), (3, 8))
    layer("Dense of a sequence", lambda: L.Dense(5, use_bias=False), SEQUENCE)
    layer("Dense of an image", lambda: L.Dense(5, activation=L.LeakyReLU(0.1)), IMAGE)
    layer("EinsumDense", lambda: L.EinsumDense("abc,cd->abd", (None, 5), bias_axes="d"), SEQUENCE)
    layer("EinsumDense heads", lambda: L.EinsumDense("abc,cde->abde", (None, 2, 5), bias_axes="de"), SEQUENCE)
    layer("EinsumDense dots", lambda: L.EinsumDense("...x,xy->...y", 5, "relu"), IMAGE)
    layer("EinsumDense bias of steps", lambda: L.EinsumDense("abc,bd->adc", (5, None), bias_axes="d"), SEQUENCE)
    layer("Embedding", lambda: L.Embedding(11, 4), (2, 5), inputs=integers(11, (2, 5)), dtype="int32")
    layer("Embedding of floats", lambda: L.Embedding(2, 4), (2, 5), inputs=floats((2, 5), low=0, high=1.9))
    graph("ReversibleEmbedding", lambda x: (lambda e: e(e(x), reverse=True))(L.ReversibleEmbedding(11, 4)), (2, 5),
          inputs=integers(11, (2, 5)), dtype="int32")  # fmt: skip
    graph("ReversibleEmbedding capped", lambda x: (lambda e: e(e(x), reverse=True))(
          L.ReversibleEmbedding(11, 4, tie_weights=False, logit_soft_cap=2.0)), (2, 5), inputs=integers(11, (2, 5)),
          dtype="int32")  # fmt: skip


def normalisations():
    random = {"beta_initializer": "normal", "gamma_initializer": "uniform"}
    moving = {"moving_mean_initializer": "normal", "moving_variance_initializer": "ones"}
    layer("BatchNormalization", lambda: L.BatchNormalization(**random, **moving), IMAGE)
    layer("BatchNormalization axis", lambda: L.BatchNormalization(1, epsilon=0.1, **random, **moving), IMAGE)
    layer("BatchNormalization no scale", lambda: L.BatchNormalization(scale=False, **moving), SEQUENCE)
    layer("BatchNormalization no center", lambda: L.BatchNormalization(center=False, scale=False, **moving), (3, 8))
    layer("LayerNormalization", lambda: L.LayerNormalization(**random), SEQUENCE)
    layer("LayerNormalization axes", lambda: L.LayerNormalization((1, 2), epsilon=0.1, **random), IMAGE)
    layer("LayerNormalization no scale", lambda: L.LayerNormalization(center=False, scale=False), SEQUENCE)
    layer("RMSNormalization", lambda: L.RMSNormalization(epsilon=0.1), SEQUENCE)
    layer("GroupNormalization", lambda: L.GroupNormalization(3, **random), IMAGE)
    layer("GroupNormalization axis", lambda: L.GroupNormalization(2, axis=1, **random), IMAGE)
    layer("GroupNormalization instances", lambda: L.GroupNormalization(-1, scale=False), IMAGE)
    layer("UnitNormalization", lambda: L.UnitNormalization(), SEQUENCE)
    layer("UnitNormalization axis", lambda: L.UnitNormalization(1), IMAGE)
    layer("SpectralNormalization", lambda: L.SpectralNormalization(L.Conv2D(5, 3)), IMAGE)
    layer("Normalization", lambda: L.Normalization(mean=[0.5, 1, 2, 3, 4, 5], variance=[1, 2, 3, 4, 5, 6]), (3, 6))
    layer("Normalization scalar", lambda: L.Normalization(None, mean=0.5, variance=2.0), IMAGE)
    layer("Normalization inverse", lambda: L.Normalization(mean=0.5, variance=2.0, invert=True), IMAGE)
    layer("Normalization adapted", lambda: _adapted(L.Normalization()), (3, 6))


def _adapted(made):
    made.adapt(np.random.default_rng(3).normal(1, 2, (50, 6)).astype(np.float32))
    return made


def shapes():
    layer("Flatten", lambda: L.Flatten(), IMAGE)
    layer("Flatten channels first", lambda: L.Flatten("channels_first"), IMAGE)
    layer("Reshape", lambda: L.Reshape((4, -1)), IMAGE)
    layer("Reshape all", lambda: L.Reshape((6, 7, 8)), IMAGE)
    layer("Permute", lambda: L.Permute((3, 1, 2)), IMAGE)
    layer("RepeatVector", lambda: L.RepeatVector(3), (2, 5))
    for rank, (pad, crop) in {1: ((1, 2), (2, 1)), 2: (((1, 2), (0, 3)), ((1, 2), (0, 3))),
                              3: (((1, 2), (0, 3), (2, 1)), ((1, 2), (0, 3), (1, 1)))}.items():  # fmt: skip
        shape = OF_RANK[rank]
        padding, cropping = getattr(L, f"ZeroPadding{rank}D"), getattr(L, f"Cropping{rank}D")
        layer(f"ZeroPadding{rank}D", lambda c=padding: c(2), shape)
        layer(f"ZeroPadding{rank}D pairs", lambda c=padding, p=pad: c(p), shape)
        layer(f"Cropping{rank}D", lambda c=cropping: c(1), shape)
        layer(f"Cropping{rank}D pairs", lambda c=cropping, p=crop: c(p), shape)
        larger = getattr(L, f"UpSampling{rank}D")
        layer(f"UpSampling{rank}D", lambda c=larger: c(3), shape)
    layer("ZeroPadding2D symmetric", lambda: L.ZeroPadding2D((1, 2)), IMAGE)
    layer("ZeroPadding2D channels first", lambda: L.ZeroPadding2D((1, 2), "channels_first"), IMAGE)
    layer("UpSampling2D by axis", lambda: L.UpSampling2D((2, 3)), IMAGE)
    layer("UpSampling2D bilinear", lambda: L.UpSampling2D(2, interpolation="bilinear"), IMAGE)


def merges():
    for name in ("Add", "Multiply", "Maximum", "Minimum", "Average"):
        layer(name, getattr(L, name), SEQUENCE, SEQUENCE, SEQUENCE)
        layer(f"{name} broadcast", getattr(L, name), SEQUENCE, (2, 6))
    layer("Subtract", L.Subtract, SEQUENCE, SEQUENCE)
    layer("Concatenate", L.Concatenate, SEQUENCE, (2, 9, 3))
    layer("Concatenate axis", lambda: L.Concatenate(1), SEQUENCE, (2, 4, 6))
    layer("Dot", lambda: L.Dot(1), (2, 5), (2, 5))
    layer("Dot matrices", lambda: L.Dot((2, 1)), (2, 4, 5), (2, 5, 3))
    layer("Dot normalised", lambda: L.Dot(-1, normalize=True), (2, 4, 5), (2, 3, 5))


# Layers that change images in training only, with their arguments.
RANDOM_IMAGES = {
    "AugMix": (), "CutMix": (), "MixUp": (), "RandAugment": (), "RandomColorJitter": ((0, 255), 0.5, 0.5, 0.5, 0.5),
    "RandomCrop": (5, 4), "RandomElasticTransform": (), "RandomErasing": (), "RandomGaussianBlur": (),
    "RandomGrayscale": (), "RandomHue": (0.5,), "RandomInvert": (), "RandomPerspective": (),
    "RandomPosterization": (4,), "RandomSaturation": (0.5,), "RandomSharpness": (0.5,), "RandomShear": (0.5, 0.5),
}  # fmt: skip


def preprocessing():
    layer("Rescaling", lambda: L.Rescaling(1 / 127.5, -1), IMAGE)
    layer("Resizing bilinear", lambda: L.Resizing(5, 11), IMAGE)
    layer("Resizing nearest", lambda: L.Resizing(5, 11, "nearest"), IMAGE)
    layer("Resizing crop", lambda: L.Resizing(6, 4, crop_to_aspect_ratio=True), IMAGE)
    layer("CenterCrop", lambda: L.CenterCrop(5, 4), IMAGE)
    layer("Discretization", lambda: L.Discretization([-1.0, 0.0, 0.5]), (3, 8))
    layer("Discretization one hot", lambda: L.Discretization([-1.0, 0.0, 0.5], output_mode="one_hot"), (3, 1))
    for mode in ("one_hot", "multi_hot", "count"):
        layer(
            f"CategoryEncoding {mode}",
            lambda m=mode: L.CategoryEncoding(7, m),
            (3, 4),
            inputs=integers(7, (3, 4)),
            dtype="int32",
        )
    for name in ("RandomFlip", "RandomBrightness", "RandomContrast", "RandomRotation", "RandomZoom",
                 "RandomTranslation"):  # fmt: skip
        arguments = () if name == "RandomFlip" else (0.2, 0.2) if name == "RandomTranslation" else (0.2,)
        forms = (".keras", "live") if name == "RandomBrightness" else Case.forms  # Keras cannot write it to .h5
        layer(name, lambda n=name, a=arguments: getattr(L, n)(*a), IMAGE, forms=forms)
    for name, arguments in RANDOM_IMAGES.items():  # Keras cannot write all of them to .h5
        layer(name, lambda n=name, a=arguments: getattr(L, n)(*a), IMAGE, forms=(".keras", "live"))
    layer("RandomColorDegeneration", lambda: L.RandomColorDegeneration(0.5), (2, 8, 7, 3), forms=(".keras", "live"))
    pixels, unit = floats(IMAGE, low=0, high=255), floats((2, 19, 21, 3), low=0, high=1)
    # Keras itself cannot build a network with Equalization: it says that the layer's result is its input, a cycle.
    for name in ("Solarization", "AutoContrast", "ContrastLimitedAdaptiveHistogramEqualization"):
        layer(name, lambda n=name: getattr(L, n)(), IMAGE, inputs=pixels, forms=(".keras", "live"))
    layer("AutoContrast range", lambda: L.AutoContrast((0, 1)), (2, 19, 21, 3), inputs=unit, forms=("live",))
    clahe = {"value_range": (0, 1), "clip_limit": 2.0, "tile_grid_size": (3, 4)}
    layer("ContrastLimitedAdaptiveHistogramEqualization tiles", lambda: L.ContrastLimitedAdaptiveHistogramEqualization(
        **clahe), (2, 19, 21, 3), inputs=unit, forms=("live",))  # fmt: skip
    layer("MaxNumBoundingBoxes", lambda: L.MaxNumBoundingBoxes(4), IMAGE, forms=("live",))
    for name in ("RandomHeight", "RandomWidth"):
        layer(name, lambda n=name: getattr(L, n)(0.2), IMAGE, is_old=True)
    for name in ("Dropout", "GaussianDropout", "GaussianNoise", "AlphaDropout"):
        layer(name, lambda n=name: getattr(L, n)(0.5), (3, 8))
    for rank in (1, 2, 3):
        layer(f"SpatialDropout{rank}D", lambda r=rank: getattr(L, f"SpatialDropout{r}D")(0.5), OF_RANK[rank])
    layer("Pipeline", lambda: L.Pipeline([L.Rescaling(0.5), L.CenterCrop(5, 4)]), IMAGE)
    for text, options in (("", {}), (" mask", {"mask_token": 0}), (" several", {"num_oov_indices": 3}),
                          (" counts", {"output_mode": "count"})):  # fmt: skip
        layer(f"IntegerLookup{text}", lambda o=options: L.IntegerLookup(vocabulary=[3, 7, 1], **o), (2, 5),
              inputs=integers(9, (2, 5)), dtype="int32", forms=("live",))  # fmt: skip
    texts = lambda rng: [rng.choice(["a", "bc", "d", ""], (2, 5))]  # noqa: E731
    for text, options in (("", {}), (" mask", {"mask_token": ""}), (" one hot", {"output_mode": "one_hot"})):
        layer(f"StringLookup{text}", lambda o=options: L.StringLookup(vocabulary=["bc", "a"], **o), (2, 5),
              inputs=texts, dtype="string", forms=("live",))  # fmt: skip
    for mode in ("log", "magnitude", "psd", "real", "imag", "angle", "stft"):
        layer(f"STFTSpectrogram {mode}", lambda m=mode: L.STFTSpectrogram(mode=m, frame_length=16, frame_step=6),
              (2, 50, 2), forms=(".keras", "live"))  # fmt: skip
    layer("STFTSpectrogram same", lambda: L.STFTSpectrogram(frame_length=16, padding="same", expand_dims=True),
          (2, 50, 2), forms=("live",))  # fmt: skip
    mel = {"fft_length": 64, "sequence_stride": 20, "num_mel_bins": 12, "sampling_rate": 800}
    for text, options in (("", {}), (" power", {"power_to_db": False, "mag_exp": 1.0, "window": "hamming"}),
                          (" short", {"sequence_length": 40, "min_freq": 50.0, "top_db": 30.0})):  # fmt: skip
        layer(f"MelSpectrogram{text}", lambda o=options: L.MelSpectrogram(**mel, **o), (2, 400),
              forms=(".keras", "live"))  # fmt: skip
    layer("Identity", L.Identity, (3, 8))
    layer("ActivityRegularization", lambda: L.ActivityRegularization(0.1), (3, 8))


def recurrent():
    for name in ("LSTM", "GRU", "SimpleRNN"):
        kind = getattr(L, name)
        for text, options in (("", {}), (" sequences", {"return_sequences": True}),
                              (" backwards", {"return_sequences": True, "go_backwards": True}),
                              (" no bias", {"use_bias": False, "return_sequences": True}),
                              (" state", {"return_state": True}), (" relu", {"activation": "relu"}),
                              (" selu", {"activation": "selu", "return_sequences": True}),
                              (" unrolled", {"unroll": True})):  # fmt: skip
            layer(f"{name}{text}", lambda k=kind, o=options: k(5, bias_initializer="normal", **o), SEQUENCE)
        layer(f"{name} masked", lambda k=kind: keras.Sequential([L.Embedding(4, 6, mask_zero=True), k(5)]), (3, 9),
              inputs=integers(4, (3, 9)), dtype="int32")  # fmt: skip
        for zero in (False, True):
            layer(f"{name} masked sequences {zero}", lambda k=kind, z=zero: keras.Sequential(
                [L.Embedding(3, 6, mask_zero=True), k(5, return_sequences=True, zero_output_for_mask=z), k(4)]),
                (3, 9), inputs=integers(3, (3, 9)), dtype="int32")  # fmt: skip
        for mode in ("concat", "sum", "ave", "mul"):
            layer(f"Bidirectional {name} {mode}", lambda k=kind, m=mode: L.Bidirectional(
                k(5, return_sequences=True, bias_initializer="normal"), merge_mode=m), SEQUENCE)  # fmt: skip
        layer(f"Bidirectional {name} last", lambda k=kind: L.Bidirectional(k(5, return_state=True)), SEQUENCE)
        layer(f"Bidirectional {name} masked", lambda k=kind: keras.Sequential(
            [L.Embedding(3, 6, mask_zero=True), L.Bidirectional(k(5, return_sequences=True)), k(3)]), (3, 9),
            inputs=integers(3, (3, 9)), dtype="int32")  # fmt: skip
        cell = getattr(L, f"{name}Cell")
        layer(f"RNN {name}Cell", lambda k=cell: L.RNN(k(5), return_sequences=True, return_state=True), SEQUENCE)
        layer(f"RNN stacked {name}Cell", lambda k=cell: L.RNN([k(5), k(4)], return_state=True), SEQUENCE)
        graph(name + "Cell", *((lambda x, h, c: L.LSTMCell(5)(x, [h, c]), (3, 6), (3, 5), (3, 5)) if name == "LSTM" else
              (lambda x, h, k=cell: k(5)(x, [h]), (3, 6), (3, 5))))  # fmt: skip
    layer("LSTM hard sigmoid", lambda: L.LSTM(5, recurrent_activation="hard_sigmoid"), SEQUENCE)
    layer("GRU reset before", lambda: L.GRU(5, reset_after=False, return_sequences=True), SEQUENCE)
    layer("GRU reset before selu", lambda: L.GRU(5, "selu", reset_after=False), SEQUENCE)
    layer("Bidirectional two outputs", lambda: L.Bidirectional(L.GRU(5), merge_mode=None), SEQUENCE)
    layer("Bidirectional own backward", lambda: L.Bidirectional(L.GRU(5), "sum", backward_layer=L.LSTM(
        5, go_backwards=True)), SEQUENCE)  # fmt: skip
    graph("LSTM initial state", lambda x, h, c: L.LSTM(5)(x, initial_state=[h, c]), SEQUENCE, (2, 5), (2, 5))
    graph("Bidirectional initial state", lambda x, h, g: L.Bidirectional(L.GRU(5))(x, initial_state=[h, g]), SEQUENCE,
          (2, 5), (2, 5))  # fmt: skip
    graph("StackedRNNCells", lambda x, h, g: L.StackedRNNCells([L.GRUCell(5), L.SimpleRNNCell(4)])(x, [[h], [g]]),
          (3, 6), (3, 5), (3, 4))  # fmt: skip
    layer("Masking", lambda: keras.Sequential([L.Masking(0.0), L.LSTM(5, return_sequences=True)]), SEQUENCE)
    layer("TimeDistributed", lambda: L.TimeDistributed(L.Conv2D(3, 2, activation="relu")), VOLUME)
    layer("TimeDistributed Dense", lambda: L.TimeDistributed(L.Dense(3)), SEQUENCE)
    layer("ConvLSTM1D", lambda: L.ConvLSTM1D(3, 3, padding="same", return_sequences=True), IMAGE)
    layer("ConvLSTM2D", lambda: L.ConvLSTM2D(3, 2, return_state=True), VOLUME)
    layer("ConvLSTM2D strides", lambda: L.ConvLSTM2D(3, 3, strides=2, padding="same", go_backwards=True), VOLUME)
    layer("ConvLSTM3D", lambda: L.ConvLSTM3D(2, 2), (2, 3, 4, 4, 3, 2))


def attention():
    two, three = (SEQUENCE, (2, 5, 6)), (SEQUENCE, (2, 5, 3), (2, 5, 6))
    for name in ("Attention", "AdditiveAttention"):
        kind = getattr(L, name)
        layer(name, lambda k=kind: k(use_scale=True), *two)
        layer(f"{name} no scale", lambda k=kind: k(use_scale=False), *three)
        layer(f"{name} causal", lambda k=kind: k(), SEQUENCE, SEQUENCE, use_causal_mask=True)
        layer(f"{name} scores", lambda k=kind: k(), *two, return_attention_scores=True)
        graph(f"{name} masked", lambda a, b, k=kind: (lambda e: k()([e(a), e(b)]))(L.Embedding(5, 6, mask_zero=True)),
              (2, 9), (2, 7), inputs=lambda rng: [np.maximum(rng.integers(0, 5, s), np.arange(s[1]) == 0) .astype(
                  np.int32) for s in ((2, 9), (2, 7))], dtype="int32")  # fmt: skip
    layer("Attention concat", lambda: L.Attention(True, "concat"), *two)
    heads = lambda **o: lambda x, y: L.MultiHeadAttention(2, 4, bias_initializer="normal", **o)(x, y)  # noqa: E731
    graph("MultiHeadAttention", heads(), SEQUENCE, (2, 5, 8))
    graph("MultiHeadAttention value size", heads(value_dim=3, output_shape=7), SEQUENCE, (2, 5, 8))
    graph("MultiHeadAttention no bias", heads(use_bias=False), SEQUENCE, (2, 5, 8))
    graph("MultiHeadAttention gate", heads(use_gate=True), SEQUENCE, (2, 5, 8))
    graph("MultiHeadAttention window", heads(sliding_window=3), SEQUENCE, SEQUENCE)
    graph("MultiHeadAttention key", lambda x, y, z: L.MultiHeadAttention(2, 4)(x, y, z), SEQUENCE, (2, 5, 8), (2, 5, 3))
    graph("MultiHeadAttention causal", lambda x: L.MultiHeadAttention(2, 4)(x, x, use_causal_mask=True), SEQUENCE)
    graph("MultiHeadAttention scores", lambda x: L.MultiHeadAttention(2, 4)(x, x, return_attention_scores=True),
          SEQUENCE)  # fmt: skip
    graph("MultiHeadAttention axes", lambda x: L.MultiHeadAttention(2, 4, attention_axes=(1, 2))(x, x), IMAGE)
    graph("MultiHeadAttention axis", lambda x: L.MultiHeadAttention(2, 4, attention_axes=2)(x, x), IMAGE)
    graph("MultiHeadAttention masked", lambda x: (lambda e: L.MultiHeadAttention(2, 4)(e, e))(
        L.Embedding(5, 6, mask_zero=True)(x)), (2, 9), dtype="int32", inputs=lambda rng: [np.maximum(
            rng.integers(0, 5, (2, 9)), np.arange(9) == 0).astype(np.int32)])  # fmt: skip
    graph("GroupQueryAttention", lambda x, y: L.GroupQueryAttention(4, 4, 2)(x, y), SEQUENCE, (2, 5, 6))
    graph("GroupQueryAttention one key", lambda x: L.GroupQueryAttention(4, 4, 1, use_bias=False)(x, x), SEQUENCE)
    graph("GroupQueryAttention causal", lambda x: L.GroupQueryAttention(4, 4, 4)(x, x, use_causal_mask=True), SEQUENCE)


def operations():
    unary = {
        "Absolute": ops.abs, "Negative": ops.negative, "Square": ops.square, "Exp": ops.exp, "Sin": ops.sin,
        "Cos": ops.cos, "Tanh": ops.tanh, "Sigmoid": ops.sigmoid, "Relu": ops.relu, "Relu6": ops.relu6,
        "Gelu": ops.gelu, "Silu": ops.silu, "Softplus": ops.softplus, "Erf": ops.erf, "Floor": ops.floor,
        "Ceil": ops.ceil, "Round": ops.round, "Sign": ops.sign, "Expm1": ops.expm1, "Arctan": ops.arctan,
        "Arcsinh": ops.arcsinh, "Reciprocal": ops.reciprocal, "Softmax": ops.softmax, "LogSoftmax": ops.log_softmax,
        "Elu": ops.elu, "LeakyRelu": lambda x: ops.leaky_relu(x, 0.3), "HardSigmoid": ops.hard_sigmoid,
        "Sum": ops.sum, "Mean": lambda x: ops.mean(x, axis=(1, 2)), "Max": lambda x: ops.max(x, axis=1, keepdims=True),
        "Min": lambda x: ops.min(x, axis=-1), "Prod": lambda x: ops.prod(x, axis=-1),
        "Var": lambda x: ops.var(x, axis=1), "Std": lambda x: ops.std(x, axis=1),
        "Logsumexp": lambda x: ops.logsumexp(x, axis=1), "Norm": lambda x: ops.norm(x, axis=1),
        "Normalize": ops.normalize, "Argmax": lambda x: ops.argmax(x, axis=1), "Argmin": lambda x: ops.argmin(x, 2),
        "Sort": lambda x: ops.sort(x, axis=1), "Argsort": lambda x: ops.argsort(x, axis=1),
        "TopK": lambda x: ops.top_k(x, 3), "Cumsum": lambda x: ops.cumsum(x, axis=1),
        "Cumprod": lambda x: ops.cumprod(x, axis=1), "Reshape": lambda x: ops.reshape(x, (-1, 6, 9)),
        "Transpose": lambda x: ops.transpose(x, (0, 2, 1)), "Swapaxes": lambda x: ops.swapaxes(x, 1, 2),
        "Moveaxis": lambda x: ops.moveaxis(x, 1, -1), "ExpandDims": lambda x: ops.expand_dims(x, 2),
        "Squeeze": lambda x: ops.squeeze(ops.expand_dims(x, 2), 2), "Tile": lambda x: ops.tile(x, (1, 2, 3)),
        "Repeat": lambda x: ops.repeat(x, 3, axis=1), "Flip": lambda x: ops.flip(x, axis=1),
        "Roll": lambda x: ops.roll(x, 2, axis=1), "Pad": lambda x: ops.pad(x, ((0, 0), (1, 2), (3, 0))),
        "Pad reflect": lambda x: ops.pad(x, ((0, 0), (1, 2), (3, 0)), "reflect"),
        "GetItem": lambda x: x[:, 2:-1:2, None, 3], "GetItem dots": lambda x: x[..., -1],
        "GetItem backwards": lambda x: x[:, ::-1], "Clip": lambda x: ops.clip(x, -0.5, 1.0),
        "Cast": lambda x: ops.cast(x, "int32"), "Cast bool": lambda x: ops.cast(x, "bool"),
        "OnesLike": ops.ones_like, "Split": lambda x: ops.split(x, 3, axis=1),
        "Split places": lambda x: ops.split(x, [2, 5], axis=1), "Unstack": lambda x: ops.unstack(x, axis=1),
        "Take": lambda x: ops.take(x, [2, 0, -1], axis=1), "Power": lambda x: ops.power(ops.abs(x), 1.5),
        "Add number": lambda x: 2.5 + x * 3 - 1, "Divide number": lambda x: (1 / ops.exp(x)) / 3,
        "Where": lambda x: ops.where(ops.greater(x, 0), x, 0.5), "FloorDivide": lambda x: x // 0.7,
        "Mod": lambda x: x % 0.7, "Any": lambda x: ops.any(ops.greater(x, 1.9), axis=1),
        "Einsum": lambda x: ops.einsum("abc,adc->abd", x, x), "Stack": lambda x: ops.stack([x, x * 2], axis=1),
        "OneHot": lambda x: ops.one_hot(ops.cast(ops.abs(x), "int32"), 3),
        "Concatenate": lambda x: ops.concatenate([x, x], axis=1), "Isnan": ops.isnan, "LogicalNot": lambda x:
        ops.logical_not(ops.greater(x, 0)), "Squareplus": ops.squareplus, "Glu": ops.glu, "Celu": ops.celu,
        "Selu": ops.selu, "Log1p": lambda x: ops.log1p(ops.exp(x)), "Triu": ops.triu, "Tril": lambda x:
        ops.tril(x, -1), "MaxPool": lambda x: ops.max_pool(x, 3, 2, "same"), "AveragePool": lambda x:
        ops.average_pool(x, 2),
        "All": lambda x: ops.all(ops.greater(x, -1.5), axis=1), "Amax": lambda x: ops.amax(x, axis=1),
        "Amin": lambda x: ops.amin(x, axis=1), "Arccos": lambda x: ops.arccos(x / 2),
        "Arccosh": lambda x: ops.arccosh(x + 4), "Arcsin": lambda x: ops.arcsin(x / 2),
        "Arctanh": lambda x: ops.arctanh(x / 3), "BroadcastTo": lambda x: ops.broadcast_to(x[:, :1], (2, 9, 6)),
        "Copy": ops.copy, "Cosh": ops.cosh, "FullLike": lambda x: ops.full_like(x, 0.5), "HardShrink": ops.hard_shrink,
        "HardSilu": ops.hard_silu, "HardTanh": ops.hard_tanh, "Isfinite": ops.isfinite, "Isinf": ops.isinf,
        "Log": lambda x: ops.log(ops.abs(x) + 0.1), "Log10": lambda x: ops.log10(ops.abs(x) + 0.1),
        "Log2": lambda x: ops.log2(ops.abs(x) + 0.1), "LogSigmoid": ops.log_sigmoid,
        "Ravel": ops.ravel, "Rsqrt": lambda x: ops.rsqrt(ops.abs(x) + 0.1), "Sinh": ops.sinh,
        "SoftShrink": ops.soft_shrink, "Softsign": ops.softsign, "SparsePlus": ops.sparse_plus,
        "SparseSigmoid": ops.sparse_sigmoid, "Sqrt": lambda x: ops.sqrt(ops.abs(x)), "StopGradient": ops.stop_gradient,
        "Tan": lambda x: ops.tan(x / 2), "TanhShrink": ops.tanh_shrink, "Trunc": ops.trunc,
        "ZerosLike": ops.zeros_like,
    }  # fmt: skip
    for name, function in unary.items():
        graph(f"ops.{name}", function, SEQUENCE)
    # keras.activations.mish computes at once, and refuses tensors of a network: only the class makes an operation.
    graph("ops.Mish", lambda x: keras.src.activations.activations.Mish()(x), SEQUENCE)
    binary = {
        "Add": ops.add, "Subtract": ops.subtract, "Multiply": ops.multiply, "Divide": ops.divide,
        "Maximum": ops.maximum, "Minimum": ops.minimum, "Equal": ops.equal, "Less": ops.less,
        "Greater": ops.greater, "GreaterEqual": ops.greater_equal, "LogicalAnd": lambda a, b: ops.logical_and(
            ops.greater(a, 0), ops.greater(b, 0)),
        "LogicalOr": lambda a, b: ops.logical_or(ops.greater(a, 0), ops.greater(b, 0)),
        "LogicalXor": lambda a, b: ops.logical_xor(ops.greater(a, 0), ops.greater(b, 0)),
        "LessEqual": ops.less_equal, "NotEqual": ops.not_equal,
    }  # fmt: skip
    for name, function in binary.items():
        graph(f"ops.{name}", function, SEQUENCE, SEQUENCE)
    for name, (a, b) in {"": (SEQUENCE, (2, 6, 4)), " stacks": ((2, 3, 4, 5), (2, 3, 5, 2)),
                         " vector": ((2, 3, 4, 5), (2, 1, 5, 2))}.items():  # fmt: skip
        graph(f"ops.Matmul{name}", ops.matmul, a, b)
    graph("ops.Logaddexp", ops.logaddexp, SEQUENCE, SEQUENCE)
    graph("ops.Dot", ops.dot, (2, 5), (5, 3), has_batch=False)
    graph("ops.Outer", ops.outer, (2, 5), (2, 4))
    heads = ((2, 5, 4, 3), (2, 7, 2, 3), (2, 7, 2, 3))
    graph("ops.DotProductAttention", ops.dot_product_attention, *heads)
    graph("ops.DotProductAttention causal", lambda x: ops.dot_product_attention(x, x, x, is_causal=True), heads[0])
    graph("ops.Resize", lambda x: ops.image.resize(x, (5, 9)), IMAGE)
    graph("ops.Tensordot", lambda a, b: ops.tensordot(a, b, [[0, 1], [0, 1]]), SEQUENCE, (2, 9, 4))
    graph("ops.TakeAlongAxis", lambda a: ops.take_along_axis(a, ops.argsort(a, axis=1), axis=1), SEQUENCE)


def tensorflow_functions():
    """TensorFlow's functions of tensors of Keras 2, each a layer TFOpLambda or SlicingOpLambda."""
    import tensorflow as tf

    functions = {
        "add": lambda x: x + 1.5, "radd": lambda x: 2 - x, "truediv": lambda x: 1 / (x + 3.0), "pow": lambda x: x**2,
        "relu": tf.nn.relu, "leaky_relu": lambda x: tf.nn.leaky_relu(x, 0.3), "gelu": tf.nn.gelu,
        "sigmoid": tf.sigmoid, "tanh": tf.tanh, "exp": tf.exp, "sqrt": lambda x: tf.sqrt(tf.abs(x)),
        "softmax": tf.nn.softmax, "reduce_mean": lambda x: tf.reduce_mean(x, axis=1),
        "reduce_sum": lambda x: tf.reduce_sum(x, axis=[1, 2], keepdims=True), "reduce_max": lambda x:
        tf.reduce_max(x, 2), "reshape": lambda x: tf.reshape(x, [-1, 54]), "transpose": lambda x:
        tf.transpose(x, [0, 2, 1]), "expand_dims": lambda x: tf.expand_dims(x, 1), "squeeze": lambda x:
        tf.squeeze(tf.expand_dims(x, 1), 1), "concat": lambda x: tf.concat([x, x * 2], axis=1), "stack": lambda x:
        tf.stack([x, x], axis=2), "split": lambda x: tf.split(x, 3, axis=1), "split sizes": lambda x:
        tf.split(x, [2, 7], axis=1), "unstack": lambda x: tf.unstack(x, axis=2), "tile": lambda x:
        tf.tile(x, [1, 2, 1]), "getitem": lambda x: x[:, 1:7:2, -1], "getitem newaxis": lambda x:
        x[:, None, :, :3], "cast": lambda x: tf.cast(x, tf.int32), "clip": lambda x: tf.clip_by_value(x, -1.0, 0.5),
        "where": lambda x: tf.where(x > 0, x, x * 0.1), "gather": lambda x: tf.gather(x, [2, 0], axis=1),
        "matmul": lambda x: tf.matmul(x, x, transpose_b=True), "l2_normalize": lambda x:
        tf.math.l2_normalize(x, axis=-1), "argmax": lambda x: tf.cast(tf.argmax(x, axis=1), tf.int32),
        "one_hot": lambda x: tf.one_hot(tf.cast(tf.abs(x), tf.int32), 3), "pad": lambda x:
        tf.pad(x, [[0, 0], [1, 2], [0, 3]]), "reverse": lambda x: tf.reverse(x, axis=[1]), "maximum": lambda x:
        tf.maximum(x, 0.3), "square": tf.square, "squared_difference": lambda x: tf.math.squared_difference(x, x * 2),
        "greater": lambda x: x > 0.5, "floor": tf.floor, "erf": tf.math.erf, "ones_like": tf.ones_like,
        "zeros_like": tf.zeros_like, "cumsum": lambda x: tf.cumsum(x, axis=1), "repeat": lambda x:
        tf.repeat(x, 2, axis=1), "tensordot": lambda x: tf.tensordot(x, x, [[0, 1], [0, 1]]), "add_n": lambda x:
        tf.add(x, x), "bias": lambda x: tf.nn.bias_add(x, np.arange(6, dtype=np.float32)),
    }  # fmt: skip
    for name, function in functions.items():
        graph(f"TFOpLambda {name}", function, SEQUENCE)


def lambdas():
    """Lambda layers of live models: functions of keras.ops in Keras 3, of TensorFlow and its backend in Keras 2."""
    if ops is not None:
        functions = {
            "l2 normalize": lambda x: ops.normalize(x, axis=-1, order=2), "part": lambda x: x[:, 1:4] * 2.0,
            "mean": lambda x: ops.mean(ops.square(x), axis=1), "identity": lambda x: x,
        }  # fmt: skip
        both, scaled = lambda xs: ops.concatenate(xs, axis=-1), lambda x, by: ops.tanh(x) * by
    else:
        import tensorflow as tf

        k = keras.backend
        functions = {
            "l2 normalize": lambda x: k.l2_normalize(x, axis=-1), "part": lambda x: x[:, 1:4] * 2.0,
            "mean": lambda x: k.mean(k.square(x), axis=1), "softplus": lambda x: tf.nn.softplus(x),
        }  # fmt: skip
        both, scaled = lambda xs: tf.concat(xs, axis=-1), lambda x, by: tf.tanh(x) * by
    for name, function in functions.items():
        layer(f"Lambda {name}", lambda function=function: L.Lambda(function), SEQUENCE, forms=("live",))
    layer("Lambda of two", lambda: L.Lambda(both), SEQUENCE, SEQUENCE, forms=("live",))
    layer("Lambda with arguments", lambda: L.Lambda(scaled, arguments={"by": 3.0}), SEQUENCE, forms=("live",))

    def inside():
        twice = L.Lambda(lambda x: x * 2.0, name="twice")
        inner = keras.Sequential([keras.Input((6,)), L.Dense(5), twice], name="inner")
        x = keras.Input((6,))
        return keras.Model(x, L.Lambda(lambda x: x + 1.0)(twice(L.Dense(5)(inner(x)))))

    CASES.append(Case("Lambda inside of a model", inside, floats((3, 6)), ("live",)))


def networks():
    def shared():
        encoder = keras.Sequential([L.Dense(5, "relu"), L.BatchNormalization(), L.Dense(4)], name="encoder")
        a, b = keras.Input((6,)), keras.Input((6,))
        return keras.Model([a, b], L.Dot(-1)([encoder(a), encoder(b)]))

    def nested():
        x = keras.Input((8, 8, 3))
        y = L.BatchNormalization(name="norm")(L.Conv2D(4, 3, name="conv")(x))
        inner = keras.Model(x, [y, L.GlobalAveragePooling2D()(y)], name="inner")
        z = keras.Input((8, 8, 3))
        a, b = inner(z)
        return keras.Model(z, {"image": L.Conv2D(2, 1, name="conv")(a), "vector": L.Dense(3)(b)})

    def frozen():
        model = nested()
        model.get_layer("inner").trainable = False
        return model

    def half():
        return keras.Sequential([keras.Input((6,)), L.Dense(8, "relu", dtype="mixed_float16"),
                                 L.BatchNormalization(dtype="mixed_float16"), L.Dense(3, dtype="float32")])  # fmt: skip

    CASES.append(Case("network shared", shared, floats((3, 6), (3, 6))))
    CASES.append(Case("network nested", nested, floats((2, 8, 8, 3))))
    CASES.append(Case("network frozen", frozen, floats((2, 8, 8, 3))))
    CASES.append(Case("network half", half, floats((3, 6))))


def cases(framework):
    """The cases for a framework: the module keras or tf_keras, which has no keras.ops."""
    global keras, L, ops
    keras, L, ops = framework, _Layers(framework), getattr(framework, "ops", None)
    CASES.clear()
    for group in (convolutions, pools, activations, dense, normalisations, shapes, merges, preprocessing, recurrent,
                  attention, lambdas, networks):  # fmt: skip
        group()
    operations() if ops is not None else tensorflow_functions()
    return list(CASES)
