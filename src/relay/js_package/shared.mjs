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

// The tensors of a network, by kind and name: `views`.
class Tensors {
  #views = new Map();

  /** The name of the network. */
  get name() { return description.name; }
  get inputs() { return description.inputs; }
  get outputs() { return description.outputs; }
  get state() { return description.state; }

  /** The memory of an input: what is written there is what the next run reads. */
  input(name) { return this.#view("input", description.inputs, name); }
  /** The memory of an output: the next run overwrites it. */
  output(name) { return this.#view("output", description.outputs, name); }
  /** The memory of a state, which each run replaces. */
  stateOf(name) { return this.#view("state", description.state, name); }

  // `arrayOf(kind, i, type, elements)`: the typed array of a tensor.
  addViews(arrayOf) {
    const add = (kind) => (tensor, i) => {
      this.#views.set(`${kind} ${tensor.name}`, arrayOf(kind, i, arrayType(tensor), elements(tensor)));
    };
    description.inputs.forEach(add("input"));
    description.outputs.forEach(add("output"));
    description.state.forEach(add("state"));
  }

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

// The weights in model.weights. The file has 64 bytes with the identity of the package in front of them.
function weightsIn(constants) {
  const bytes = new Uint8Array(constants.buffer ?? constants, constants.byteOffset ?? 0, constants.byteLength);
  if (bytes.length !== headerBytes + description.weights || identity(bytes.buffer, bytes.byteOffset) !== description.identity)
    throw new ModelError("model.weights is not the file that this one was written for: copy all files of the package");
  return bytes.subarray(headerBytes);
}

const headerBytes = 64;

function identity(buffer, at) {
  const bytes = new Uint8Array(buffer, at, Math.min(description.identity.length, buffer.byteLength - at));
  return new TextDecoder().decode(bytes.slice());  // a copy, because decoders refuse shared memory
}
