"""Counts the instructions of a convolutional network on processors without an operating system, in an emulator where
each takes 1 ns. A part of make test-anywhere. Fails if a result is wrong, or if there are more instructions for a
multiply-add than MOST.

    count_instructions.py [--on cortex-m4,rv32] [--networks float32,int8]

The network is MobileNetV1 with a quarter of its channels, on images of 96x96 pixels, as for visual wake words, with
random weights. The loop alone needs one multiply-add and half a load each; the rest is padding, depthwise layers, and
the copies of rows.
"""

import argparse
import pathlib
import re
import sys
import tempfile

import numpy as np

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/support"))

import c_projects  # noqa: E402
from programs import cli  # noqa: E402

# The most instructions for a multiply-add, by network and board.
MOST = {("float32", "cortex-m4"): 2.5, ("int8", "cortex-m4"): 2.8, ("int8", "cortex-m55"): 1.7}
# The weights do not fit into the 512 KiB of flash of the emulated board.
LEFT_OUT = {("float32", "cortex-m55")}
# The machine that the kernels are scheduled for, and options of the C compiler besides -O3.
TARGETS = {
    "cortex-m0": ("portable", []),
    "cortex-m4": ("cortex-m4", ["-DRELAY_FMA", "-fno-math-errno"]),
    "cortex-m55": ("cortex-m55", ["-DRELAY_FMA", "-fno-math-errno"]),
    "rv32": ("portable", []),
}
# Channels of the result and stride of each separable layer.
LAYERS = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
# Counters of 32 bits, except SysTick, which has 24.
COUNTERS = {
    "timer": """#define TIMER ((volatile uint32_t *)0x40000000)
static void begin_count(void) { TIMER[1] = TIMER[2] = 0xffffffff, TIMER[0] = 1; }
static uint32_t count(void) { return 0xffffffff - TIMER[1]; }
""",
    "systick": """#define TICKS ((volatile uint32_t *)0xe000e010)
static void begin_count(void) { TICKS[1] = 0xffffff, TICKS[2] = 0, TICKS[0] = 5; }
static uint32_t count(void) { return 0xffffff - TICKS[2]; }
""",
    "minstret": """static uint32_t first;
static uint32_t now(void) {
  uint32_t n;
  __asm__ volatile(".option arch, +zicsr\\n csrr %0, minstret" : "=r"(n));
  return n;
}
static void begin_count(void) { first = now(); }
static uint32_t count(void) { return now() - first; }
""",
}
# The counter of each board, and the instructions, of 1 ns, in one of its steps.
COUNTER_OF = {
    "cortex-m0": ("timer", 40),
    "cortex-m4": ("timer", 40),
    "cortex-m55": ("systick", 31.25),
    "rv32": ("minstret", 1),
}
MAIN = """#include <stdio.h>
#include <string.h>
#include "model.h"
#include "test_vectors.h"
{counter}
static uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 1];
static float output[2];
int main(void) {{
  begin_count();
  const model_status status = model_run(input_image, output, workspace, sizeof workspace);
  const uint32_t steps = count();
  float error = 0;
  for (int i = 0; i < 2; ++i) {{
    const float d = output[i] - expected_output[i];
    error = d > error ? d : -d > error ? -d : error;
  }}
  printf("status %d, error %d, steps %lu\\n", (int)status, (int)(error * 1e6f), (unsigned long)steps);
  return 0;
}}
"""


def weight(*shape):
    values = np.random.default_rng(sum(shape)).standard_normal(shape) * (2 / np.prod(shape[1:])) ** 0.5
    return relay.const(values.astype("float32"))


def network():
    """The network and its number of multiply-adds."""
    image = relay.var("image", shape=(1, 3, 96, 96), dtype="float32")
    size, channels, total = 96, 3, 0

    def convolution(x, out, kernel, stride, groups=1):
        nonlocal size, channels, total
        size //= stride
        total += size * size * out * kernel * kernel * channels // groups
        padding = (kernel // 2, kernel // 2)
        w = weight(out, channels // groups, kernel, kernel)
        size_and_place = {"strides": (stride, stride), "padding": padding, "kernel_size": (kernel, kernel)}
        y = relay.nn.conv2d(x, w, groups=groups, channels=out, **size_and_place)
        channels = out
        return relay.nn.relu(relay.nn.bias_add(y, weight(out)))

    x = convolution(image, 8, 3, 2)
    for out, stride in LAYERS:
        x = convolution(convolution(x, channels, 3, stride, groups=channels), out, 1, 1)
    x = relay.nn.dense(relay.nn.batch_flatten(relay.nn.global_avg_pool2d(x)), weight(2, channels), units=2)
    return relay.Function([image], relay.nn.softmax(x)), total + 2 * channels


def quantised(model, folder):
    """The network with int8 values and weights."""
    images = np.random.default_rng(0).standard_normal((4, 3, 96, 96)).astype("float32")
    np.savez(folder / "images.npz", image=images)
    out = folder / "int8.relay"
    words = ["--data", folder / "images.npz", "--keep-float", "never", "--time", "0", "-o", out]
    done = cli("quantize", model, *words, timeout=300)
    assert done.returncode == 0, done.stderr
    return out


def bytes_of(program, compiler):
    """Code with constants, and data, of a linked program."""
    size = c_projects.run(compiler.replace("gcc", "size"), program).splitlines()[1].split()
    return int(size[0]), int(size[1]) + int(size[2])


def count(model, board, folder):
    """Steps of the counter, the largest error in millionths, and the program's bytes."""
    tool, (target, options) = c_projects.BOARDS[board], TARGETS[board]
    project = c_projects.write(model, folder / f"{model.stem}_{board}", "--target", target)
    (project / "main.c").write_text(MAIN.format(counter=COUNTERS[COUNTER_OF[board][0]]))
    program = project / "program"
    flags = [*c_projects.STRICT, "-O3", *options]
    c_projects.run(*tool.compiler, *flags, "-o", program, *c_projects.sources(project), *tool.link, "-lm")
    kernel = tool.emulator.index("-kernel")
    said = c_projects.run(*tool.emulator[:kernel], "-icount", "shift=0", "-kernel", program)
    found = re.search(r"status 0, error (\d+), steps (\d+)", said)
    assert found, f"{model.stem} on {board}: {said}"
    return int(found[2]), int(found[1]), bytes_of(program, tool.compiler[0])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--on", default=",".join(c_projects.BOARDS), help="processors")
    parser.add_argument("--networks", default="float32,int8", help="float32, int8 or both")
    given = parser.parse_args()
    function, multiply_adds = network()
    failed = False
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        models = {"float32": folder / "float32.relay"}
        relay.IRModule.from_expr(function).save(models["float32"])
        if "int8" in given.networks:
            models["int8"] = quantised(models["float32"], folder)
        print(f"{multiply_adds} multiply-adds")
        print("| network | processor | instructions for each | code and constants, KiB | RAM, KiB |")
        print("| --- | --- | --- | --- | --- |")
        for kind in given.networks.split(","):
            for board in given.on.split(","):
                if (kind, board) in LEFT_OUT:
                    continue
                steps, error, (code, ram) = count(models[kind], board, folder)
                ratio = steps * COUNTER_OF[board][1] / multiply_adds
                print(f"| {kind} | {board} | {ratio:.2f} | {code / 1024:.0f} | {ram / 1024:.0f} |", flush=True)
                failed |= error > 100 or ratio > MOST.get((kind, board), 1e9)
    return failed


if __name__ == "__main__":
    sys.exit(main())
