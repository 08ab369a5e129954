// Runs the network in model.wasm, in browsers and in Node.
//
//   import { load } from "./model.mjs";
//   const model = await load();
//   const outputs = model.run(inputs);      // typed arrays by name, row by row
//
// Written by Relay; model.d.mts has the types.

const description = @DESCRIPTION@;

@SHARED@
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
export class Model extends Tensors {
  #exports;
  #threads;

  constructor(exports, memory, threads) {
    super();
    this.#exports = exports;
    this.#threads = threads;
    this.addViews((kind, i, type, count) => new type(memory.buffer, exports[`relay_${kind}_${i}`].value, count));
  }

  /** What the network was compiled from. */
  get about() { return `${description.model}, compiled to WebAssembly for ${description.target} by Relay ${description.relay}`; }
  /** The number of threads that a run uses. */
  get threads() { return this.#threads; }

  /** Ends the other threads; later runs use one. */
  close() {
    if (this.#threads > 1) this.#exports.relay_stop();
    this.#threads = 1;
  }

  /** Copies the inputs that are given, runs the network and returns copies of its outputs. */
  run(inputs = {}) {
    this.set(inputs);
    this.compute();
    return Object.fromEntries(description.outputs.map(({ name }) => [name, this.output(name).slice()]));
  }

  /** Runs the network on the memory of its inputs, without a copy. */
  compute() {
    const failure = this.#exports.relay_run();
    if (failure < 0) throw new ModelError("a thread of the network failed: load it again");
    if (failure !== 0) throw new ModelError(description.failures[failure - 1]);
  }
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
  if (constants) new Uint8Array(memory.buffer, exports.relay_weights.value).set(weightsIn(constants));
  exports.relay_prepare();
  if (shared) {
    await startWorkers(count - 1, ready, memory);
    exports.relay_serve(count - 1);
  }
  return new Model(exports, memory, count);
}
