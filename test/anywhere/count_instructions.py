"""Counts the instructions of a convolutional network on a Cortex-M4F, in an emulator where each takes 1 ns. Fails if
there are more than 2.5 for each multiply-add. A part of make test-anywhere.

The network is MobileNetV1 with a quarter of its channels, on images of 96x96 pixels, in float32. The loop alone needs
one multiply-add and half a load each; the rest is padding, depthwise layers, and the copies of rows.
"""

import pathlib
import re
import sys
import tempfile

import numpy as np

import relay

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python/support"))

import c_projects  # noqa: E402

MOST = 2.5
# Channels of the result and stride of each separable layer.
LAYERS = [(16, 1), (32, 2), (32, 1), (64, 2), (64, 1), (128, 2), *[(128, 1)] * 5, (256, 2), (256, 1)]
# The timer of the board counts down at 25 MHz: 40 instructions a step.
MAIN = """#include <stdio.h>
#include "model.h"
#include "test_vectors.h"
#define TIMER ((volatile uint32_t *)0x40000000)
static uint64_t workspace[MODEL_WORKSPACE_BYTES / 8 + 1];
static float output[2];
int main(void) {
  TIMER[1] = TIMER[2] = 0xffffffff, TIMER[0] = 1;
  const uint32_t begin = TIMER[1];
  const model_status status = model_run(input_image, output, workspace, sizeof workspace);
  const uint32_t steps = begin - TIMER[1];
  printf("status %d, output %g of %g, instructions %lu\\n", (int)status, (double)output[0], (double)expected_output[0],
         (unsigned long)steps * 40);
  return 0;
}
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


def main():
    function, multiply_adds = network()
    tool = c_projects.ALL["cortex-m4"]
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        relay.IRModule.from_expr(function).save(folder / "net.relay")
        c_projects.write(folder / "net.relay", folder / "c", "--target", "cortex-m4")
        (folder / "c/main.c").write_text(MAIN)
        options = [*c_projects.STRICT, "-O3", "-DRELAY_FMA", "-fno-math-errno"]
        c_projects.run(
            *tool.compiler, *options, "-o", folder / "program", *c_projects.sources(folder / "c"), *tool.link, "-lm"
        )
        kernel = tool.emulator.index("-kernel")
        said = c_projects.run(*tool.emulator[:kernel], "-icount", "shift=0", "-kernel", folder / "program")
    print(said.strip())
    instructions = int(re.search(r"status 0, .*instructions (\d+)", said)[1])
    ratio = instructions / multiply_adds
    print(f"{multiply_adds} multiply-adds, {ratio:.2f} instructions each")
    return ratio > MOST


if __name__ == "__main__":
    sys.exit(main())
