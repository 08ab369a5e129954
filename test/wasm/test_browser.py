"""The demo page of packages in Chromium, without a display: part of make test-wasm.

Pictures are written to build/test-wasm/pictures, for a person to look at.
"""

import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/python/support"), str(ROOT / "dev"), str(pathlib.Path(__file__).parent)]

import fetch_models  # noqa: E402
import js_packages  # noqa: E402
import serving  # noqa: E402
from programs import EXAMPLES, cli  # noqa: E402

PICTURES = ROOT / "build" / "test-wasm" / "pictures"
TYPESCRIPT = ROOT / "build/test-wasm/node_modules/typescript/bin/tsc"


@pytest.fixture(scope="session")
def browser():
    with serving.chromium(*serving.WEBGPU) as started:
        yield started


def write(model, folder, *options, emit="wasm"):
    done = cli("compile", model, "--emit", emit, "-o", folder, *options, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


class Page:
    """A package's page, with everything that it said."""

    def __init__(self, browser, address):
        self.page = browser.new_page(viewport={"width": 1100, "height": 700})
        self.said = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.set_default_timeout(300_000)  # SwiftShader compiles tens of kernels
        self.page.goto(f"{address}/index.html")
        self.page.wait_for_function("window.demo?.isReady")

    def picture(self, name):
        PICTURES.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=PICTURES / f"{name}.png", full_page=True)


def overlap(a, b):
    """Intersection over union."""
    both = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return both / (sum(areas) - both)


@pytest.mark.parametrize("emit", ["wasm", "webgpu"])
def test_the_face_detector_finds_the_face(browser, tmp_path, emit):
    import skimage.data
    from PIL import Image

    Image.fromarray(skimage.data.astronaut()[:384]).save(tmp_path / "astronaut.png")
    package = write(fetch_models.fetch(["fr_detect"])[0], tmp_path / "face", "--name", "face-detector", emit=emit)
    with serving.served(package) as address:
        opened = Page(browser, address)
        page = opened.page
        assert page.title() == "face-detector" and page.evaluate("demo.boxes.length") == 0  # of the first gradient
        page.select_option("select", "(v - 127) / 128")
        page.set_input_files("input[type=file]", tmp_path / "astronaut.png")
        page.wait_for_function("demo.boxes.length > 0")
        boxes = page.evaluate("demo.boxes")
        opened.picture(f"face-{emit}")
        assert len(boxes) == 1 and boxes[0]["score"] > 0.99
        # The box of examples/demo/demo.py: pixels (179, 64) to (274, 179) of 512 x 384.
        assert overlap(boxes[0]["box"], [0.35, 0.165, 0.535, 0.466]) > 0.9
        assert "1 box above 70 %" in page.inner_text("#outputs") and opened.said == []


def test_the_page_says_which_device_ran_the_kernels(browser, tmp_path):
    with serving.served(write(EXAMPLES / "tour" / "dense.relay", tmp_path / "dense", emit="webgpu")) as address:
        opened = Page(browser, address)
        about = opened.page.inner_text("#about")
        assert "1 calls of 1 kernels, all on WebGPU: google swiftshader" in about and opened.said == []
        assert "float32[2, 8]" in opened.page.inner_text("#outputs")


def test_pages_without_webgpu_say_so(browser, tmp_path):
    with serving.served(write(EXAMPLES / "tour" / "dense.relay", tmp_path / "dense", emit="webgpu")) as address:
        page = browser.new_page()
        page.add_init_script("Object.defineProperty(navigator, 'gpu', { value: undefined })")
        page.goto(f"{address}/index.html")
        page.wait_for_function("window.demo?.isReady")
        assert page.inner_text("#problem").startswith("there is no WebGPU here")
        assert page.evaluate("demo.outputs") is None


GPU_MISTAKES = """async () => {
  const { load } = await import("./model.mjs");
  const said = [], fails = async (run) => {
    try { await run(); } catch (error) { said.push(`${error.name}: ${error.message}`); }
  };
  const model = await load(), x = Array(8).fill(1);
  await fails(() => model.run({ x: [1, 2] }));
  const write = GPUQueue.prototype.writeBuffer;
  GPUQueue.prototype.writeBuffer = () => { throw new RangeError("no memory"); };
  await fails(() => model.run({ x }));
  GPUQueue.prototype.writeBuffer = write;
  const [first, second] = await Promise.allSettled([model.run({ x }), model.run({ x })]);
  said.push(first.status, String(second.reason));
  const { output } = await model.run({ x });
  await fails(() => load({ module: new TextEncoder().encode("// another") }));
  model.close();
  await fails(() => model.run({ x }));
  return [said, Array.from(output)];
}"""


def test_mistakes_on_webgpu_are_said(browser, tmp_path):
    with serving.served(write(EXAMPLES / "tour" / "dense.relay", tmp_path / "dense", emit="webgpu")) as address:
        said, output = Page(browser, address).page.evaluate(GPU_MISTAKES)
    assert len(output) == 16 and said == [
        "ModelError: input `x`: expected Float32Array of 8 elements for float32[2, 4], got 2",
        "RangeError: no memory",
        "fulfilled",
        "ModelError: a run is under way: await it before the next one",
        "ModelError: model.wgsl is not the file that this one was written for: copy all files of the package",
        "ModelError: the network cannot run: it is closed",
    ]


def test_numbers_and_mistakes(browser, tmp_path):
    with serving.served(write(EXAMPLES / "tour" / "dense.relay", tmp_path / "dense")) as address:
        opened = Page(browser, address)
        page = opened.page
        page.fill("textarea", "1, 2, 3, 4, 5, 6, 7, 8")
        page.click("#run")
        assert "float32[2, 8]" in page.inner_text("#outputs") and page.inner_text("#problem") == ""
        page.fill("textarea", "1, 2, 3")
        page.click("#run")
        assert "expected Float32Array of 8 elements for float32[2, 4], got 3" in page.inner_text("#problem")
        opened.picture("dense")
        page.fill("textarea", "1, 2, 3, 4, 5, 6, 7, x")
        page.click("#run")
        assert "element 7 is x" in page.inner_text("#problem")
        assert opened.said == []


RUN = """async () => {
  const { load } = await import("./model.mjs");
  const model = await load({ threads: 2 });
  for (const { name } of model.inputs) model.input(name).forEach((_, i, all) => { all[i] = Math.sin(i * 0.37) * 100; });
  const outputs = model.run();
  const { threads } = model;
  model.close();
  return [threads, Object.values(outputs).map((values) => Array.from(values)).flat()];
}"""


def test_threads_and_pages_without_them(browser, tmp_path):
    named = ["--name", "face", "--target", "wasm32-threads"]
    package = write(fetch_models.fetch(["fr_detect"])[0], tmp_path / "face", *named)
    with serving.served(package) as address:
        isolated = Page(browser, address)
        threads, values = isolated.page.evaluate(RUN)
        assert threads == 2 and isolated.said == []
    with serving.served(package, serving.Plain) as address:
        plain = Page(browser, address)
        threads, others = plain.page.evaluate(RUN)
        assert threads == 1 and others == values
        assert plain.said and all(
            text.startswith("face runs on one thread: memory is shared only") for text in plain.said
        )


def test_the_declarations_fit(tmp_path):
    package = write(EXAMPLES / "state.relay", tmp_path / "state", "--donate", "keys=output")
    (package / "right.ts").write_text(
        'import { load, type Inputs } from "./model.mjs";\n'
        'const model = await load({ module: new URL("model.wasm", import.meta.url) });\n'
        "const inputs: Inputs = { at: [3], row: new Float32Array(8) };\n"
        'model.run(inputs);\nmodel.reset();\nconst sum: number = model.stateOf("keys").reduce((x, y) => x + y, 0);\n'
        'model.input("row").fill(sum);\n'
    )
    (package / "wrong.ts").write_text(
        'import { load } from "./model.mjs";\n(await load()).run({ row: new Float64Array(8) });\n'
        '(await load()).output("keys");\n'
    )
    check = [js_packages.NODE, TYPESCRIPT, "--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    done = subprocess.run([*check, "right.ts"], cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    done = subprocess.run([*check, "wrong.ts"], cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode != 0 and done.stdout.count("error TS") == 2, done.stdout
