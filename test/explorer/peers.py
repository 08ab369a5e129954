#!/usr/bin/env python3
"""Times to the first picture of long chains: Netron and Model Explorer beside `relay explore`, in the same Chromium.

    make build/test-tools/ready
    .venv/bin/python -m pip install --no-deps --target build/explorer-peers netron==9.3.3
    .venv/bin/python -m venv build/model-explorer
    build/model-explorer/bin/python -m pip install ai-edge-model-explorer==0.1.34
    PYTHONPATH=build/test-tools:build/explorer-peers .venv/bin/python test/explorer/peers.py 1000 10000 10000/100

The model is a chain of N elementwise nodes; N/M puts each M of them into a scope of their names. Netron and
`relay explore` read an ONNX file. Model Explorer lacks a reader of ONNX, and gets the same nodes in its own JSON. Wall
time from the request of the page until nodes are drawn, with the processor time of the page's thread. The conversion by
`relay explore` and the start of the servers are not part of it.
"""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "python" / "support")]

import onnx  # noqa: E402
from playwright import sync_api  # noqa: E402
from programs import ROOT, cli  # noqa: E402
from reports import save  # noqa: E402
from test_browser import CHROMIUM, SWITCHES  # noqa: E402

LIMIT = 120  # seconds
ROUNDS = 3
HERE = {None, "", "localhost", "127.0.0.1"}
# Netron asks whether it may send reports. It cannot: the browser has no network.
ACCEPT = "[...document.querySelectorAll('button')].find((b) => b.textContent.trim() === 'Accept')?.click()"
# Model Explorer draws with WebGL, which this browser computes on the processor.
MORE_SWITCHES = ["--enable-unsafe-swiftshader"]
DRAWN = {
    "relay": "window.relayExplorer?.app.times.first !== undefined",
    "netron": "document.body.classList.contains('default') && document.querySelectorAll('#nodes > g').length > 10",
    "model-explorer": "document.querySelector('webgl-renderer canvas') && !document.querySelector('.loading')",
}
SERVE_GRAPHS = """
import sys
from model_explorer import server
from model_explorer.config import ModelExplorerConfig
graphs = ModelExplorerConfig()
graphs.graphs_list.append(open(sys.argv[1]).read())
graphs.model_sources.append({"url": "graphs://chain/0"})
server.start(config=graphs, no_open_in_browser=True)
"""


def chain(length, size):
    """Returns the names and the operators of a chain."""
    kinds = ("Relu", "Tanh", "Sigmoid")
    return [(f"/part.{i // size}/n{i}" if size else f"n{i}", kinds[i % 3]) for i in range(length)]


def write_onnx(path, nodes):
    made = [
        onnx.helper.make_node(kind, [f"v{i}" if i else "x"], [f"v{i + 1}"], name=name)
        for i, (name, kind) in enumerate(nodes)
    ]
    save(path, made, "x", [2, 8], f"v{len(nodes)}")


def write_graphs(path, nodes):
    def node(name, kind, source):
        edge = {"sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": "0"}
        scope = name.strip("/").rpartition("/")[0]
        return {"id": name, "label": kind, "namespace": scope, "incomingEdges": [edge] if source else []}

    sources = ["x", *(name for name, _ in nodes)]
    made = [node("x", "x", None), *(node(*one, source) for one, source in zip(nodes, sources, strict=False))]
    path.write_text(json.dumps({"graphCollections": [{"label": "chain", "graphs": [{"id": "main", "nodes": made}]}]}))


def measure(browser, address, is_drawn):
    """Returns the seconds until an expression is true, or None; the processor time of the page's thread; errors; and
    the hosts of other machines that the page asked."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    errors, hosts = [], set()
    page.on("request", lambda request: hosts.add(urllib.parse.urlsplit(request.url).hostname))
    page.on("pageerror", lambda error: errors.append(str(error).splitlines()[0]))
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    begin, found = time.perf_counter(), None
    try:
        page.goto(address, timeout=LIMIT * 1000, wait_until="commit")
        while time.perf_counter() - begin < LIMIT and not errors:
            if devtools.send("Runtime.evaluate", {"expression": f"!!({is_drawn})"})["result"].get("value"):
                found = time.perf_counter() - begin
                break
            devtools.send("Runtime.evaluate", {"expression": ACCEPT})
            page.wait_for_timeout(50)
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return found, next(one["value"] for one in metrics if one["name"] == "TaskDuration"), errors, hosts - HERE
    except sync_api.Error as error:
        return None, None, [str(error).splitlines()[0]], hosts - HERE
    finally:
        page.close()


@contextlib.contextmanager
def relay_report(model, _):
    report = model.with_suffix(".html")
    done = cli("explore", model, "-o", report, "--no-texts", "-O", "1", timeout=1200)
    assert done.returncode == 0, done.stderr
    yield report.as_uri()


@contextlib.contextmanager
def netron(model, _):
    import netron

    address = netron.start(str(model), browse=False)
    yield f"http://{address[0]}:{address[1]}"
    netron.stop(address)


@contextlib.contextmanager
def model_explorer(_, graphs):
    command = [ROOT / "build/model-explorer/bin/python", "-c", SERVE_GRAPHS, graphs]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        yield next(line.strip() for line in server.stdout if line.startswith("http://"))
        server.terminate()


def main():
    tools = {"relay": relay_report, "netron": netron, "model-explorer": model_explorer}
    with sync_api.sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES + MORE_SWITCHES)
        for size in sys.argv[1:]:
            length, _, scope = size.partition("/")
            nodes = chain(int(length), int(scope or 0))
            model, graphs = pathlib.Path(folder) / f"{length}-{scope}.onnx", pathlib.Path(folder) / f"{length}.json"
            write_onnx(model, nodes)
            write_graphs(graphs, nodes)
            for name, opened in tools.items():
                with opened(model, graphs) as address:
                    found = [measure(browser, address, DRAWN[name]) for _ in range(ROUNDS)]
                best = min(found, key=lambda one: one[0] or LIMIT)
                print(f"{size} nodes, {name}: {best}", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
