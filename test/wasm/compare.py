"""Compares the packages of models with ONNX Runtime Web, in Node and in Chromium, with one thread each: part of
make test-wasm.

    compare.py [--rounds 30] [MODEL.onnx ...]

Both engines run in one process, in turns. Prints sizes in bytes and times in milliseconds.
"""

import argparse
import gzip
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/python/support"), str(ROOT / "build/test-wasm"), str(ROOT / "dev")]

import js_packages  # noqa: E402
import serving  # noqa: E402
from programs import cli  # noqa: E402

PEER = ROOT / "build/test-wasm/node_modules/onnxruntime-web/dist"
PEER_FILES = ("ort.wasm.min.mjs", "ort-wasm-simd-threaded.mjs", "ort-wasm-simd-threaded.wasm")
# The largest inputs that they expect.
MODELS = {"fr_detect": 1, "fr_age": 1, "fr_expression": 1, "mlsd_320x320_tiny": 255}
MOST = 2e-4  # of the largest output

IN_NODE = """import { readFile } from "node:fs/promises";
const { compare } = await import("./times.mjs");
const ort = await import("./ort.wasm.min.mjs");
const { load } = await import("./package/model.mjs");
console.log(JSON.stringify(await compare(load, ort, new Uint8Array(await readFile("model.onnx")), ROUNDS, LARGEST)));
"""
IN_PAGE = """async ([rounds, largest]) => {
  const { compare } = await import("/times.mjs");
  const ort = await import("/ort.wasm.min.mjs");
  const { load } = await import("/package/model.mjs");
  const bytes = new Uint8Array(await (await fetch("/model.onnx")).arrayBuffer());
  return compare(load, ort, bytes, rounds, largest);
}"""


def prepare(folder, model):
    done = cli("compile", model, "--emit", "wasm", "-o", folder / "package", timeout=600)
    assert done.returncode == 0, done.stderr
    shutil.copy(model, folder / "model.onnx")
    shutil.copy(ROOT / "test/wasm/times.mjs", folder)
    for name in PEER_FILES:
        shutil.copy(PEER / name, folder)
    (folder / "index.html").write_text("<!doctype html>\n")


def in_node(folder, rounds, largest):
    (folder / "run.mjs").write_text(IN_NODE.replace("ROUNDS", str(rounds)).replace("LARGEST", str(largest)))
    done = subprocess.run([js_packages.NODE, "run.mjs"], cwd=folder, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def in_chromium(folder, rounds, largest):
    with serving.served(folder) as address, serving.chromium() as browser:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        return page.evaluate(IN_PAGE, [rounds, largest])


def sizes(files):
    """Bytes, and bytes as servers send them."""
    contents = [path.read_bytes() for path in files]
    return sum(map(len, contents)), sum(len(gzip.compress(content, 6)) for content in contents)


def main():
    import fetch_models

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=30)
    given = parser.parse_args()
    models = given.models or fetch_models.fetch(list(MODELS))
    wrong = 0
    print(f"{'':34} {'bytes':>10} {'gzip':>9} {'load':>8} {'first':>7} {'least':>7} {'median':>7}")
    for model in map(pathlib.Path, models):
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            prepare(folder, model)
            mine = sizes([folder / "package" / name for name in ("model.wasm", "model.mjs")])
            peers = sizes([*(folder / name for name in PEER_FILES), model])
            for engine, run in (("Node", in_node), ("Chromium", in_chromium)):
                times = run(folder, given.rounds, MODELS.get(model.stem, 1))
                for name, key, (size, packed) in (("Relay", "relay", mine), ("ONNX Runtime Web", "ort", peers)):
                    t = times[key]
                    print(
                        f"{model.stem[:14]:14} {engine[:8]:8} {name[:11]:11} {size:>9} {packed:>9}"
                        f" {t['load']:8.1f} {t['first']:7.1f} {t['least']:7.2f} {t['median']:7.2f}",
                        flush=True,
                    )
                if times["difference"] > MOST:
                    wrong += 1
                    print(f"FAILED {model.stem}: outputs differ by {times['difference']:.1e} of the largest")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
