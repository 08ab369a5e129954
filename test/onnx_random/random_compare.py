"""Random models in Relay beside ONNX Runtime, and the smallest model that shows a difference."""

import dataclasses
import os
import pickle
import signal
import tempfile
import traceback

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from random_model import Model, session

RTOL, ATOL = 2e-3, 2e-4


def difference(got, expected):
    """Describes the difference between two results, or returns "". Tolerances are also relative to the greatest
    magnitude, because sums cancel."""
    got = np.asarray(got)
    if (got.shape, got.dtype) != (expected.shape, expected.dtype):
        return f"{got.dtype}{list(got.shape)}, not {expected.dtype}{list(expected.shape)}"
    if expected.dtype.kind != "f" or not expected.size:
        return "" if np.array_equal(got, expected) else f"{(got != expected).sum()} of {got.size} elements differ"
    a, b = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return "infinite elements or NaN differ"
    atol = ATOL * max(1.0, np.abs(b[finite]).max(initial=0.0)) * (20 if expected.dtype == np.float16 else 1)
    off = np.abs(a - b)[finite] - RTOL * np.abs(b[finite])
    return (
        ""
        if (off <= atol).all()
        else f"{(off > atol).sum()} of {b.size} elements differ, by {np.abs(a - b)[finite].max():.3g}"
    )


def fault(model, outputs=None):
    """Returns the fault of a model in Relay, ("wrong" or "refused" or "crash", words), or None. The model runs in a
    process of its own, which a crash may end. The words are "only ONNX Runtime differs" if ONNX's own evaluator agrees
    with Relay."""
    import relay  # here, not in each child

    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            with os.fdopen(writes, "wb") as file:
                pickle.dump(fault_here(relay, model, outputs), file)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writes)
    with os.fdopen(reads, "rb") as file:
        said = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if not status:
        return pickle.loads(said)
    return ("crash", f"ended by {signal.Signals(-status).name}" if status < 0 else f"exit status {status}")


def fault_here(relay, model, outputs):
    names = outputs or model.outputs()
    proto = model.proto(names)
    try:
        expected = session(proto).run(names, model.arguments())
    except Exception as error:  # with names of dimensions ONNX Runtime may have wishes of its own
        return ("invalid", str(error))
    handle, path = tempfile.mkstemp(suffix=".onnx")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(proto.SerializeToString())
        got = relay.compile(path, threads=1)(**model.arguments())
    except relay.CompileError as error:
        return ("refused", str(error).strip())
    except Exception as error:
        return ("crash", f"{type(error).__name__}: {error}")
    finally:
        os.unlink(path)
    got = list(got) if isinstance(got, tuple) else [got]
    of_peer = None
    for name, result, right in zip(names, got, expected, strict=True):
        if wrong := difference(result, right):
            if not agrees_with_onnx(model, name, result):
                return ("wrong", f"{name}: {wrong}")
            of_peer = ("only ONNX Runtime differs", f"{name}: {wrong}")
    return of_peer


def agrees_with_onnx(model, name, result):
    """True if ONNX's own evaluator has this result of the node. Formulas of ONNX Runtime may cancel, for example if a
    variance is near zero."""
    node = next(one for one in model.nodes if name in one.output)
    made = {output for one in model.nodes for output in one.output}
    alone = reduced(model, [name], [given for given in node.input if given in made])
    try:
        return not difference(result, ReferenceEvaluator(alone.proto([name])).run([name], alone.arguments())[0])
    except Exception:  # it has no such operator, or no such form of one
        return False


# --- smaller ----------------------------------------------------------------------------------------------------------
def ancestors(model, outputs, given=()):
    """The nodes that these outputs need, where the values of `given` are inputs."""
    needed, nodes = set(outputs), []
    for node in reversed(model.nodes):
        if any(name in needed and name not in given for name in node.output):
            nodes.insert(0, node)
            needed.update(node.input)
    return nodes


def reduced(model, outputs, given):
    nodes = ancestors(model, outputs, given)
    inputs = [*model.inputs, *given]
    return dataclasses.replace(model, nodes=nodes, inputs=inputs)


def minimise(model, kind, limit=80):
    """The smallest model found that has a fault of this kind, and its outputs: fewer nodes, values instead of nodes."""
    tries = 0

    def fails(one, outputs):
        nonlocal tries
        tries += 1
        found = fault(one, outputs) if one.nodes and tries <= limit else None
        return found is not None and found[0] == kind

    outputs = model.outputs()
    for node in model.nodes:  # the first result that shows it
        names = [name for name in node.output if name]
        one = reduced(model, names, ())
        if fails(one, names):
            model, outputs = one, names
            break
    given = []
    for node in list(model.nodes):  # from the front: results of ONNX Runtime instead of nodes
        more = [*given, *(name for name in node.output if name not in outputs)]
        one = reduced(model, outputs, more)
        if (
            len(more) > len(given)
            and len(one.nodes) < len(reduced(model, outputs, given).nodes)
            and fails(one, outputs)
        ):
            given = more
    model = reduced(model, outputs, given)
    plain = dataclasses.replace(model, named={})
    if model.named and fails(plain, outputs):
        model = plain
    return model, outputs


def text(model, outputs):
    lines = onnx.printer.to_text(model.proto(outputs)).splitlines()
    return "\n".join(line if len(line) < 400 else line[:400] + " .." for line in lines)


__all__ = ["Model", "difference", "fault", "minimise", "text"]
