"""The explorer in Chromium, without a display: make test-tools.

Pictures are written to build/test-tools/pictures, for a person to look at.
"""

import json
import os
import pathlib
import shutil

import pytest
from playwright import sync_api
from programs import EXAMPLES, ROOT, cli
from reports import HOSTILE, chain, hostile, transformer

CHROMIUM = shutil.which("chromium")
PICTURES = ROOT / "build" / "test-tools" / "pictures"
SWITCHES = (
    "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync".split()
)


@pytest.fixture(scope="session")
def browser():
    assert CHROMIUM, "the package chromium is missing: `dev/setup tools` installs it"
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield started
        started.close()


class Opened:
    """A report in the browser, with everything that it said and asked for."""

    def __init__(self, browser, report, fragment="", size=(1440, 900)):
        self.page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(dialog.message))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.devtools = self.page.context.new_cdp_session(self.page)
        self.devtools.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.page.goto(f"{pathlib.Path(report).as_uri()}{fragment}")
        self.wait("window.relayExplorer?.app.times.first !== undefined")

    def wait(self, condition):
        """Waits until an expression is true. (wait_for_function needs eval, which the page's policy forbids.)"""
        for _ in range(1200):
            if self.page.evaluate(condition):
                return
            self.page.wait_for_timeout(50)
        raise TimeoutError(condition)

    @property
    def state(self):
        return self.page.evaluate("window.relayExplorer.state()")

    def processor_seconds(self):
        """Returns the processor time of the page's thread so far."""
        metrics = self.devtools.send("Performance.getMetrics")["metrics"]
        return next(one["value"] for one in metrics if one["name"] == "TaskDuration")

    def run(self, script):
        self.page.evaluate("async () => { const app = window.relayExplorer.app, pane = app.active; " + script + " }")
        self.page.wait_for_timeout(100)
        return self.state

    def key(self, key):
        self.page.keyboard.press(key)
        self.page.wait_for_timeout(50)
        return self.state

    def text(self, selector):
        return self.page.inner_text(selector)

    def picture(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.wait_for_timeout(100)
        self.page.screenshot(path=PICTURES / f"{name}.png")

    def close(self):
        """Ends, and checks that nothing was said or fetched but the report itself."""
        assert self.said == []
        assert len([url for url in self.asked if not url.startswith("blob:")]) == 1, self.asked
        self.page.close()


@pytest.fixture
def opened(browser):
    pages = []

    def open_report(*args, **options):
        pages.append(Opened(browser, *args, **options))
        return pages[-1]

    yield open_report
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reports")

    def write(name, model, *options, timeout=300):
        path = folder / f"{name}.html"
        if not path.exists():
            done = cli("explore", model, "-o", path, "--target", "haswell", *options, timeout=timeout)
            assert done.returncode == 0, done.stderr
        return path

    return write


@pytest.fixture(scope="session")
def bert(report, tmp_path_factory):
    model = tmp_path_factory.mktemp("bert") / "bert.onnx"
    transformer(model)
    return report("bert", model)


DENSE = EXAMPLES / "tour" / "dense.relay"


def test_dense_from_the_model_to_the_assembly_and_back(opened, report):
    page = opened(report("dense", DENSE))
    state = page.state
    assert state["pass"] == "fuse_ops" and state["passes"][0] == "input" and state["definition"] == "main"
    assert state["marks"]["added"] > 0
    page.picture("dense-fused")
    state = page.run("app.show(pane, {step: 0})")
    assert state["marks"] == dict.fromkeys(["added", "changed", "rewired", "moved", "removed"], 0)
    assert [label for label in state["labels"] if "." in label] == ["nn.dense", "nn.bias_add", "nn.relu"]
    state = page.run("app.pickRow(pane, [...pane.view.boxes.values()].find((b) => b.label === 'nn.relu').row)")
    assert state["picked"] == "nn.relu"
    panel = page.text("#right")
    assert "dense.relay:5:3" in panel and "Tensor[(2, 8), float32]" in panel
    assert "fused_nn_dense" in panel
    page.picture("dense-node")
    page.page.click("#right .kernel .link")
    state = page.state
    assert state["kernel"].startswith("fused_nn_dense")
    for tab, wanted in {
        "expressions": "sum(",
        "schedule": "stage",
        "loops": "for",
        "C": "void",
        "assembly": "ret",
    }.items():
        page.page.click(f"#right .tab:text-is('{tab}')")
        page.wait("document.querySelector('#right pre').textContent !== ''")
        assert wanted in page.text("#right pre"), tab
    page.picture("dense-kernel")
    page.page.click("#right ul .link:has-text('nn.bias_add')")
    assert page.state["picked"] == "nn.bias_add"


def test_keys_slider_search_and_address(opened, report):
    dense = report("dense", DENSE)
    page = opened(dense)
    last = page.state["step"]
    assert page.key("ArrowLeft")["step"] == last - 1
    assert page.key("ArrowRight")["step"] == last == page.key("ArrowRight")["step"]
    page.page.fill("#search", "relu")
    assert page.state["results"] >= 1
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Enter")
    page.page.keyboard.press("Escape")
    page.page.fill("#slider", "0")
    assert page.state["step"] == 0
    state = page.run("app.pickRow(pane, [...pane.view.boxes.values()].find((b) => b.label === 'nn.dense').row)")
    again = opened(dense, fragment=state["address"]).state
    assert {key: again[key] for key in ("step", "picked", "pickedKey")} == {
        key: state[key] for key in ("step", "picked", "pickedKey")
    }
    assert page.key("ArrowDown")["picked"] == "nn.bias_add"
    assert page.key("ArrowUp")["picked"] == "nn.dense"
    assert page.key("Escape")["picked"] is None
    page.key("?")
    assert "the next pass" in page.text("#keys")


def test_addresses_that_name_nothing(opened, report):
    for fragment in (
        "#pass=99999&fn=nothing&node=row:77&colour=none",
        "#pass=x&node=%3Cimg%3E",
        "#&&==",
        "#pass=-1&kernel=no",
    ):
        assert opened(report("dense", DENSE), fragment=fragment).state["definition"] == "main"


def test_scopes_and_overlays_of_a_transformer(opened, bert):
    page = opened(bert)
    state = page.run("app.show(pane, {step: 0})")
    assert any("layer." in label for label in state["labels"]), state["labels"]
    assert state["boxes"] < 120 < state["nodes"]
    page.picture("bert-input")
    opened_all = page.run("app.all(pane, true)")
    assert opened_all["boxes"] > state["nodes"]
    page.picture("bert-open")
    page.run("app.show(pane, {step: pane.compilation.steps.length - 1})")
    page.picture("bert-last")
    for overlay in ("bytes", "dtype", "kernel", "flops", "moved"):
        page.page.select_option("#overlay", overlay)
        assert page.state["overlay"] == overlay
        assert len(page.text("#legend")) > 20
        page.picture(f"bert-{overlay}")
    page.page.click("#top .link >> nth=0")
    assert page.state["picked"] or page.state["kernel"]


CONVOLUTIONS = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8, 14, 14), float32], %w: Tensor[(8, 8, 3, 3), float32], %v: Tensor[(3, 3, 8, 8), float32]) {
  %0 = tanh(nn.conv2d(%x, %w, padding=[1, 1]));
  %1 = layout_transform(%0, src_layout="NCHW", dst_layout="NHWC");
  nn.relu(nn.conv2d(%1, %v, padding=[1, 1], data_layout="NHWC", kernel_layout="HWIO"))
}
"""


def coloured(page):
    """Returns the values by which calls are coloured, in the order of the program."""
    script = """() => {
      const pane = window.relayExplorer.app.active;
      return [...pane.scale.values].map(([row, value]) => [pane.view.boxes.get(row).label, value]);
    }"""
    return [one for one in page.page.evaluate(script) if not one[0].startswith("%")]


def test_layouts_and_devices(opened, report, tmp_path):
    model = tmp_path / "convolutions.relay"
    model.write_text(CONVOLUTIONS)
    page = opened(report("convolutions", model, "--devices", "nn.conv2d=cpu:1"))
    into, out = ["device_copy", "cpu:1"], ["device_copy", "cpu:0"]
    convolution, host = ["nn.conv2d", "cpu:1"], lambda *labels: [[label, "cpu:0"] for label in labels]
    devices = [
        into, into, convolution, out, *host("tanh", "layout_transform"), into, into, convolution, out, *host("nn.relu"),
    ]  # fmt: skip
    for step in (0, page.state["step"]):
        page.run(f"app.show(pane, {{step: {step}}})")
        page.page.select_option("#overlay", "layout")
        assert coloured(page) == [["layout_transform", "NCHW → NHWC"], ["nn.conv2d", "NHWC, HWIO"]]
        page.picture(f"layout-{step}")
        page.page.select_option("#overlay", "device")
        assert coloured(page) == devices
        assert "cpu:1" in page.text("#legend")
        page.picture(f"device-{step}")


def test_values_of_a_file(opened, report, tmp_path):
    """The form is that of `relay quantize --json`. Names and places are strangers' texts."""
    page = opened(report("dense", DENSE))
    layers = [
        {"layer": "main/dense_0", "place": f"{DENSE}:3:8", "error": 0.25, "<img src=x>": 1, "integer": True},
        {"layer": "main/relu_0", "place": f"{DENSE}:5:3", "error": -1.5},
        {"layer": HOSTILE, "place": HOSTILE, "error": 7},
    ]
    files = {
        "quantized.json": json.dumps({"layers": layers}),
        "broken.json": "{",
        "others.json": json.dumps([{"place": "elsewhere.relay:1:1", "error": 1}, None, {"place": 3, "error": 1}]),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    page.page.set_input_files("#file", tmp_path / "quantized.json")
    page.wait("window.relayExplorer.state().overlay === 'own:error'")
    for step in (0, page.state["step"]):
        page.run(f"app.show(pane, {{step: {step}}})")
        assert coloured(page) == [["nn.dense", 0.25], ["nn.relu", -1.5]]
    legend = page.text("#left")
    assert "quantized.json" in legend and "-1.5" in legend and "0.25" in legend
    page.picture("dense-values")
    page.page.set_input_files("#file", tmp_path / "broken.json")
    page.wait("document.querySelector('#legend').textContent.includes('It is not JSON')")
    page.page.set_input_files("#file", tmp_path / "others.json")
    page.wait("document.querySelector('#legend').textContent.includes('dense.relay:')")
    assert page.page.evaluate("document.images.length") == 0


def test_devices_through_functions_and_lists(opened, report):
    page = opened(report("tree_lstm_devices", EXAMPLES / "tree_lstm.relay", "--devices", "sigmoid=cpu:1"))
    page.page.select_option("#overlay", "device")
    for definition in page.state["definitions"]:
        page.run(f"app.show(pane, {{step: 0, definition: '{definition}'}})")
        for label, device in coloured(page):
            if label in ("sigmoid", "tanh"):
                assert device == ("cpu:1" if label == "sigmoid" else "cpu:0"), definition
    page.picture("device-tree-lstm")


def test_passes_of_a_tree_lstm(opened, report):
    page = opened(report("tree_lstm", EXAMPLES / "tree_lstm.relay"))
    state = page.run("app.show(pane, {step: 0, definition: 'gather'})")
    assert {"main", "gather", "states", "tree_lstm"} <= set(state["definitions"])
    assert "match" in state["labels"] and "%child" in state["labels"]
    page.picture("tree-lstm-match")
    for step in range(len(state["passes"])):
        assert page.run(f"app.show(pane, {{step: {step}}})")["boxes"] > 0
    page.run("app.show(pane, {step: 0, definition: 'main'})")
    page.page.click("#definitions .link:has-text('@tree_lstm')")
    assert page.state["definition"] == "tree_lstm"
    page.picture("tree-lstm")


@pytest.mark.parametrize("length, seconds", [(10_000, 1), (100_000, 5)])
def test_first_picture_of_a_long_chain(opened, report, tmp_path, length, seconds):
    model = tmp_path / "chain.relay"
    chain(model, length)
    path = report(f"chain{length}", model, "--no-texts", "-O", "1", timeout=1800)
    assert path.stat().st_size <= 1_000_000 + 20 * length
    times, taken = [], []
    for _ in range(3):
        page = opened(path)
        taken.append(page.processor_seconds())
        assert page.state["nodes"] >= length
        times.append(page.state["times"]["first"] / 1000)
    print(
        f"{length} nodes: first picture after {min(times):.2f} s, of which {min(taken):.2f} s of processor time; "
        f"{path.stat().st_size / 1e6:.2f} MB"
    )
    assert min(taken) < seconds, taken
    if os.getloadavg()[0] < os.cpu_count():  # else other work of the machine slows the picture down
        assert min(times) < seconds, times
    page.run("app.show(pane, {step: 0}); app.toggle(pane, pane.view.root.children[1])")
    page.picture(f"chain-{length}")


def test_names_cannot_run(opened, report, tmp_path):
    model = tmp_path / "hostile.onnx"
    hostile(model)
    path = report("hostile", model)
    assert HOSTILE.encode() not in path.read_bytes() and path.stat().st_size < 1_000_000
    page = opened(path)
    for step in range(len(page.state["passes"])):
        page.run(f"app.show(pane, {{step: {step}}}); for (const box of pane.view.boxes.values()) app.pick(pane, box)")
    page.run("for (let i = 0; i < pane.compilation.kernels.length; ++i) app.pickKernel(pane, i)")
    page.page.fill("#search", "onerror")
    page.picture("hostile")
    assert page.page.evaluate("[window.hacked ?? null, document.images.length]") == [None, 0]
    assert "\u202e" not in page.text("body")
    assert "<img" not in page.page.evaluate("window.relayExplorer.svg()")


def test_two_models_side_by_side(opened, report, tmp_path):
    models = [tmp_path / "a.onnx", tmp_path / "b.onnx"]
    for layers, model in zip((2, 3), models, strict=True):
        transformer(model, layers)
    page = opened(report("two", models[0], "--compare", models[1]), size=(1800, 1000))
    assert page.state["panes"] == 2
    page.run("app.show(pane, {step: 0})")
    page.page.select_option("#overlay", "comparison")
    page.picture("two")
    assert "the same" in page.text("#legend")
    counts = page.page.evaluate(
        """window.relayExplorer.app.panes.map(
             (pane) => [...pane.scale.categories].map(([name, rows]) => [name, rows.length]))"""
    )
    assert dict(counts[0]).get("only here") is None and dict(counts[1])["only here"] > 5, counts
    found = page.page.evaluate(
        """() => {
             const app = window.relayExplorer.app, [a, b] = app.panes;
             app.pick(a, [...a.view.boxes.values()].find((one) => one.label === "nn.softmax"));
             return app.panes.flatMap((p) => [p.picked?.label, p.compilation.place(p.view.state, p.picked.row)]);
           }"""
    )
    assert found[0] == "nn.softmax" and found[:2] == found[2:]


def test_pictures_are_saved(opened, report):
    page = opened(report("dense", DENSE))
    for button, start in (("#png", b"\x89PNG"), ("#svg", b"<svg")):
        with page.page.expect_download() as download:
            page.page.click(button)
        assert pathlib.Path(download.value.path()).read_bytes().startswith(start)


def test_a_cell_of_a_notebook(browser):
    """The cell is a frame without an origin or an address, in a page that has neither policy nor file."""
    import relay

    page = browser.new_page(viewport={"width": 1200, "height": 700})
    said = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.set_content(relay.explore(relay.load(DENSE), target="haswell")._repr_html_())
    frame = page.frames[1]
    for _ in range(200):
        if frame.evaluate("window.relayExplorer?.app.times.first !== undefined"):
            break
        page.wait_for_timeout(50)
    frame.evaluate("window.relayExplorer.app.show(window.relayExplorer.app.active, {step: 0})")
    frame.click("#slider")
    frame.click("#expand")
    assert frame.evaluate("window.relayExplorer.state()")["definition"] == "main"
    assert said == []
    page.close()


def test_time_of_kernels(opened, browser, tmp_path):
    path = tmp_path / "profiled.html"
    done = cli("explore", DENSE, "-o", path, "--profile", "--time", "0.05", "--threads", "1")
    assert done.returncode == 0, done.stderr
    page = opened(path)
    page.page.select_option("#overlay", "time")
    assert "s" in page.text("#legend")
    page.page.click("#top .link >> nth=0")
    assert "% of the ceiling" in page.text("#right")
    page.picture("dense-time")


def test_errors_of_values(opened, tmp_path):
    model, path = tmp_path / "bert.onnx", tmp_path / "verified.html"
    transformer(model, layers=2)
    done = cli("explore", model, "-o", path, "--target", "haswell", "--verify", "--no-texts")
    assert done.returncode == 0, done.stderr
    page = opened(path)
    page.page.select_option("#overlay", "error")
    errors = dict(coloured(page))
    assert {"nn.dense", "nn.softmax"} <= set(errors) or {"nn.matmul", "nn.softmax"} <= set(errors), errors
    assert all(0 <= error < 1e-5 for error in errors.values()) and max(errors.values()) > 0
    assert "e-" in page.text("#legend")
    page.page.click("#top .link >> nth=0")
    assert "of the largest value" in page.text("#right") and "ulp" in page.text("#right")
    page.picture("bert-error")
