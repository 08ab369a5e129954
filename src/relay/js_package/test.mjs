// Runs the network on recorded inputs and compares its outputs with the recorded ones: npm test.
import { readFile } from "node:fs/promises";

import { load } from "./model.mjs";

const vectors = @VECTORS@;  // offsets in test_vectors.bin
const tolerance = @TOLERANCE@;  // of an output's largest value; 0: the same bits

const recorded = await readFile(new URL("test_vectors.bin", import.meta.url));
const vector = (view, at) => new view.constructor(recorded.buffer.slice(recorded.byteOffset + at, recorded.byteOffset + at + view.byteLength));

const model = await load();
model.inputs.forEach(({ name }, i) => model.input(name).set(vector(model.input(name), vectors.inputs[i])));
model.state.forEach(({ name }, i) => model.stateOf(name).set(vector(model.stateOf(name), vectors.state[i])));
model.compute();

// A float of 2 bytes with all bits of its exponent and another one is NaN, whose other bits engines choose.
const isNaNOf = { float16: (bits) => (bits & 0x7fff) > 0x7c00, bfloat16: (bits) => (bits & 0x7fff) > 0x7f80 };
function differences(tensor, got, want) {
  const isNaN = isNaNOf[tensor.dtype] ?? Number.isNaN;
  const largest = tolerance === 0 ? 0 : want.reduce((most, value) => Math.max(most, Math.abs(Number(value)) || 0), 0);
  return got.reduce((count, value, i) => {
    if (Object.is(value, want[i]) || (isNaN(value) && isNaN(want[i]))) return count;
    const difference = Math.abs(Number(value) - Number(want[i]));
    const allowed = Number.isInteger(Number(want[i])) && !tensor.dtype.startsWith("float") ? 1 : tolerance * largest;
    return tolerance > 0 && difference <= allowed ? count : count + 1;
  }, 0);
}

let failed = 0;
const compare = (tensors, view, expected) => tensors.forEach((tensor, i) => {
  const got = view(tensor.name);
  const count = differences(tensor, got, vector(got, expected[i]));
  if (count > 0) console.log(`${tensor.name}: ${count} of ${got.length} values differ`);
  failed += count;
});
compare(model.outputs, (name) => model.output(name), vectors.outputs);
compare(model.state, (name) => model.stateOf(name), vectors.newState);
const count = model.outputs.length + model.state.length;
if (failed === 0) console.log(`ok, ${count} ${count === 1 ? "output" : "outputs"} equal to the recorded ${count === 1 ? "one" : "ones"}`);
process.exitCode = failed === 0 ? 0 : 1;
