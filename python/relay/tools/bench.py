"""Runs another engine in a separate process, for `relay bench --vs onnxruntime,openvino,openvino-bf16,torch,
torch-compile,litert,tensorflow`. Imports nothing of relay.

    bench.py ENGINE MODEL THREADS INPUTS.npz OUTPUTS.npz

Loads the model, runs it once, writes the results and prints one line of JSON: {"version": ..., "ready_ms": milliseconds
to read, compile and run it once, "ready_cpu_ms": the same of all threads and of processes that have ended,
"peak_bytes": peak memory of the process so far}, or {"error": ...}. Then, for every line on stdin, a number of seconds,
it runs the model for that time and prints the times of all runs in microseconds as one JSON list. Arrays are named by
their position: inputs in the order of the model.

The PyTorch engines run MODEL.pt2, a program that torch.export.save wrote, next to MODEL.onnx. `torch-float64` is not a
competitor but the reference for all errors: the same program with every float in double precision. LiteRT runs its
default delegate, TensorFlow a function whose variables are constants.
"""

import json
import os
import pathlib
import resource
import sys
import time

# An engine is a function that imports what it needs. It returns its name and version, and load(model, threads), which
# returns bind(arrays), which returns run(), which returns the results.


def onnxruntime_engine():
    import onnxruntime

    def load(model, threads):
        onnxruntime.set_default_logger_severity(3)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
        session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        names = [i.name for i in session.get_inputs()]

        def bind(arrays):
            feed = dict(zip(names, arrays, strict=True))
            return lambda: session.run(None, feed)

        return bind

    return f"onnxruntime {onnxruntime.__version__}", load


def openvino_engine(precision="f32"):
    import openvino

    def load(model, threads):
        # By default, OpenVINO computes in bfloat16 if the processor can.
        how = {"INFERENCE_PRECISION_HINT": precision, "PERFORMANCE_HINT": "LATENCY", "NUM_STREAMS": 1}
        core = openvino.Core()
        compiled = core.compile_model(model, "CPU", how | {"INFERENCE_NUM_THREADS": threads})
        request = compiled.create_infer_request()

        def bind(arrays):
            for tensor, array in zip(compiled.inputs, arrays, strict=True):
                request.set_tensor(tensor, openvino.Tensor(array, shared_memory=True))

            def run():
                request.infer()
                return [request.get_tensor(tensor).data for tensor in compiled.outputs]

            return run

        return bind

    return f"openvino {openvino.__version__.split('-')[0]}", load


def torch_program(model, double=False):
    """Returns the module of MODEL.pt2; `model` is the ONNX file next to it. `double` converts every float to double
    precision."""
    import torch

    program = pathlib.Path(model).with_suffix(".pt2")
    if not program.exists():
        raise FileNotFoundError(f"PyTorch needs the model in the format of torch.export.save: there is no {program}")
    module = torch.export.load(program).module()

    def wide(x):
        return torch.float64 if double and x is torch.float32 else x

    # Removes the checks of inputs and the (un)packing of arguments. The original network does not have them either, and
    # they take half the time of a small network.
    module.graph.set_codegen(torch.fx.graph.CodeGen())
    for node in list(module.graph.nodes):
        if node.op == "call_module" and not node.users:
            module.graph.erase_node(node)
        node.args = tuple(map(wide, node.args))
        node.kwargs = {key: wide(value) for key, value in node.kwargs.items()}
    module._forward_pre_hooks.clear()
    module._forward_pre_hooks_with_kwargs.clear()
    module.recompile()
    return module.double() if double else module


def torch_runner(module, double=False):
    """Returns bind() for a module, which converts from NumPy and back."""
    import torch

    def bind(arrays):
        inputs = [torch.from_numpy(a) for a in arrays]
        if double:
            inputs = [x.double() if x.is_floating_point() else x for x in inputs]

        def run():
            with torch.inference_mode():
                results = module(*inputs)
            return [r.numpy() for r in (results if isinstance(results, tuple) else (results,))]

        return run

    return bind


def torch_engine(double=False, compiled=False):
    import torch

    def load(model, threads):
        torch.set_num_threads(threads)
        module = torch_program(model, double)
        if compiled:
            from torch._inductor import config

            config.freezing = True
            config.force_disable_caches = True  # otherwise a second measurement would find no compile time
            module = torch.compile(module)
        return torch_runner(module, double)

    return f"torch{'.compile' if compiled else ''} {torch.__version__}", load


def litert_engine():
    import importlib.metadata

    from ai_edge_litert.interpreter import Interpreter

    def load(model, threads):
        interpreter = Interpreter(model_path=model, num_threads=threads)

        def bind(arrays):
            details = interpreter.get_input_details()
            for detail, array in zip(details, arrays, strict=True):
                if tuple(detail["shape"]) != array.shape:
                    interpreter.resize_tensor_input(detail["index"], array.shape)
            interpreter.allocate_tensors()
            for detail, array in zip(details, arrays, strict=True):
                interpreter.set_tensor(detail["index"], array)
            outputs = [detail["index"] for detail in interpreter.get_output_details()]

            def run():
                interpreter.invoke()
                return [interpreter.get_tensor(index) for index in outputs]

            return run

        return bind

    return f"litert {importlib.metadata.version('ai-edge-litert')}", load


def tensorflow_engine():
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    import tensorflow as tf

    def load(model, threads):
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)

        def bind(arrays):
            function = tensorflow_function(model, arrays)
            tensors = [tf.constant(array) for array in arrays]
            return lambda: [one.numpy() for one in tf.nest.flatten(function(*tensors))]

        return bind

    return f"tensorflow {tf.__version__}", load


def tensorflow_function(model, arrays):
    """Returns the function of a SavedModel's signature, of a frozen graph or of a Keras file, with all variables as
    constants. Its arguments are tensors, in the order of the signature or of the graph."""
    import tensorflow as tf
    from tensorflow.python.framework.convert_to_constants import convert_variables_to_constants_v2

    if os.path.isdir(model):
        loaded = tf.saved_model.load(model)  # holds the variables until they are constants
        return convert_variables_to_constants_v2(loaded.signatures["serving_default"])
    if pathlib.Path(model).suffix in (".keras", ".h5", ".hdf5"):
        network = tf.keras.models.load_model(model, compile=False)
        specs = [tf.TensorSpec(array.shape, array.dtype) for array in arrays]
        call = tf.function(lambda *x: network(x[0] if len(x) == 1 else list(x), training=False))
        return convert_variables_to_constants_v2(call.get_concrete_function(*specs))
    graph = tf.compat.v1.GraphDef()
    graph.ParseFromString(pathlib.Path(model).read_bytes())
    read = {one.lstrip("^").partition(":")[0] for node in graph.node for one in node.input}
    inputs = [node.name for node in graph.node if node.op == "Placeholder"]
    ends = [node.name for node in graph.node if node.name not in read and node.op not in ("Const", "NoOp", "Assert")]
    whole = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), [])
    return whole.prune([f"{name}:0" for name in inputs], [f"{name}:0" for name in ends])


ENGINES = {
    "litert": litert_engine,
    "tensorflow": tensorflow_engine,
    "onnxruntime": onnxruntime_engine,
    "openvino": openvino_engine,
    "openvino-bf16": lambda: openvino_engine("bf16"),
    "torch": torch_engine,
    "torch-compile": lambda: torch_engine(compiled=True),
    "torch-float64": lambda: torch_engine(double=True),
}


def peak_memory_bytes():
    """Reads the peak from /proc. getrusage() starts with the peak of the parent process."""
    status = pathlib.Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) << 10


def cpu_seconds():
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def main(engine, model, threads, inputs, outputs):
    # Only our lines go to stdout, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        import numpy as np

        with np.load(inputs) as stored:
            arrays = [stored[str(i)] for i in range(len(stored.files))]
        version, load = ENGINES[engine]()
        begin, cpu = time.perf_counter(), cpu_seconds()
        run = load(model, int(threads))(arrays)
        results = run()
        ready_ms, ready_cpu_ms = (time.perf_counter() - begin) * 1e3, (cpu_seconds() - cpu) * 1e3
        np.savez(outputs, **{str(i): np.asarray(value) for i, value in enumerate(results)})
        peak_bytes = peak_memory_bytes()
    except Exception as error:  # any error is reported to the user by the other process
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers)
        return 1
    said = {"version": version, "ready_ms": ready_ms, "ready_cpu_ms": ready_cpu_ms, "peak_bytes": peak_bytes}
    print(json.dumps(said), file=answers)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while not times or time.perf_counter() < end:
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e6)
        print(json.dumps(times), file=answers)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
