"""A plugin of pytest: runs the tests that coremltools ships, with Relay in place of Apple's runtime.

The tests build or convert models, and compare what they compute with values that they contain, or with PyTorch.
RELAY_COREML_RESULTS names the file to which a line is added for each test (journal.py): the kinds of layers or
operations in its models, and "" or the reason why they do not agree. Tests that are in the file do not run again.
"""

import functools
import os
import pathlib
import random
import re
import time

import coremltools
import journal
import numpy as np
import pytest
from coremltools.converters.mil import testing_utils
from coremltools.converters.mil.mil.ops.tests import testing_utils as op_testing
from coremltools.models import utils

import relay

RESULTS = pathlib.Path(os.environ["RELAY_COREML_RESULTS"])
HALF = {"rtol": 5e-2, "atol": 5e-2}
_halves = [False]  # true if the present model computes in halves
_kinds = set()  # of layers and operations in the models of the present test


def kinds_of(spec):
    """The kinds of the layers or operations of a model, also of those inside of others."""
    kind = spec.WhichOneof("Type")
    if kind == "mlProgram":
        pending = [block for one in spec.mlProgram.functions.values() for block in one.block_specializations.values()]
        while pending:
            for operation in pending.pop().operations:
                yield f"mil:{operation.type}"
                pending += operation.blocks
        return
    if kind == "pipeline":
        for one in spec.pipeline.models:
            yield from kinds_of(one)
        return
    pending = [getattr(spec, kind)]
    while pending:
        for layer in pending.pop().layers:
            name = layer.WhichOneof("layer")
            yield f"nn:{name}"
            if name == "branch":
                pending += [layer.branch.ifBranch, layer.branch.elseBranch]
            elif name == "loop":
                pending += [layer.loop.conditionNetwork, layer.loop.bodyNetwork]


def predict(model, inputs, held=None):
    """The outputs of a model by name. held: values of states by name, which are replaced."""
    spec = model.get_spec()
    _kinds.update(kinds_of(spec))
    description = spec.description
    sizes = {}
    for one in description.input:
        kind = one.type.WhichOneof("Type")
        if one.name in inputs and kind == "multiArrayType":
            rank = np.ndim(inputs[one.name])
            if rank == len(one.type.multiArrayType.shape):
                sizes[one.name] = np.shape(inputs[one.name])
        elif one.name in inputs and kind == "imageType" and hasattr(inputs[one.name], "size"):
            width, height = inputs[one.name].size
            sizes[one.name] = (1, 1 if one.type.imageType.colorSpace == 10 else 3, height, width)
    module, _ = relay.frontend.from_coreml(model, sizes)
    _halves[0] = "float16" in str(module)
    arrays = []
    for param in module["main"].params:
        dtype, shape = str(param.type_annotation.dtype), list(param.type_annotation.shape)
        given = (held or {}).get(param.name_hint, inputs.get(param.name_hint))
        if given is None:
            given = np.zeros(shape)
        if hasattr(given, "getpixel"):  # a picture
            given = np.asarray(given, np.float32)
            given = given[None, None] if given.ndim == 2 else given.transpose(2, 0, 1)[None]
        arrays.append(np.asarray(given).astype(dtype).reshape([one if isinstance(one, int) else np.shape(given)[axis]
                                                               for axis, one in enumerate(shape)]))  # fmt: skip
    got = run(module, arrays)
    got = [np.asarray(one) for one in (got if isinstance(got, (list, tuple)) else [got])]
    names = [one.name for one in description.output if one.type.WhichOneof("Type") not in ("stringType",)]
    made = dict(zip(names, got, strict=False))
    if held is not None:
        made_states = got[len(got) - len(description.state) :]
        held.update(zip([one.name for one in description.state], made_states, strict=True))
    return made


def run(module, arrays):
    """The results of a module: compiled, or by the evaluator if RELAY_COREML_EVALUATE is set."""
    if os.environ.get("RELAY_COREML_EVALUATE"):
        return relay.evaluate(module, arrays)
    return relay.compile(module)(*arrays)


def compare_backend(mlmodel, input_key_values, expected_outputs, dtype="fp32", atol=1e-04, rtol=1e-05,
                    also_compare_shapes=True, state=None, allow_mismatch_ratio=0.0):  # fmt: skip
    """Takes the place of coremltools's function of this name."""
    got = predict(mlmodel, input_key_values, state)
    rtol = max(rtol, 2e-4)  # some tests hold values with four digits
    if dtype == "fp16" or _halves[0]:
        atol, rtol = max(atol, HALF["atol"]), max(rtol, HALF["rtol"])
    for name, expected in expected_outputs.items():
        # coremltools replaces letters in names that Core ML's language does not have
        found = got.get(name, got.get(re.sub(r"\W", "_", name)))
        found = next(iter(got.values())) if found is None and len(got) == 1 else found
        assert found is not None, f"no output {name}; there are {list(got)}"
        expected = np.asarray(expected)
        if isinstance(found, np.ndarray) and expected.dtype.kind in "fiub":
            if expected.ndim and also_compare_shapes:
                assert found.shape == expected.shape or found.size == expected.size == 1, (
                    f"{name}: {found.shape} for {expected.shape}")  # fmt: skip
            np.testing.assert_allclose(found.astype(np.float64).reshape(expected.shape),
                                       expected.astype(np.float64), atol=atol, rtol=rtol)  # fmt: skip
    return got


# Tests sort random numbers, of which some are equal: only a stable order says which of those is first.
np.argsort = functools.partial(np.argsort, kind="stable")
testing_utils.compare_backend = compare_backend
op_testing.compare_backend = compare_backend
# Tests for macOS run too: Relay takes the place of its runtime.
utils._is_macos, utils._macos_version = lambda: True, lambda: (15, 0)


def make_state(model):
    return {one.name: np.zeros(list(one.type.stateType.arrayType.shape)) for one in model.get_spec().description.state}


coremltools.models.MLModel.make_state = make_state
coremltools.models.MLModel.predict = lambda model, inputs, state=None: predict(model, inputs, state)


def name_of(item):
    return item.nodeid.split("coremltools/")[-1]


def pytest_collection_modifyitems(config, items):
    """Keeps RELAY_COREML_MOST cases of each test, chosen by its name, and of these the ones without a result. Cases
    that have one count as chosen."""
    most, of_test = int(os.environ.get("RELAY_COREML_MOST", "8")), {}
    for item in items:
        of_test.setdefault(item.nodeid.partition("[")[0], []).append(item)
    done, chosen = {one.name for one in journal.read(RESULTS)[0]}, set()
    for test, cases in of_test.items():
        left = [one for one in cases if name_of(one) not in done]
        count = min(len(left), max(0, most - (len(cases) - len(left))))
        chosen.update(id(one) for one in random.Random(test).sample(left, count))
    items[:] = [one for one in items if id(one) in chosen]


_begun = [0.0, 0.0]  # wall and CPU time at which the present test began


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    _kinds.clear()
    _begun[:] = time.time(), time.process_time()
    journal.begin(RESULTS, name_of(item))
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    report = yield
    if report.when == "call" or (report.when == "setup" and not report.passed):
        why = "" if report.passed or report.skipped else f"{call.excinfo.typename}: {str(call.excinfo.value)[:400]}"
        kinds = [] if report.skipped else sorted(_kinds)
        spent = time.time() - _begun[0], time.process_time() - _begun[1]
        journal.add(RESULTS, journal.Result(name_of(item), kinds, why, *(round(one, 3) for one in spent)))
    return report
