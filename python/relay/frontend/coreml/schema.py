"""The messages of a model of Core ML, as tables of fields (shared/wire.py)."""

from __future__ import annotations

from ..shared.wire import Table
from .network_schema import NETWORK
from .program_schema import PROGRAM

_RANGE = Table("SizeRange", {1: ("lowerBound", "int"), 2: ("upperBound", "int")})
_IMAGE_SIZE = Table("ImageSize", {1: ("width", "int"), 2: ("height", "int")})
IMAGE = Table("ImageFeatureType", {
    1: ("width", "int"), 2: ("height", "int"), 3: ("colorSpace", "int"),
    21: ("enumeratedSizes", Table("EnumeratedImageSizes", {1: ("sizes", [_IMAGE_SIZE])})),
    31: ("imageSizeRange", Table("ImageSizeRange", {1: ("widthRange", _RANGE), 2: ("heightRange", _RANGE)})),
})  # fmt: skip
_SHAPE = Table("Shape", {1: ("shape", "int*")})
ARRAY = Table("ArrayFeatureType", {
    1: ("shape", "int*"), 2: ("dataType", "int"),
    21: ("enumeratedShapes", Table("EnumeratedShapes", {1: ("shapes", [_SHAPE])})),
    31: ("shapeRange", Table("ShapeRange", {1: ("sizeRanges", [_RANGE])})),
    41: ("intDefaultValue", "int"), 51: ("floatDefaultValue", "float"), 61: ("doubleDefaultValue", "double"),
})  # fmt: skip
_EMPTY = Table("type", {})
TYPE = Table("FeatureType", {
    1: ("int64Type", _EMPTY), 2: ("doubleType", _EMPTY), 3: ("stringType", _EMPTY), 4: ("imageType", IMAGE),
    5: ("multiArrayType", ARRAY), 6: ("dictionaryType", _EMPTY), 7: ("sequenceType", _EMPTY),
    8: ("stateType", Table("StateFeatureType", {1: ("arrayType", ARRAY)})), 1000: ("isOptional", "bool")})  # fmt: skip
FEATURE = Table("FeatureDescription", {1: ("name", "text"), 3: ("type", TYPE)})
FUNCTION = Table("FunctionDescription", {
    1: ("name", "text"), 2: ("input", [FEATURE]), 3: ("output", [FEATURE]), 4: ("predictedFeatureName", "text"),
    5: ("predictedProbabilitiesName", "text"), 6: ("state", [FEATURE])})  # fmt: skip
DESCRIPTION = Table("ModelDescription", {
    1: ("input", [FEATURE]), 10: ("output", [FEATURE]), 11: ("predictedFeatureName", "text"),
    12: ("predictedProbabilitiesName", "text"), 13: ("state", [FEATURE]), 20: ("functions", [FUNCTION]),
    21: ("defaultFunctionName", "text")})  # fmt: skip
PIPELINE = Table("Pipeline", {2: ("names", "text*")})
# The kinds of models, by the number of their field. Those in _OTHERS are known by name only.
_OTHERS = {
    300: "glmRegressor", 301: "supportVectorRegressor", 302: "treeEnsembleRegressor", 304: "bayesianProbitRegressor",
    400: "glmClassifier", 401: "supportVectorClassifier", 402: "treeEnsembleClassifier",
    404: "kNearestNeighborsClassifier", 501: "itemSimilarityRecommender", 555: "customModel", 556: "linkedModel",
    560: "classConfidenceThresholding", 600: "oneHotEncoder", 601: "imputer", 602: "featureVectorizer",
    603: "dictVectorizer", 604: "scaler", 606: "categoricalMapping", 607: "normalizer", 609: "arrayFeatureExtractor",
    610: "nonMaximumSuppression", 900: "identity", 2000: "textClassifier", 2001: "wordTagger",
    2002: "visionFeaturePrint", 2003: "soundAnalysisPreprocessing", 2004: "gazetteer", 2005: "wordEmbedding",
    2006: "audioFeaturePrint", 3000: "serializedModel",
}  # fmt: skip
_INSIDE = Table("Pipeline", {1: ("pipeline", PIPELINE)})
_KINDS = {
    200: ("pipelineClassifier", _INSIDE), 201: ("pipelineRegressor", _INSIDE), 202: ("pipeline", PIPELINE),
    303: ("neuralNetworkRegressor", NETWORK), 403: ("neuralNetworkClassifier", NETWORK),
    500: ("neuralNetwork", NETWORK), 502: ("mlProgram", PROGRAM),
    **{number: (name, _EMPTY) for number, name in _OTHERS.items()},
}  # fmt: skip
MODEL = Table("Model", {1: ("specificationVersion", "int"), 2: ("description", DESCRIPTION), **_KINDS})
PIPELINE.add(1, "models", [MODEL])
KINDS = tuple(name for name, _ in _KINDS.values())
