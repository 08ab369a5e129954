#!/usr/bin/env python3
"""Latencies of the model server under load: Relay's kernels beside those of ONNX Runtime behind the same front end.

    make bench-serve                                       a network that is made here, single and joined requests;
                                                           writes docs/benchmarks/serve-CPU.md
    .venv/bin/python bench/serve.py models/mine.onnx       a model whose inputs have open first sizes and fixed others

The server has one core and the client another. The client sends raw tensors of one row over 32 connections. First it
sends as fast as answers come, which gives the capacity. Then requests begin at fixed times, at 50 and at 90 % of the
capacity of the slower engine, whether or not earlier ones are answered (an open loop). A time is measured from the
moment when the request was due, so waiting for a connection counts. The engines take turns, and the median of the
rounds is printed. The results of both engines are compared first. The processor time of the server, front end
included, is that of the fastest round; on a busy machine it says more than the rates. If the client takes nearly all
of its core, the times are those of the client.
"""

import argparse
import asyncio
import contextlib
import dataclasses
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "dev"), str(ROOT / "bench")]
CONNECTIONS, ROWS = 32, 16
ENGINES = ("relay", "onnxruntime")


# --- Server -----------------------------------------------------------------------------------------------------------
class OnnxRuntimeModel:
    """A model of ONNX Runtime with the interface of relay.Compiled that the server uses."""

    string_ports, has_plain_ports = (frozenset(), frozenset()), True

    def __init__(self, path, threads):
        import onnxruntime

        import relay

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads, options.inter_op_num_threads = threads, 1
        self._session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        ports = relay.compile(path)  # for the names and types of the inputs and outputs
        self.inputs, self.outputs = ports.inputs, ports.outputs
        self._names = [port.name for port in self.inputs]

    def __call__(self, *arrays, threads):
        return tuple(self._session.run(None, dict(zip(self._names, arrays, strict=True))))


def serve(engine, arguments):
    """Runs the server with this engine in place of relay.compile()."""
    from relay.serve import __main__, models

    if engine == "onnxruntime":
        models.compile = OnnxRuntimeModel
    sys.exit(__main__.main(arguments))


@contextlib.contextmanager
def serving(engine, model, max_batch, core):
    """Yields the port and the process ID of a server on one core."""
    command = [sys.executable, __file__, "--engine", engine, f"model={model}", "--port=0", "--workers=1"]
    command += [f"--max-batch={max_batch}", "--max-delay=0.001", "--max-queue=100000", "--timeout=60"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: os.sched_setaffinity(0, {core}),
    )
    try:
        line = process.stdout.readline()
        if not line:
            sys.exit(f"the server did not start: {' '.join(command)}")
        yield int(line.rsplit(":", 1)[1]), process.pid
    finally:
        process.terminate()
        process.wait()


def processor_seconds(process):
    """Returns the processor time that a process has taken."""
    fields = pathlib.Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


# --- Client -----------------------------------------------------------------------------------------------------------
def request_of(path):
    """Returns the bytes of an HTTP request with one row for each input, and the array of the first input."""
    from relay.serve.models import _example, signature_of

    import relay

    model = relay.compile(path)
    signature = signature_of("model", model)
    batch = {port.shape[0]: 1 for port in model.inputs if isinstance(port.shape[0], str)}
    arrays = _example(signature, batch)
    objects = [
        {
            "name": name,
            "datatype": datatype,
            "shape": list(array.shape),
            "parameters": {"binary_data_size": array.nbytes},
        }
        for (name, (_, datatype)), array in zip(signature.inputs.items(), arrays, strict=True)
    ]
    head = json.dumps({"inputs": objects, "parameters": {"binary_data_output": True}}).encode()
    body = head + b"".join(array.tobytes() for array in arrays)
    lines = f"Inference-Header-Content-Length: {len(head)}\r\nContent-Length: {len(body)}\r\n\r\n"
    return f"POST /v2/models/model/infer HTTP/1.1\r\nHost: localhost\r\n{lines}".encode() + body


class Connection:
    async def open(self, port):
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def ask(self, request):
        """Sends a request and returns the raw tensors of the answer."""
        self._writer.write(request)
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        if not head.startswith(b"http/1.1 200"):
            sys.exit(f"the server refuses a request: {head!r}")
        length, json_length = (
            int(head.split(name, 1)[1].split(b"\r\n", 1)[0])
            for name in (b"\r\ncontent-length:", b"inference-header-content-length:")
        )
        return (await self._reader.readexactly(length))[json_length:]

    def close(self):
        self._writer.close()


async def closed_loop(port, request, seconds):
    """Returns the answers in a second of connections that ask without a pause."""
    connections = [await Connection().open(port) for _ in range(CONNECTIONS)]
    end, count = time.perf_counter() + seconds, 0

    async def ask_on(connection):
        nonlocal count
        while time.perf_counter() < end:
            await connection.ask(request)
            count += 1

    await asyncio.gather(*map(ask_on, connections))
    for connection in connections:
        connection.close()
    return count / seconds


async def open_loop(port, request, rate, seconds):
    """Returns the seconds from the due time of each request to its answer, sorted, and the share of its core that the
    client took."""
    idle = asyncio.Queue()
    for _ in range(CONNECTIONS):
        idle.put_nowait(await Connection().open(port))
    times, start, busy = [], time.perf_counter() + 0.1, time.process_time()

    async def ask_at(due):
        connection = await idle.get()
        await connection.ask(request)
        times.append(time.perf_counter() - due)
        idle.put_nowait(connection)

    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            due = start + number / rate
            if (wait := due - time.perf_counter()) > 0:
                await asyncio.sleep(wait)
            group.create_task(ask_at(due))
    while not idle.empty():
        idle.get_nowait().close()
    return sorted(times), (time.process_time() - busy) / (time.perf_counter() - start)


# --- Comparison -------------------------------------------------------------------------------------------------------
def made_network(path):
    """Writes a network of three dense layers, 784 to 10, with an open batch size."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    generator, nodes, weights, last = np.random.default_rng(0), [], [], "x"
    for k, (before, after) in enumerate([(784, 1024), (1024, 1024), (1024, 10)]):
        weight = generator.normal(0, before**-0.5, (before, after)).astype(np.float32)
        weights.append(numpy_helper.from_array(weight, f"w{k}"))
        nodes.append(helper.make_node("MatMul", [last, f"w{k}"], [f"m{k}"]))
        nodes.append(helper.make_node("Relu" if k < 2 else "Softmax", [f"m{k}"], [last := f"y{k}"]))
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["n", s]) for n, s in (("x", 784), (last, 10))]
    graph = helper.make_graph(nodes, "mlp", ends[:1], ends[1:], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=10)
    onnx.save(model, path)


async def compared(servers, request):
    """Returns the largest difference between the engines' results."""
    raw = [await (await Connection().open(port)).ask(request) for port, _ in servers.values()]
    one, other = (np.frombuffer(r, np.float32) for r in raw)
    return float(np.abs(one - other).max())


@dataclasses.dataclass
class Measured:
    """The figures of one way of joining requests. capacity: by engine, requests a second, and seconds of processor time
    for each. loads: (share of the slower capacity, requests a second, by engine (p50 ms, p99 ms, share of the client's
    core))."""

    difference: float
    capacity: dict[str, tuple[float, float]]
    loads: list[tuple[float, float, dict[str, tuple[float, float, float]]]]


async def measured(servers, request, rounds, seconds):
    difference = await compared(servers, request)
    print(f"  largest difference of the results: {difference:.1e}")
    capacity = {engine: (0.0, 0.0) for engine in servers}
    for _ in range(rounds):
        for engine, (port, process) in servers.items():
            before = processor_seconds(process)
            rate = await closed_loop(port, request, seconds)
            taken = (processor_seconds(process) - before) / (rate * seconds)
            capacity[engine] = max(capacity[engine], (rate, taken))
    for engine, (rate, taken) in capacity.items():
        print(f"  capacity {rate:5.0f}/s  {engine:12} {1e6 * taken:4.0f} us of processor time a request")
    loads = []
    for load in (0.5, 0.9):
        rate, found = load * min(capacity.values())[0], {engine: [] for engine in servers}
        for _ in range(rounds):
            for engine, (port, _) in servers.items():
                times, busy = await open_loop(port, request, rate, seconds)
                found[engine].append([*(1e3 * times[int(q * (len(times) - 1))] for q in (0.5, 0.99)), busy])
        medians = {
            e: tuple(statistics.median(column) for column in zip(*rows, strict=True)) for e, rows in found.items()
        }
        loads.append((load, rate, medians))
        for engine, (p50, p99, busy) in medians.items():
            print(
                f"  {load:.0%} load, {rate:5.0f}/s  {engine:12} p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  client {busy:.0%}"
            )
    return Measured(difference, capacity, loads)


def page(found, given, state):
    """The page of docs/benchmarks. found: figures by title. state: a sentence about other work on the machine."""
    import importlib.metadata

    import run

    names = {"relay": "Relay", "onnxruntime": f"ONNX Runtime {importlib.metadata.version('onnxruntime')}"}
    capacity = [
        "| requests | engine | capacity, requests/s | processor time of the server a request, us |",
        "| --- | --- | ---: | ---: |",
    ]
    latency = [
        "| requests | load | requests/s | engine | p50, ms | p99, ms | client's core |",
        "| --- | ---: | ---: | --- | ---: | ---: | ---: |",
    ]
    for title, one in found.items():
        for engine, (rate, taken) in one.capacity.items():
            capacity.append(f"| {title} | {names[engine]} | {rate:.0f} | {1e6 * taken:.0f} |")
        for load, rate, medians in one.loads:
            for engine, (p50, p99, busy) in medians.items():
                latency.append(
                    f"| {title} | {load:.0%} | {rate:.0f} | {names[engine]} | {p50:.2f} | {p99:.2f} | {busy:.0%} |"
                )
    tables = "\n\n".join("\n".join(one) for one in (capacity, latency))
    path = ROOT / "docs" / "benchmarks" / f"serve-{run.slug(run.cpu_name())}.md"
    path.write_text(f"""<!-- Written by bench/serve.py. Do not edit. -->
# Latencies of the model server: {run.cpu_name()}

[The server](../serving.md) under load, measured {time.strftime("%Y-%m-%d")}, beside ONNX Runtime behind the same front
end. The model has three dense layers, 784 to 10. The server has one core and the client another, over {CONNECTIONS}
connections of raw tensors of one row. The capacity is the best of {given.rounds} rounds of {given.seconds:g} s in which
requests are sent as answers come. For the latencies, requests begin at fixed times, at a share of the slower engine's
capacity, whether or not earlier ones are answered. Medians of {given.rounds} rounds, in which the engines take turns.
The largest difference of the results is {max(one.difference for one in found.values()):.0e}.
{state}
{tables}

If the client's core is nearly full, the times are those of the client. To repeat: `make bench-serve`.
""")
    print(f"bench: wrote {path.relative_to(ROOT)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", nargs="?", help="an ONNX model with open first sizes; then no page is written")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    given = parser.parse_args()
    import run

    state = run.busy(run.machine_load())
    if state:
        state += (
            f"Its load average was {os.getloadavg()[0]:.0f}. Latencies are thus mostly waits for a core, and all "
            "figures are worse than on an idle machine; the processor times compare the engines.\n"
        )
    server_core, client_core = sorted(os.sched_getaffinity(0))[:2]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        model = given.model or f"{folder}/mlp.onnx"
        if given.model is None:
            made_network(model)
        request = request_of(model)
        os.sched_setaffinity(0, {client_core})
        for max_batch in (1, ROWS):
            title = "single" if max_batch == 1 else f"joined, up to {max_batch} rows"
            print(f"{title}:", flush=True)
            with contextlib.ExitStack() as stack:
                servers = {e: stack.enter_context(serving(e, model, max_batch, server_core)) for e in ENGINES}
                found[title] = asyncio.run(measured(servers, request, given.rounds, given.seconds))
    if given.model is None:
        page(found, given, state)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--engine"]:
        serve(sys.argv[2], sys.argv[3:])
    main()
