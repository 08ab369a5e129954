// Runs the network in model.wgsl, in browsers with WebGPU.
//
//   import { load } from "./model.mjs";
//   const model = await load();
//   const outputs = await model.run(inputs);      // typed arrays by name, row by row
//
// Written by Relay; model.d.mts has the types.

const description = @DESCRIPTION@;

@SHARED@
const { bytes: memoryBytes, blocks, kernels, preparations, steps } = description.gpu;

// Rounds up to words, in which buffers are copied.
const inWords = (bytes) => Math.ceil(bytes / 4) * 4;

/** A network with memory of its own on a device. Not to be constructed: load() makes it. */
export class Model extends Tensors {
  #device;
  #info;
  #memory;
  #results;
  #moved;
  #group;
  #pipelines = new Map();
  #failure = null;
  #isBusy = false;

  constructor(device, info) {
    super();
    this.#device = device;
    this.#info = info;
    device.lost.then(({ reason, message }) => { this.#failure ??= `the device was lost (${reason}): ${message}`; });
    device.addEventListener?.("uncapturederror", ({ error }) => { this.#failure ??= error.message; });
    this.addViews((kind, i, type, count) => new type(count));
    const { STORAGE, COPY_SRC, COPY_DST, MAP_READ } = globalThis.GPUBufferUsage;
    const most = (all) => Math.max(4, ...all.map(inWords));
    const copies = steps.filter(({ copy }) => copy).map(({ copy }) => copy[2]);
    const results = description.outputs.map(({ name }) => inWords(this.output(name).byteLength));
    this.#memory = device.createBuffer({ size: Math.max(memoryBytes, 4), usage: STORAGE | COPY_SRC | COPY_DST });
    this.#moved = device.createBuffer({ size: most(copies), usage: COPY_SRC | COPY_DST });
    this.#results = device.createBuffer({ size: Math.max(4, results.reduce((sum, bytes) => sum + bytes, 0)), usage: COPY_DST | MAP_READ });
  }

  /** What the network was compiled from, and the device that runs it. */
  get about() {
    const { vendor, architecture, description: text } = this.device;
    const calls = this.kernels.reduce((sum, { calls: each }) => sum + each, 0);
    return `${description.model}, compiled to WGSL by Relay ${description.relay}; ${calls} calls of ${this.kernels.length} kernels, ` +
      `all on WebGPU: ${[vendor, architecture, text].filter(Boolean).join(" ") || "a device without a name"}`;
  }
  /** The device that runs all kernels. */
  get device() {
    const { vendor = "", architecture = "", description: text = "" } = this.#info;
    return { vendor, architecture, description: text };
  }
  /** Names of the kernels, and how often a run calls each. */
  get kernels() {
    return kernels.map(({ entry }, i) => ({ name: entry.replace("kernel_", ""), calls: steps.filter(({ kernel }) => kernel === i).length }))
      .filter(({ calls }) => calls > 0);
  }

  /** Gives the memory of the device back. */
  close() {
    this.#failure ??= "it is closed";
    this.#device.destroy();
  }

  // Compiles the kernels and computes weights. Not to be called: load() does.
  async prepare(code, weights) {
    const device = this.#device;
    device.pushErrorScope("validation");
    // A module for each kernel: browsers compile a whole module for each of its entries.
    const [shared, ...parts] = code.split(/^\/\/ --- /m);
    const modules = new Map(parts.map((part) => {
      const end = part.indexOf("\n");
      return [part.slice(0, end), device.createShaderModule({ code: shared + part.slice(end) })];
    }));
    const layout = device.createBindGroupLayout({
      entries: [{ binding: 0, visibility: globalThis.GPUShaderStage.COMPUTE, buffer: { type: "storage" } }],
    });
    this.#group = device.createBindGroup({ layout, entries: [{ binding: 0, resource: { buffer: this.#memory } }] });
    const pipelineLayout = device.createPipelineLayout({ bindGroupLayouts: [layout] });
    await Promise.all([...preparations, ...steps].filter(({ copy }) => !copy).map(async (step) => {
      const constants = Object.fromEntries(step.arrays.map((word, i) => [`relay_array_${i}`, word]));
      if (step.scratch !== undefined) constants.relay_scratch = step.scratch;
      const entryPoint = kernels[step.kernel].entry;
      const compute = { module: modules.get(entryPoint), entryPoint, constants };
      this.#pipelines.set(step, await device.createComputePipelineAsync({ layout: pipelineLayout, compute })
        .catch((error) => { throw new ModelError(`kernel ${entryPoint} is refused: ${error.message}`); }));
    }));
    if (weights) device.queue.writeBuffer(this.#memory, blocks.relay_weights, weights);
    device.queue.submit([this.#encoded(preparations).finish()]);
    const error = await device.popErrorScope();
    if (error) throw new ModelError(`model.wgsl is refused: ${error.message}`);
  }

  #encoded(all) {
    const encoder = this.#device.createCommandEncoder();
    let pass = null;
    for (const step of all) {
      if (step.copy) {
        pass?.end();
        pass = null;
        const [from, to, bytes] = step.copy;
        encoder.copyBufferToBuffer(this.#memory, from, this.#moved, 0, inWords(bytes));
        encoder.copyBufferToBuffer(this.#moved, 0, this.#memory, to, inWords(bytes));
        continue;
      }
      if (!pass) {
        pass = encoder.beginComputePass();
        pass.setBindGroup(0, this.#group);
      }
      pass.setPipeline(this.#pipelines.get(step));
      pass.dispatchWorkgroups(kernels[step.kernel].groups);
    }
    pass?.end();
    return encoder;
  }

  /** Copies the inputs that are given, runs the network and returns copies of its outputs. */
  async run(inputs = {}) {
    this.set(inputs);
    await this.compute();
    return Object.fromEntries(description.outputs.map(({ name }) => [name, this.output(name).slice()]));
  }

  // Gives the device the inputs, all steps, and the copies of the outputs to where they can be mapped.
  #start(outputs) {
    const { queue } = this.#device;
    description.inputs.forEach(({ name }, i) => queue.writeBuffer(this.#memory, blocks[`relay_input_${i}`], this.input(name)));
    const encoder = this.#encoded(steps);
    let at = 0;
    outputs.forEach((view, i) => {
      encoder.copyBufferToBuffer(this.#memory, blocks[`relay_output_${i}`], this.#results, at, inWords(view.byteLength));
      at += inWords(view.byteLength);
    });
    queue.submit([encoder.finish()]);
  }

  /** Copies the memory of the inputs to the device, runs the network there, and copies its outputs back. */
  async compute() {
    if (this.#failure) throw new ModelError(`the network cannot run: ${this.#failure}`);
    if (this.#isBusy) throw new ModelError("a run is under way: await it before the next one");
    const outputs = description.outputs.map(({ name }) => this.output(name));
    this.#isBusy = true;
    try {
      this.#start(outputs);
      await this.#results.mapAsync(globalThis.GPUMapMode.READ).catch((error) => { this.#failure ??= error.message; });
    } finally {
      this.#isBusy = false;
    }
    if (this.#failure) throw new ModelError(`the network failed: ${this.#failure}`);
    const bytes = this.#results.getMappedRange();
    let at = 0;
    for (const view of outputs) {
      view.set(new view.constructor(bytes, at, view.length));
      at += inWords(view.byteLength);
    }
    this.#results.unmap();
  }
}

async function deviceOf(gpu) {
  if (!gpu) throw new ModelError("there is no WebGPU here: it needs a browser such as Chrome 113, and a page from https or localhost");
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (!adapter) throw new ModelError("the browser has WebGPU, but no device for it");
  const requiredLimits = {};
  for (const [limit, need] of [["maxBufferSize", memoryBytes], ["maxStorageBufferBindingSize", memoryBytes]]) {
    if (need > adapter.limits[limit])
      throw new ModelError(`the network needs ${need} bytes in one buffer, and the device allows ${adapter.limits[limit]}`);
    requiredLimits[limit] = need;
  }
  return [await adapter.requestDevice({ requiredLimits }), adapter.info ?? {}];
}

/**
 * Loads the network. `module`, `weights`: model.wgsl and model.weights, if they are not beside this file. `gpu`: the
 * WebGPU to use, by default that of the browser.
 */
export async function load({ module = "model.wgsl", weights = "model.weights", gpu = globalThis.navigator?.gpu } = {}) {
  const [device, info] = await deviceOf(gpu);
  const [source, constants] = await Promise.all([bytesOf(module), description.weights > 0 ? bytesOf(weights) : null]);
  const code = new TextDecoder().decode(source);
  if (!code.startsWith(`// ${description.identity}\n`))
    throw new ModelError("model.wgsl is not the file that this one was written for: copy all files of the package");
  const model = new Model(device, info);
  await model.prepare(code, constants && weightsIn(constants));
  return model;
}
