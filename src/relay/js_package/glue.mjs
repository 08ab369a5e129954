// Runs the network in model.wasm, in browsers and in Node.
//
//   import { load } from "./model.mjs";
//   const model = await load();
//   const outputs = model.run(inputs);      // typed arrays by name, row by row
//
// Written by Relay; model.d.mts has the types.

const description = @DESCRIPTION@;

// The typed array that holds elements of each type. Halves and the narrow floats are bits.
const arrayTypes = {
  float64: Float64Array, float32: Float32Array, float16: Uint16Array, bfloat16: Uint16Array,
  int64: BigInt64Array, int32: Int32Array, int16: Int16Array, int8: Int8Array,
  uint64: BigUint64Array, uint32: Uint32Array, uint16: Uint16Array, uint8: Uint8Array, bool: Uint8Array,
};

const arrayType = (tensor) => arrayTypes[tensor.dtype] ?? Uint8Array;
const elements = (tensor) => tensor.shape.reduce((product, size) => product * size, 1);
const typeText = (tensor) => `${tensor.dtype}[${tensor.shape.join(", ")}]`;
const names = (tensors) => tensors.map((tensor) => `\`${tensor.name}\``).join(", ") || "none";
const isNode = typeof process !== "undefined" && Boolean(process.versions?.node);

/** An argument or a file that does not fit the network. */
export class ModelError extends Error {
  name = "ModelError";
}

// The bytes of a file beside this one.
async function bytesOf(source) {
  if (source instanceof ArrayBuffer || ArrayBuffer.isView(source)) return source;
  if (typeof Response !== "undefined" && source instanceof Response) return source.arrayBuffer();
  const url = new URL(source, import.meta.url);
  if (isNode && url.protocol === "file:") return (await import("node:fs/promises")).readFile(url);
  if (url.protocol === "file:")
    throw new ModelError(`a browser does not read ${url}: serve the folder, as with \`npx serve\` or \`python3 -m http.server\``);
  const response = await fetch(url);
  if (!response.ok) throw new ModelError(`${url} cannot be read: ${response.status} ${response.statusText}`);
  return response.arrayBuffer();
}

const needs = description.target === "wasm32-relaxed"
  ? "It needs an engine with relaxed SIMD, such as Chrome 114 and Node 22; --target wasm32-simd128 is for all"
  : "It needs an engine with SIMD: browsers since 2023, Node 16.4";

// `shared`: false to run a module for threads on memory that is not shared.
async function compiled(source, shared) {
  if (source instanceof WebAssembly.Module) return source;
  let bytes = await bytesOf(source);
  if (description.memory && !shared) {
    bytes = new Uint8Array(bytes.buffer ?? bytes, bytes.byteOffset ?? 0, bytes.byteLength).slice();
    bytes[description.memory.flagsAt] = 1;
  }
  try {
    return await WebAssembly.compile(bytes);
  } catch (error) {
    throw new ModelError(`model.wasm is refused: ${error.message}. ${needs}`);
  }
}

// The reason why several threads are impossible here; none if they are possible.
function noThreads() {
  if (!description.memory) return "it was compiled for one; --target wasm32-threads is for several";
  if (isNode) return null;
  if (typeof SharedArrayBuffer === "undefined" || !globalThis.crossOriginIsolated)
    return "memory is shared only in pages that the server sends with Cross-Origin-Opener-Policy: same-origin and " +
      "Cross-Origin-Embedder-Policy: require-corp";
  return null;
}

async function cores() {
  return isNode ? (await import("node:os")).availableParallelism?.() ?? 1 : navigator.hardwareConcurrency ?? 1;
}

async function numberOfThreads(wanted) {
  if (wanted !== undefined && !(Number.isInteger(wanted) && wanted >= 1))
    throw new ModelError(`threads: expected a positive integer, got ${wanted}`);
  const reason = noThreads();
  if (reason && (wanted > 1 || description.memory)) console.warn(`${description.name} runs on one thread: ${reason}`);
  return reason ? 1 : Math.min(wanted ?? await cores(), description.memory.mostThreads);
}

// Starts threads beside this one: workers with a stack and scratch memory behind all arrays.
async function startWorkers(count, module, memory) {
  const { stackBytes, scratchBytes } = description.memory;
  const each = stackBytes + scratchBytes, page = 65536;
  const first = memory.buffer.byteLength;
  try {
    memory.grow(Math.ceil(count * each / page));
  } catch {
    throw new ModelError(`there is no memory for ${count + 1} threads, ${each} bytes for each: pass a smaller \`threads\``);
  }
  const url = new URL("./worker.mjs", import.meta.url);
  const NodeWorker = isNode ? (await import("node:worker_threads")).Worker : null;
  return Promise.all(Array.from({ length: count }, (_, i) => new Promise((resolve, reject) => {
    const worker = isNode ? new NodeWorker(url) : new Worker(new URL("./worker.mjs", import.meta.url), { type: "module" });
    const failed = (error) => reject(new ModelError(`a thread cannot be started: ${error.message ?? "worker.mjs cannot be read"}`));
    if (isNode) worker.once("message", () => { worker.unref(); resolve(worker); }).once("error", failed);
    else worker.onmessage = () => resolve(worker), worker.onerror = failed;
    const stack = first + i * each + stackBytes;
    worker.postMessage({ module, memory, stack, scratch: stack });
  })));
}

/** A network with memory of its own. Not to be constructed: load() makes it. */
export class Model {
  #exports;
  #views = new Map();
  #threads;

  constructor(exports, memory, threads) {
    this.#exports = exports;
    this.#threads = threads;
    const view = (kind) => (tensor, i) => {
      const at = exports[`relay_${kind}_${i}`].value;
      this.#views.set(`${kind} ${tensor.name}`, new (arrayType(tensor))(memory.buffer, at, elements(tensor)));
    };
    description.inputs.forEach(view("input"));
    description.outputs.forEach(view("output"));
    description.state.forEach(view("state"));
  }

  /** The name of the network, and what it was compiled from. */
  get name() { return description.name; }
  get about() { return `${description.model}, compiled to WebAssembly for ${description.target} by Relay ${description.relay}`; }
  get inputs() { return description.inputs; }
  get outputs() { return description.outputs; }
  get state() { return description.state; }
  /** The number of threads that a run uses. */
  get threads() { return this.#threads; }

  /** Ends the other threads; later runs use one. */
  close() {
    if (this.#threads > 1) this.#exports.relay_stop();
    this.#threads = 1;
  }

  /** The memory of an input: what is written there is what the next run reads. */
  input(name) { return this.#view("input", description.inputs, name); }
  /** The memory of an output: the next run overwrites it. */
  output(name) { return this.#view("output", description.outputs, name); }
  /** The memory of a state, which each run replaces. */
  stateOf(name) { return this.#view("state", description.state, name); }

  #view(kind, tensors, name) {
    const view = this.#views.get(`${kind} ${name}`);
    if (!view) throw new ModelError(`no ${kind} is named \`${name}\`; there are: ${names(tensors)}`);
    return view;
  }

  /** Sets all state to zeros. */
  reset() {
    for (const { name } of description.state) {
      const bytes = this.stateOf(name);
      new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength).fill(0);
    }
  }

  /** Copies the inputs that are given, runs the network and returns copies of its outputs. */
  run(inputs = {}) {
    this.set(inputs);
    this.compute();
    return Object.fromEntries(description.outputs.map(({ name }) => [name, this.output(name).slice()]));
  }

  /** Copies inputs into the memory of the network. */
  set(inputs) {
    if (inputs === null || typeof inputs !== "object" || ArrayBuffer.isView(inputs) || Array.isArray(inputs))
      throw new ModelError(`inputs are an object of typed arrays by name: ${names(description.inputs)}`);
    for (const [name, values] of Object.entries(inputs)) {
      const view = this.input(name);
      const tensor = description.inputs.find((each) => each.name === name);
      view.set(checked(tensor, view, values));
      if (tensor.dtype === "bool") view.forEach((value, i) => { view[i] = value ? 1 : 0; });
    }
  }

  /** Runs the network on the memory of its inputs, without a copy. */
  compute() {
    const failure = this.#exports.relay_run();
    if (failure < 0) throw new ModelError("a thread of the network failed: load it again");
    if (failure !== 0) throw new ModelError(description.failures[failure - 1]);
  }
}

// The values in an array that `view` can be set to.
function checked(tensor, view, values) {
  const want = `input \`${tensor.name}\`: expected ${view.constructor.name} of ${view.length} elements for ${typeText(tensor)}`;
  if (typeof values === "number" || typeof values === "bigint" || typeof values === "boolean") values = [values];
  const isBits = tensor.dtype === "float16" && values?.constructor?.name === "Float16Array";
  if (isBits) values = new Uint16Array(values.buffer, values.byteOffset, values.length);
  const isList = Array.isArray(values);
  if (!isList && values?.constructor !== view.constructor)
    throw new ModelError(`${want}, got ${values?.constructor?.name ?? values}`);
  if (values.length !== view.length) throw new ModelError(`${want}, got ${values.length}`);
  if (!isList) return values;
  const isBig = view.constructor === BigInt64Array || view.constructor === BigUint64Array;
  return values.map((value, i) => {
    const isNumber = typeof value === "number" || typeof value === "boolean" || (isBig && typeof value === "bigint");
    if (!isNumber || (isBig && typeof value === "number" && !Number.isInteger(value)))
      throw new ModelError(`${want}, but element ${i} is ${Array.isArray(value) ? "a list: flatten it row by row" : String(value)}`);
    return isBig ? BigInt(value) : Number(value);
  });
}

/**
 * Loads the network. `module`: model.wasm as an address, a Response, bytes or a WebAssembly.Module, if it is not beside
 * this file. `weights`: likewise, if weights are in a file of their own. `threads`: all cores by default, if the network
 * was compiled for threads.
 */
export async function load({ module = "model.wasm", weights = "model.weights", threads } = {}) {
  const count = await numberOfThreads(threads), shared = count > 1;
  const [ready, constants] = await Promise.all([compiled(module, shared), description.weights > 0 ? bytesOf(weights) : null]);
  const { initialPages: initial, maximumPages: maximum } = description.memory ?? {};
  const imported = description.memory ? new WebAssembly.Memory({ initial, maximum, shared: shared || ready === module }) : null;
  const { exports } = await WebAssembly.instantiate(ready, imported ? { env: { memory: imported } } : {});
  const memory = imported ?? exports.memory;
  if (!exports.relay_identity || identity(memory.buffer, exports.relay_identity.value) !== description.identity)
    throw new ModelError("model.wasm is not the module that this file was written for: copy all files of the package");
  if (constants) {
    const bytes = new Uint8Array(constants.buffer ?? constants, constants.byteOffset ?? 0, constants.byteLength);
    if (bytes.length !== headerBytes + description.weights || identity(bytes.buffer, bytes.byteOffset) !== description.identity)
      throw new ModelError("model.weights is not the file that this one was written for: copy all files of the package");
    new Uint8Array(memory.buffer, exports.relay_weights.value).set(bytes.subarray(headerBytes));
  }
  exports.relay_prepare();
  if (shared) {
    await startWorkers(count - 1, ready, memory);
    exports.relay_serve(count - 1);
  }
  return new Model(exports, memory, count);
}

// In front of the constants in model.weights.
const headerBytes = 64;

function identity(buffer, at) {
  const bytes = new Uint8Array(buffer, at, Math.min(description.identity.length, buffer.byteLength - at));
  return new TextDecoder().decode(bytes.slice());  // a copy, because decoders refuse shared memory
}
