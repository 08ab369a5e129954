"""Compares a C project of an int8 network (quantised_network.py) with two engines for small processors, on the same
values and weights: emx-onnx-cgen, which writes C as well, and TFLite Micro, an interpreter. A part of make
test-anywhere. Fails if results differ, or if a C project needs more instructions or memory than another engine.

    compare_engines.py [--on cortex-m4,cortex-m55]

Relay reads both files of the network. TFLite Micro's Python package runs it on this machine, and all results must be
within TOLERANCE of its own. Instructions are those of one run in an emulator where each takes 1 ns. Flash is the linked
program with weights and the C library, or for TFLite Micro its model file alone. RAM is the input, the workspace and
the deepest stack; for emx-onnx-cgen arrays are on the stack; for TFLite Micro it is its arena in the package for
x86-64, whose pointers have twice the size of those on the processor.
"""

import argparse
import contextlib
import os
import pathlib
import re
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/python/support"), str(ROOT / "build/test-anywhere/engines")]

import c_projects  # noqa: E402
import count_instructions as counting  # noqa: E402
import quantised_network  # noqa: E402

# Steps of 1/256 that results may be apart: the engines round factors and halves differently.
TOLERANCE = 2
# The most instructions for a multiply-add on a Cortex-M4 from TFLite, whose factors are rounded twice.
MOST_FROM_TFLITE = 3.0
MAIN = """#include <stdio.h>
#include <stdint.h>
{counter}
{declarations}
static int8_t output[2];
int main(void) {{
  begin_count();
  {call};
  const uint32_t steps = count();
  printf("results %d %d, steps %lu\\n", output[0], output[1], (unsigned long)steps);
  return 0;
}}
"""


def measured(sources, folder, board, main, entry, options):
    """Instructions for each multiply-add, the results, bytes of flash, and bytes of the deepest stack."""
    tool, (counter, each) = c_projects.BOARDS[board], counting.COUNTER_OF[board]
    (folder / "main.c").write_text(MAIN.format(counter=counting.COUNTERS[counter], **main))
    program, flags = folder / "program", ["-std=c99", "-O3", "-fno-math-errno", "-fstack-usage", *options]
    objects = []
    for path in [*sources, folder / "main.c"]:
        objects.append(folder / f"{path.stem}.o")
        c_projects.run(*tool.compiler, *flags, "-c", "-o", objects[-1], path)
    link = [word.replace("__stack_size=0x8000", "__stack_size=0x40000") for word in tool.link]
    c_projects.run(*tool.compiler, "-o", program, *objects, *link, "-lm")
    kernel = tool.emulator.index("-kernel")
    said = c_projects.run(*tool.emulator[:kernel], "-icount", "shift=0", "-kernel", program)
    found = re.search(r"results (-?\d+) (-?\d+), steps (\d+)", said)
    assert found, said
    frames = {}
    for path in sources:
        for line in (folder / f"{path.stem}.su").read_text().splitlines():
            place, size, _ = line.split("\t")
            frames[place.rsplit(":", 1)[1]] = int(size)
    stack = frames.pop(entry) + max(frames.values())
    instructions = int(found[3]) * each
    return instructions, [int(found[1]), int(found[2])], counting.bytes_of(program, tool.compiler[0])[0], stack


def c_array(name, values):
    return f"static const int8_t {name}[{values.size}] = {{{','.join(map(str, values.ravel()))}}};"


def of_relay(network, form, folder, board):
    model, image = folder / f"network.{form}", network.image
    model.write_bytes(network.onnx() if form == "onnx" else network.tflite())
    if form == "onnx":
        image = np.ascontiguousarray(image.transpose(0, 3, 1, 2))
    np.save(folder / f"image_{form}.npy", image)
    given = ["--target", counting.TARGETS[board][0], "--input", f"image={folder / f'image_{form}.npy'}"]
    project = c_projects.write(model, folder / f"relay_{form}_{board}", *given)
    declarations = f"""#include "model.h"
{c_array("image", image)}
static uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 1];"""
    main = {"declarations": declarations, "call": "if (model_run(image, output, workspace, sizeof workspace)) return 1"}
    options = [*counting.TARGETS[board][1]]
    *measures, stack = measured(c_projects.sources(project)[:-1], project, board, main, "model_run", options)
    workspace = int(re.search(r"WORKSPACE_BYTES (\d+)", (project / "model.h").read_text())[1])
    return *measures, image.size + workspace + stack


def of_emx(network, folder, board):
    own = folder / f"emx_{board}"
    own.mkdir()
    (own / "network.onnx").write_bytes(network.onnx())
    words = ["--model-name", "network", "--large-weight-threshold", "0", "--large-temp-threshold", "0"]
    os.environ["PYTHONPATH"] = f"{ROOT / 'build/test-anywhere/engines'}"
    c_projects.run(sys.executable, "-m", "emx_onnx_cgen", "compile", own / "network.onnx", own / "network.c", *words)
    rows, out = f"[1][3][{network.image.shape[1]}][{network.image.shape[2]}]", "[1][2]"
    declarations = f"""void network(const int8_t image[restrict 1]{rows[3:]}, int8_t results[restrict 1]{out[3:]});
{c_array("image", network.image.transpose(0, 3, 1, 2))}"""
    call = f"network((const int8_t (*){rows[3:]})image, (int8_t (*){out[3:]})output)"
    main = {"declarations": declarations, "call": call}
    *measures, stack = measured([own / "network.c"], own, board, main, "network", [])
    return *measures, network.image.size + stack


@contextlib.contextmanager
def printed(path):
    """Redirects what native code prints on standard error into a file."""
    kept = os.dup(2)
    with open(path, "w") as file:
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def of_tflite_micro(network, folder):
    from tflite_micro.python.tflite_micro import runtime

    model = network.tflite()
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=1 << 20)
    interpreter.set_input(network.image, 0)
    interpreter.invoke()
    with printed(folder / "allocations"):
        interpreter.print_allocations()
    arena = int(re.search(r"Arena allocation total (\d+) bytes", (folder / "allocations").read_text())[1])
    return None, interpreter.get_output(0).ravel().tolist(), len(model), arena


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", default="cortex-m4", help="processors")
    given = parser.parse_args()
    network = quantised_network.Network()
    failed = False
    print("| engine | processor | instructions for each multiply-add | flash, KiB | RAM, KiB |")
    print("| --- | --- | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        rows = {("TFLite Micro", ""): of_tflite_micro(network, folder)}
        for board in given.on.split(","):
            rows["Relay, ONNX", board] = of_relay(network, "onnx", folder, board)
            rows["Relay, TFLite", board] = of_relay(network, "tflite", folder, board)
            rows["emx-onnx-cgen", board] = of_emx(network, folder, board)
    wanted = rows["TFLite Micro", ""][1]
    for (engine, board), (instructions, results, flash, ram) in rows.items():
        ratio = f"{instructions / network.multiply_adds:.2f}" if instructions else ""
        print(f"| {engine} | {board} | {ratio} | {flash / 1024:.0f} | {ram / 1024:.0f} |")
        if max(abs(np.subtract(results, wanted))) > TOLERANCE:
            print(f"FAILED {engine} on {board}: results {results}, those of TFLite Micro {wanted}")
            failed = True
    for board in given.on.split(","):
        ours, other = rows["Relay, ONNX", board], rows["emx-onnx-cgen", board]
        failed |= ours[0] > other[0] or ours[3] > other[3]
        failed |= rows["Relay, TFLite", board][3] > rows["TFLite Micro", ""][3]
        failed |= board == "cortex-m4" and rows["Relay, TFLite", board][0] > MOST_FROM_TFLITE * network.multiply_adds
    return failed


if __name__ == "__main__":
    sys.exit(main())
