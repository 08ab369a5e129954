"""Writes the cases of cases_of_paddle.py as files of PaddlePaddle, with their results.

paddle_oracle.py FOLDER pir|old [NAME ..]: for each case a folder with net.json or net.pdmodel, net.pdiparams,
inputs.npz and outputs.npz.
paddle_oracle.py FOLDER raw: operators of the protobuf form that no function makes.
paddle_oracle.py FOLDER run MODEL THREADS TIMES: runs a model by paddle.inference on FOLDER/inputs.npz, writes
FOLDER/outputs.npz, and prints the least time and CPU time of the further runs.
"""

import json
import os
import pathlib
import sys
import time

FOLDER, KIND = pathlib.Path(sys.argv[1]), sys.argv[2]
os.environ["FLAGS_enable_pir_api"] = "1" if KIND == "pir" else "0"

import numpy as np  # noqa: E402
import paddle  # noqa: E402

# Cases whose file computes something else than the function: the export drops an assignment, or two variables are one.
OF_FILE = ("increment", "set_value", "shape", "while")


def flat(value):
    if isinstance(value, (list, tuple)):
        return [one for part in value for one in flat(part)]
    return [] if value is None else [value]


def save(folder, arrays, results):
    np.savez(folder / "inputs.npz", **{f"x{place}": one for place, one in enumerate(arrays)})
    np.savez(folder / "outputs.npz", **{f"{place:03}": one for place, one in enumerate(results)})


class Wrapped(paddle.nn.Layer):
    """A function, or a layer that takes several arrays, as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function


# Paddle wants to know the number of arguments.
class One(Wrapped):
    def forward(self, a):
        return self.function(a)


class Two(Wrapped):
    def forward(self, a, b):
        return self.function(a, b)


class Three(Wrapped):
    def forward(self, a, b, c):
        return self.function(a, b, c)


class Four(Wrapped):
    def forward(self, a, b, c, d):
        return self.function(a, b, c, d)


class Five(Wrapped):
    def forward(self, a, b, c, d, e):
        return self.function(a, b, c, d, e)


def randomised(layer, rng):
    """Gives statistics and scales values that show in the result."""
    for name, one in layer.state_dict().items():
        low, high = (0.5, 1.5) if "variance" in name or name.endswith("_variance") else (-0.7, 0.7)
        if one.dtype in (paddle.float32,):
            one.set_value(rng.uniform(low, high, one.shape).astype(np.float32))


def write_cases():
    import cases_of_paddle

    index, rng = [], np.random.default_rng(5)
    for number, (name, function, arrays) in enumerate(cases_of_paddle.cases()):
        folder = FOLDER / f"{number:03}"
        if not any(one in name for one in sys.argv[3:] or [""]):
            continue
        try:
            layer = function
            if not isinstance(function, paddle.nn.Layer):
                layer = (One, Two, Three, Four, Five)[len(arrays) - 1](function)
            layer.eval()
            randomised(layer, rng)
            specs = [
                paddle.static.InputSpec(list(one.shape), str(one.dtype), f"x{place}")
                for place, one in enumerate(arrays)
            ]
            folder.mkdir(parents=True)
            with paddle.no_grad():
                results = [one.numpy() for one in flat(layer(*map(paddle.to_tensor, arrays)))]
            traced = paddle.jit.to_static(layer, input_spec=specs, full_graph=True)
            paddle.jit.save(traced, str(folder / "net"), input_spec=specs)
            if name in OF_FILE:
                loaded = paddle.jit.load(str(folder / "net"))
                loaded.eval()
                results = [one.numpy() for one in flat(loaded(*map(paddle.to_tensor, arrays)))]
        except Exception as error:  # a case that Paddle itself refuses
            print(f"REFUSED {name}: {type(error).__name__} {str(error).strip().splitlines()[-1][:200]}", flush=True)
            continue
        save(folder, arrays, results)
        index.append([f"{number:03}", name])
    (FOLDER / f"index_{KIND}.json").write_text(json.dumps(index))


def write_raw():
    import raw_cases_of_paddle

    paddle.enable_static()
    index = []
    for number, (name, kind, inputs, outputs, attributes, stored) in enumerate(raw_cases_of_paddle.cases()):
        folder = FOLDER / f"r{number:03}"
        try:
            folder.mkdir(parents=True)
            run_raw(folder, kind, inputs, outputs, attributes, stored)
        except Exception as error:
            print(f"REFUSED {name}: {type(error).__name__} {str(error).strip().splitlines()[-1][:300]}", flush=True)
            continue
        index.append([f"r{number:03}", name])
    (FOLDER / "index_raw.json").write_text(json.dumps(index))


def run_raw(folder, kind, inputs, outputs, attributes, stored):
    main, start, scope = paddle.static.Program(), paddle.static.Program(), paddle.static.Scope()
    with paddle.static.program_guard(main, start), paddle.static.scope_guard(scope):
        block, names, feeds, arrays, feed = main.global_block(), {}, [], [], {}
        for slot, given in inputs.items():
            names[slot] = []
            for array in given if isinstance(given, list) else [given]:
                if slot in stored:
                    name = f"w{len(block.vars)}"
                    var = block.create_var(name=name, shape=array.shape, dtype=str(array.dtype), persistable=True)
                    scope.var(name).get_tensor().set(array, paddle.CPUPlace())
                else:
                    name = f"x{len(arrays)}"
                    has_lod = slot in attributes.get("_sequences", ())
                    var = block.create_var(name=name, shape=array.shape, dtype=str(array.dtype), need_check_feed=False)
                    feeds.append(var)
                    arrays.append(array)
                    feed[name] = (
                        paddle.base.create_lod_tensor(array, [[len(array)]], paddle.CPUPlace()) if has_lod else array
                    )
                names[slot].append(var)
        made = {}
        for slot, dtype in outputs.items():
            made[slot] = [block.create_var(name=f"{slot}{at}", dtype=one) for at, one in enumerate(dtype.split())]
        given = {key: one for key, one in attributes.items() if not key.startswith("_")}
        block.append_op(type=kind, inputs=names, outputs=made, attrs=given)
        wanted = [one for slot, part in made.items() if slot not in attributes.get("_unused", ()) for one in part]
        exe = paddle.static.Executor(paddle.CPUPlace())
        results = exe.run(main, feed=feed, fetch_list=wanted, return_numpy=False)
        paddle.static.save_inference_model(str(folder / "net"), feeds, wanted, exe, program=main)
        save(folder, arrays, [np.array(one) for one in results])


def run_model():
    """Runs a model by paddle.inference; prints its least time and CPU time in milliseconds."""
    from paddle import inference

    model, threads, times = sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    folder = pathlib.Path(model)
    if folder.is_dir() and not (folder / "inference.pdmodel").exists() and not (folder / "inference.json").exists():
        config = inference.Config(model)
    else:
        stem = folder / "inference" if folder.is_dir() else folder.with_suffix("")
        program = stem.with_suffix(".json") if stem.with_suffix(".json").exists() else stem.with_suffix(".pdmodel")
        config = inference.Config(str(program), str(stem.with_suffix(".pdiparams")))
    config.disable_gpu()
    config.set_cpu_math_library_num_threads(threads)
    if hasattr(config, "enable_mkldnn"):
        config.enable_mkldnn()
    config.switch_ir_optim(True)
    predictor = inference.create_predictor(config)
    inputs = dict(np.load(FOLDER / "inputs.npz"))
    for name in predictor.get_input_names():
        handle = predictor.get_input_handle(name)
        handle.copy_from_cpu(np.ascontiguousarray(inputs[name]))
        if "lod" in inputs:
            handle.set_lod([[0, len(inputs[name])]])
    predictor.run()
    results = [predictor.get_output_handle(name).copy_to_cpu() for name in predictor.get_output_names()]
    np.savez(FOLDER / "outputs.npz", **{f"{place:03}": one for place, one in enumerate(results)})
    best, least = float("inf"), float("inf")
    for _ in range(times):
        begin, used = time.perf_counter(), time.process_time()
        predictor.run()
        best, least = min(best, time.perf_counter() - begin), min(least, time.process_time() - used)
    print(json.dumps([best * 1e3, least * 1e3] if times else None))


if __name__ == "__main__":
    FOLDER.mkdir(parents=True, exist_ok=True)
    {"pir": write_cases, "old": write_cases, "raw": write_raw, "run": run_model}[KIND]()
