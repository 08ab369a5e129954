"""A peer engine in a process of its own, for `relay bench --vs onnxruntime`. Imports nothing of relay.

    bench.py ENGINE MODEL THREADS INPUTS.npz OUTPUTS.npz

Loads the model, runs it once, writes the results and prints one line {"version": ...} (or {"error": ...}). Then, for every
line on stdin, a number of seconds, it runs the model for so long and prints the time of each run in microseconds as one JSON
list. Arrays are named by their position: inputs in the order of the model.
"""

import json
import os
import sys
import time


def onnxruntime_session(model, threads):
    import onnxruntime

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

    return f"onnxruntime {onnxruntime.__version__}", bind


ENGINES = {"onnxruntime": onnxruntime_session}


def main(engine, model, threads, inputs, outputs):
    # Nothing but our lines goes to stdout, whatever a library prints there.
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    try:
        import numpy as np

        version, bind = ENGINES[engine](model, int(threads))
        with np.load(inputs) as stored:
            run = bind([stored[str(i)] for i in range(len(stored.files))])
        np.savez(outputs, **{str(i): np.asarray(value) for i, value in enumerate(run())})
        for _ in range(5):
            run()
    except Exception as error:  # whatever it is, the other side says it to the user
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=answers)
        return 1
    print(json.dumps({"version": version}), file=answers)
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
