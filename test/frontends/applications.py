"""Networks of keras.applications with random weights, which keep the size of their activations."""

import os

import keras
import numpy as np

# By name, the smallest usual image.
SIZES = {
    "MobileNet": 64, "MobileNetV2": 64, "MobileNetV3Small": 64, "MobileNetV3Large": 64, "EfficientNetB0": 64,
    "EfficientNetV2B0": 64, "DenseNet121": 64, "ResNet50": 64, "ResNet50V2": 64, "ResNet101": 64, "VGG16": 64,
    "VGG19": 64, "Xception": 96, "InceptionV3": 96, "InceptionResNetV2": 96, "NASNetMobile": 64, "ConvNeXtTiny": 64,
}  # fmt: skip
# Their larger sisters, which differ in sizes and in the number of blocks.
LARGER = {
    **{f"EfficientNetB{one}": 64 for one in range(1, 8)}, **{f"EfficientNetV2B{one}": 64 for one in range(1, 4)},
    **{f"EfficientNetV2{one}": 64 for one in "SML"}, "DenseNet169": 64, "DenseNet201": 64, "ResNet152": 64,
    "ResNet101V2": 64, "ResNet152V2": 64, "NASNetLarge": 96, "ConvNeXtSmall": 64, "ConvNeXtBase": 64,
    "ConvNeXtLarge": 64, "ConvNeXtXLarge": 64,
}  # fmt: skip


def chosen() -> dict[str, int]:
    """The networks to compare; RELAY_LARGER=1 adds the larger ones, which take an hour."""
    return SIZES | (LARGER if os.environ.get("RELAY_LARGER") else {})


def built(name: str, size: int):
    """Returns a network for ten classes with Keras's own random weights."""
    keras.backend.clear_session()
    how = {"weights": None, "input_shape": (size, size, 3), "classes": 10, "classifier_activation": None}
    return getattr(keras.applications, name)(**how)


def network(name: str, size: int):
    """Returns a network for ten classes, and an image, (1, size, size, 3)."""
    rng, model = np.random.default_rng(0), built(name, size)
    for weight in model.weights:
        _, _, kind = weight.path.rpartition("/")
        shape = tuple(weight.shape)
        if "variance" in kind or "gamma" in kind:
            value = rng.uniform(0.8, 1.2, shape)
        elif len(shape) < 2:
            value = rng.uniform(-0.1, 0.1, shape)
        else:
            inputs = np.prod(shape[:2]) if "depthwise" in weight.path else np.prod(shape[:-1])
            value = rng.uniform(-1, 1, shape) * np.sqrt(6 / inputs)
        weight.assign(value.astype(np.float32))
    return model, rng.uniform(0, 1, (1, size, size, 3)).astype(np.float32)
