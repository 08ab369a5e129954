"""The inputs, outputs and states that a model of Core ML describes: arrays, images, single numbers."""

from __future__ import annotations

from ..._core import Expr
from ...errors import wrong_input
from ..shared.problems import Refused
from .blobs import AGAIN
from .types import declared, function_of

# Element types of arrays by number. DOUBLE is what the owner's program gives; networks compute in float32.
_TYPES = {65568: "float32", 65600: "float64", 131104: "int32", 131080: "int8", 65552: "float16"}
_CHANNELS = {10: 1, 20: 3, 30: 3, 40: 1}  # of images by colour space: grey, RGB, BGR, grey in halves
_NOT_TENSORS = ("stringType", "dictionaryType", "sequenceType")


def of_function(model, name: str):
    """Returns what describes the inputs and outputs: of the model, or of the function with a name."""
    description = model.description
    if description.functions:
        wanted = function_name(model, name)
        found = next((one for one in description.functions if one.name == wanted), None)
        if found is None:
            listed = ", ".join(one.name for one in description.functions[:20])
            raise wrong_input(f"the model has no function `{wanted}`", f"its functions are {listed}")
        return found
    if name not in ("", "main"):
        raise wrong_input(f"the model has no function `{name}`", "leave the name out")
    return description


def function_name(model, name: str) -> str:
    return name or model.description.defaultFunctionName or "main"


def is_tensor(feature) -> bool:
    return feature.type is None or not any(feature.type.has(one) for one in _NOT_TENSORS)


def array_type(about, name: str) -> tuple[list[int | None], str]:
    """Returns the sizes of an array, None for open ones, and its element type."""
    sizes = [int(one) for one in about.shape]
    dtype = _TYPES.get(about.dataType)
    if dtype is None:
        raise Refused(f"the array `{name}` has elements of the unknown type {about.dataType}", AGAIN)
    if len(sizes) > 16 or any(not -1 <= one < 1 << 40 for one in sizes):
        raise Refused(f"the shape of `{name}` is {tuple(sizes[:20])}", AGAIN)
    if about.has("shapeRange"):
        ranges = about.shapeRange.sizeRanges
        if sizes and len(ranges) != len(sizes):
            raise Refused(f"`{name}` has {len(ranges)} ranges of sizes for {len(sizes)} axes", AGAIN)
        return [one.lowerBound if one.lowerBound == one.upperBound else None for one in ranges], dtype
    if about.has("enumeratedShapes") and about.enumeratedShapes.shapes:
        shapes = [[int(size) for size in one.shape] for one in about.enumeratedShapes.shapes]
        if any(len(one) != len(shapes[0]) for one in shapes):
            return sizes, dtype
        sizes = [one[0] if len(set(one)) == 1 else None for one in zip(*shapes, strict=True)]
    return [None if one is not None and one <= 0 else one for one in sizes], dtype


def _image_sizes(about) -> list[int | None]:
    """Returns the height and width of an image, None for open ones."""
    if about.has("imageSizeRange"):
        ranges = (about.imageSizeRange.heightRange, about.imageSizeRange.widthRange)
        return [one.lowerBound if one is not None and one.lowerBound == one.upperBound else None for one in ranges]
    sizes = [(about.height, about.width)]
    if about.has("enumeratedSizes"):
        sizes += [(one.height, one.width) for one in about.enumeratedSizes.sizes]
    return [one[0] if len(set(one)) == 1 and one[0] > 0 else None for one in zip(*sizes, strict=True)]


def make_input(importer, feature, model) -> Expr | None:
    """Returns the parameter of an input."""
    name, about = feature.name, feature.type
    if about is None:
        raise Refused(f"the input `{name}` has no type", AGAIN)
    if model.has("mlProgram"):
        function, _ = function_of(model.mlProgram, function_name(model, importer.function))
        found = next((one for one in function.inputs if one.name == name), None)
        if found is None:
            raise Refused(f"the program has no input `{name}`, which the description names", AGAIN)
        return importer.input(name, *declared(found.type))
    if about.has("multiArrayType"):
        sizes, dtype = array_type(about.multiArrayType, name)
        given = importer.shapes.get(name)
        if given is not None and len(given) == 4 and len(sizes) == 3:
            sizes = [None, *sizes]  # a batch of images, as TVM's importer takes them
        return importer.input(name, sizes, "float32" if dtype == "float64" else dtype)
    if about.has("imageType"):
        channels = _CHANNELS.get(about.imageType.colorSpace)
        if channels is None:
            raise Refused(f"the image `{name}` has the colour space {about.imageType.colorSpace}", AGAIN)
        return importer.input(name, [1, channels, *_image_sizes(about.imageType)], "float32")
    if about.has("int64Type") or about.has("doubleType"):
        return importer.input(name, [1], "float32")
    kind = next((one for one in _NOT_TENSORS if about.has(one)), "typeOfAnUnknownKind")
    raise Refused(f"the input `{name}` is a {kind.removesuffix('Type')}, not a tensor", "turn it into numbers first")
