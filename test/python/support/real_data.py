"""Real data that Python packages hold."""

import gzip
import importlib.util
import pathlib

import numpy as np
from programs import ROOT


def faces():
    """200 pictures of 25 x 25 in a fixed order, the labels 1 of a face and 0 of none: LFW's subset in scikit-image."""
    package = pathlib.Path(importlib.util.find_spec("skimage").origin).parent
    x = np.load(package / "data" / "lfw_subset.npy").astype("float32")
    order = np.random.default_rng(0).permutation(len(x))
    return x[order], np.repeat([1, 0], 100)[order]


def digits():
    """1,797 pictures of 8 x 8 with values from 0 to 1, and the digits, from scikit-learn; None without the package."""
    spec = importlib.util.find_spec("sklearn")
    places = [ROOT / "build" / "test-sklearn" / "sklearn"] + (
        [pathlib.Path(spec.origin).parent] if spec and spec.origin else []
    )
    for place in places:
        file = place / "datasets" / "data" / "digits.csv.gz"
        if file.is_file():
            table = np.loadtxt(gzip.open(file, "rt"), delimiter=",")
            return (table[:, :-1] / 16).astype("float32").reshape(-1, 8, 8), table[:, -1].astype("int64")
    return None
