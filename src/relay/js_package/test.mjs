// Runs the network on recorded inputs and compares its outputs with the recorded ones: npm test.
import { load } from "./model.mjs";

const vectors = @VECTORS@;  // offsets in test_vectors.bin
const tolerance = @TOLERANCE@;  // of an output's largest value; 0: the same bits

// A float of 2 bytes with all bits of its exponent and another one is NaN, whose other bits engines choose.
const isNaNOf = { float16: (bits) => (bits & 0x7fff) > 0x7c00, bfloat16: (bits) => (bits & 0x7fff) > 0x7f80 };

function differences(tensor, got, want) {
  const isNaN = isNaNOf[tensor.dtype] ?? Number.isNaN;
  let largest = 0, count = 0;
  if (tolerance > 0) want.forEach((value) => { largest = Math.max(largest, Math.abs(Number(value)) || 0); });
  const allowed = tensor.dtype.startsWith("float") ? tolerance * largest : Math.sign(tolerance);
  got.forEach((value, i) => {
    const same = Object.is(value, want[i]) || (isNaN(value) && isNaN(want[i]));
    if (!same && !(Math.abs(Number(value) - Number(want[i])) <= allowed && tolerance > 0)) ++count;
  });
  return count;
}

const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);

async function recordedBytes() {
  const url = new URL("test_vectors.bin", import.meta.url);
  return isNode ? (await import("node:fs/promises")).readFile(url) : new Uint8Array(await (await fetch(url)).arrayBuffer());
}

/** Lines about outputs that differ; none if all are right. */
export async function selfTest() {
  const recorded = await recordedBytes();
  const vector = (view, at) => new view.constructor(recorded.buffer.slice(recorded.byteOffset + at, recorded.byteOffset + at + view.byteLength));
  const model = await load();
  model.inputs.forEach(({ name }, i) => model.input(name).set(vector(model.input(name), vectors.inputs[i])));
  model.state.forEach(({ name }, i) => model.stateOf(name).set(vector(model.stateOf(name), vectors.state[i])));
  await model.compute();
  const compare = (tensors, view, expected) => tensors.flatMap((tensor, i) => {
    const got = view(tensor.name), count = differences(tensor, got, vector(got, expected[i]));
    return count === 0 ? [] : [`${tensor.name}: ${count} of ${got.length} values differ`];
  });
  model.close();
  return [...compare(model.outputs, (name) => model.output(name), vectors.outputs), ...compare(model.state, (name) => model.stateOf(name), vectors.newState)];
}

if (isNode && process.argv[1] === (await import("node:url")).fileURLToPath(import.meta.url)) {
  const problems = await selfTest();
  console.log(problems.length === 0 ? "ok, all outputs are equal to the recorded ones" : problems.join("\n"));
  process.exitCode = problems.length === 0 ? 0 : 1;
}
