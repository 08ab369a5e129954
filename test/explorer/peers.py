#!/usr/bin/env python3
"""Times to the first picture of long chains: Netron beside `relay explore`, in the same Chromium.

    .venv/bin/python -m pip install --no-deps --target build/explorer-peers netron==9.3.3
    PYTHONPATH=build/test-tools:build/explorer-peers .venv/bin/python test/explorer/peers.py 1000 10000

The model is an ONNX file with a chain of N elementwise nodes. Wall time from the request of the page until nodes are
drawn, with the processor time of the page's thread; the conversion by `relay explore` is not part of it.
"""

import pathlib
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "python" / "support")]

import onnx  # noqa: E402
from playwright import sync_api  # noqa: E402
from programs import cli  # noqa: E402
from reports import save  # noqa: E402
from test_browser import CHROMIUM, SWITCHES  # noqa: E402

LIMIT = 180  # seconds
# Netron asks whether it may send reports. It cannot: the browser has no network.
ACCEPT = "[...document.querySelectorAll('button')].find((b) => b.textContent.trim() === 'Accept')?.click()"


def chain_of_onnx(path, length):
    kinds, nodes, last = ("Relu", "Tanh", "Sigmoid"), [], "x"
    for i in range(length):
        nodes.append(onnx.helper.make_node(kinds[i % 3], [last], [last := f"v{i}"], name=f"n{i}"))
    save(path, nodes, "x", [2, 8], last)


def measure(browser, address, is_drawn):
    """Returns the seconds until an expression is true, or None, and the processor time of the page's thread."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    devtools = page.context.new_cdp_session(page)
    devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
    begin, found = time.perf_counter(), None
    try:
        page.goto(address, timeout=LIMIT * 1000)
        while time.perf_counter() - begin < LIMIT:
            if devtools.send("Runtime.evaluate", {"expression": is_drawn})["result"].get("value"):
                found = time.perf_counter() - begin
                break
            devtools.send("Runtime.evaluate", {"expression": ACCEPT})
            page.wait_for_timeout(50)
        metrics = devtools.send("Performance.getMetrics")["metrics"]
        return found, next(one["value"] for one in metrics if one["name"] == "TaskDuration")
    except sync_api.Error as error:
        return None, str(error).splitlines()[0]
    finally:
        page.close()


def main():
    import netron

    with sync_api.sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        for length in map(int, sys.argv[1:]):
            model, report = pathlib.Path(folder) / f"{length}.onnx", pathlib.Path(folder) / f"{length}.html"
            chain_of_onnx(model, length)
            done = cli("explore", model, "-o", report, "--no-texts", "-O", "1", timeout=1200)
            assert done.returncode == 0, done.stderr
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
            ours = measure(browser, report.as_uri(), "window.relayExplorer?.app.times.first !== undefined")
            print(f"{length} nodes: relay explore {ours}, {report.stat().st_size / 1e6:.2f} MB", flush=True)
            address = netron.start(str(model), browse=False)
            drawn = "document.body.classList.contains('default') && document.querySelectorAll('#nodes > g').length > 10"
            theirs = measure(browser, f"http://{address[0]}:{address[1]}", drawn)
            print(f"{length} nodes: netron {netron.__version__} {theirs}", flush=True)
            netron.stop(address)
            browser.close()


if __name__ == "__main__":
    main()
