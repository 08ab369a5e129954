// Overlays: the values by which boxes are coloured, and their texts.

// The ways to colour the boxes: {name, value: (compilation, state, row) => a number or a text, or null; unit}.
const OVERLAYS = {
  none: { name: "operators" },
  bytes: { name: "bytes of the result", unit: "B", value: (c, s, row) => (c.bytes(s, row) > 0 ? c.bytes(s, row) : null) },
  dtype: { name: "element type", value: (c, s, row) => c.dtype(s, row) || null },
  layout: { name: "layout, if not the default", value: layoutOf },
  device: { name: "device", value: deviceOf },
  kernel: { name: "kernel", value: (c, s, row) => kernelValue(c, s, row, (k) => k.name) },
  flops: { name: "operations of the kernel", unit: "flop", value: (c, s, row) => kernelValue(c, s, row, (k) => k.flops) },
  moved: { name: "bytes the kernel moves", unit: "B", value: (c, s, row) => kernelValue(c, s, row, (k) => k.bytes) },
  time: { name: "time of the kernel", unit: "s", profiled: true, value: (c, s, row) => kernelValue(c, s, row, (k) => (k.us ? k.us * 1e-6 : null)) },
  error: { name: "error", unit: "error", verified: true, value: (c, s, row) => errorOf(c, s, row) },
  share: { name: "share of the ceiling", unit: "%", profiled: true, isBad: true, value: (c, s, row) => kernelValue(c, s, row, (k) => (k.us ? k.share * 100 : null)) },
};
function kernelValue(c, s, row, get) {
  if (s.place[row] < 0 || !c.isOperator(s, row)) return null;
  const values = c.kernelsOf(s.place[row]).map((kernel) => get(c.kernels[kernel])).filter((value) => value !== null && value !== undefined);
  if (!values.length) return null;
  return typeof values[0] === "string" ? values[0] : values.reduce((sum, value) => sum + value, 0);
}
// The largest error of the groups that compute a row, relative to the largest value; 1 for infinities and NaN.
function errorOf(c, s, row) {
  if (s.place[row] < 0 || !c.isOperator(s, row)) return null;
  const errors = c.groupsOf(s.place[row]).map((group) => c.groups[group].error).filter((error) => error);
  return errors.length ? Math.max(...errors.map((error) => error.relative ?? 1)) : null;
}
const errorText = (value) => (value === 0 ? "0" : value.toExponential(1));
function secondsText(value) {
  if (value >= 1) return value.toPrecision(3) + " s";
  for (const [size, unit] of [[1e-3, "ms"], [1e-6, "µs"]]) if (value >= size) return (value / size).toPrecision(3) + " " + unit;
  return (value * 1e9).toFixed(0) + " ns";
}
function valueText(overlay, value) {
  if (typeof value !== "number") return value;
  if (!overlay.unit) return String(Number(value.toPrecision(3)));
  if (overlay.unit === "s") return secondsText(value);
  if (overlay.unit === "error") return errorText(value);
  return overlay.unit === "%" ? value.toFixed(0) + " %" : inUnits(value, overlay.unit);
}

// The layouts in the attributes of a call: "NHWC, HWIO", "NCHW → NHWC". Attributes leave out the operator's default.
function layoutOf(c, s, row) {
  if (!c.isOperator(s, row)) return null;
  const stated = [...c.attrs(s, row).matchAll(/\b(\w*layout)="([^"]*)"/g)];
  const of = Object.fromEntries(stated.map(([, name, text]) => [name, text]));
  if (of.src_layout && of.dst_layout) return `${of.src_layout} → ${of.dst_layout}`;
  return stated.map(([, , text]) => text).join(", ") || null;
}

// The device that computes a row, and the external compiler that has it: "cpu:1", "cpu:0, dnnl". Null for constants, which
// are copied to where they are used when the program is loaded, and for values that no copy and no input leads to.
function deviceOf(c, s, row) {
  if (s.kind[row] === c.kinds.constant) return null;
  s.devices ??= devicesOf(c, s);
  const device = s.devices(s.resolved(row));
  for (let owner = s.owner[row]; device && owner >= 0; owner = s.owner[owner]) {
    const compiler = /Compiler="([^"]*)"/.exec(c.attrs(s, owner));
    if (compiler) return `${device}, ${compiler[1]}`;
  }
  return device;
}

const HOST = "cpu:0";

// Finds the devices of all rows by the copies between them (docs/devices.md): what a copy reads is on its source, what it
// makes is on its destination, parameters and results of @main are on the host, and rows that no copy separates are on one
// device. Returns a function from rows to names.
function devicesOf(c, s) {
  const kinds = c.kinds, parent = new Int32Array(c.rows).map((_, row) => row), known = new Map(), pairs = [];
  let hasCopies = false;
  const root = (row) => {
    while (parent[row] !== row) row = parent[row] = parent[parent[row]];
    return row;
  };
  // Calls `act` with the rows that make a value: of a tuple, those of its fields.
  const makers = (arg, act) => {
    const stack = [arg];
    while (stack.length) {
      const made = s.resolved(stack.pop());
      if (s.kind[made] === kinds.tuple) stack.push(...s.args[made]);
      else if (![kinds.constant, kinds.function, kinds.global, kinds.op, kinds.constructor].includes(s.kind[made])) act(made);
    }
  };
  const join = (row, arg) => makers(arg, (made) => (parent[root(row)] = root(made)));
  const place = (arg, device) => makers(arg, (made) => pairs.push([made, device]));
  const joinCall = (row, [callee, ...given]) => {
    if (s.kind[callee] === kinds.constructor) given.forEach((arg) => join(row, arg));
    const called = s.kind[callee] === kinds.global ? s.functions.get(c.label(s, callee).slice(1)) : undefined;
    if (called === undefined) return;
    const parts = s.args[called];
    given.forEach((arg, i) => join(parts[i], arg));
    if (s.kind[s.resolved(parts[parts.length - 1])] !== kinds.tuple) join(row, parts[parts.length - 1]);
  };
  const joinMatch = (row, args) => {
    const end = args.indexOf(-1);
    args.slice(1, end).forEach((variable) => join(variable, args[0]));
    args.slice(end + 1).forEach((body) => join(row, body));
  };
  for (let row = 0; row < c.rows; ++row) {
    if (!s.alive[row]) continue;
    const args = s.args[row], copy = c.isOperator(s, row) && c.label(s, row) === "device_copy" ? c.attrs(s, row) : null;
    if (copy !== null) {
      const [from, to] = ["src", "dst"].map((end) => new RegExp(`\\b${end}_virtual_device="([^"]*)"`).exec(copy)?.[1] ?? HOST);
      (hasCopies = true), place(args[0], from), pairs.push([row, to]);
    } else if (s.kind[row] === kinds.operator) args.forEach((arg) => join(row, arg));
    else if (s.kind[row] === kinds.if) args.slice(1).forEach((branch) => join(row, branch));
    else if (s.kind[row] === kinds.call) joinCall(row, args);
    else if (s.kind[row] === kinds.match) joinMatch(row, args);
  }
  if (s.functions.has("main")) s.args[s.functions.get("main")].forEach((end) => place(end, HOST));
  for (const [row, device] of pairs) {
    const at = root(row), other = known.get(at);
    known.set(at, other === undefined || other === device ? device : null);
  }
  return (row) => known.get(root(row)) ?? (hasCopies || known.has(root(row)) ? null : HOST);
}
