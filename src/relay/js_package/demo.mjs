// The demo page: a picture, numbers or random values for each input, and the outputs as numbers, bars, pictures or boxes.
import { load } from "./model.mjs";

const byId = (id) => document.getElementById(id);

function element(tag, properties = {}, ...children) {
  const made = Object.assign(document.createElement(tag), properties);
  made.append(...children);
  return made;
}

const typeText = ({ dtype, shape }) => `${dtype}[${shape.join(", ")}]`;
const heading = (tensor) => element("h2", {}, element("code", {}, tensor.name), element("span", {}, ` ${typeText(tensor)}`));
const select = (choices) => element("select", {}, ...Object.keys(choices).map((text) => element("option", {}, text)));

// The sizes of a tensor that can be a picture: [1, channels, height, width] or [1, height, width, channels].
function pictureOf({ dtype, shape }) {
  const plain = shape.length === 4 ? shape.slice(1) : shape;
  if (plain.length !== 3 || (shape.length === 4 && shape[0] !== 1) || !["float32", "uint8"].includes(dtype)) return null;
  const isChannels = (size) => size === 1 || size === 3;
  const sizes = isChannels(plain[0])
    ? { channels: plain[0], height: plain[1], width: plain[2], first: true }
    : isChannels(plain[2]) ? { height: plain[0], width: plain[1], channels: plain[2], first: false } : null;
  return sizes && sizes.height >= 8 && sizes.width >= 8 ? sizes : null;
}

// The position of a channel of a pixel.
function place({ channels, height, width, first }, pixel, channel) {
  return first ? channel * height * width + pixel : pixel * channels + channel;
}

// --- inputs ----------------------------------------------------------------------------------------------------------

const scales = {
  "0 to 1": (v) => v / 255,
  "-1 to 1": (v) => (v - 127.5) / 127.5,
  "(v - 127) / 128": (v) => (v - 127) / 128,
  "ImageNet": (v, c) => (v / 255 - [0.485, 0.456, 0.406][c]) / [0.229, 0.224, 0.225][c],
  "0 to 255": (v) => v,
};
const orders = { RGB: [0, 1, 2], BGR: [2, 1, 0] };

class PictureInput {
  constructor(tensor, sizes) {
    this.sizes = sizes;
    this.canvas = element("canvas", { width: sizes.width, height: sizes.height });
    this.file = element("input", { type: "file", accept: "image/*" });
    this.scale = select(scales);
    this.order = select(orders);
    if (tensor.dtype === "uint8") this.scale.value = "0 to 255";
    this.file.addEventListener("change", () => this.show(this.file.files[0]).then(run).catch(report));
    for (const control of [this.scale, this.order]) control.addEventListener("change", run);
    this.element = element("div", {}, heading(tensor), this.file,
      element("div", { className: "controls" }, element("label", {}, "values ", this.scale), element("label", {}, "order ", this.order)), this.canvas);
    const context = this.canvas.getContext("2d", { willReadFrequently: true });
    const gradient = context.createLinearGradient(0, 0, sizes.width, sizes.height);
    gradient.addColorStop(0, "#36517f");
    gradient.addColorStop(1, "#e5b567");
    context.fillStyle = gradient;
    context.fillRect(0, 0, sizes.width, sizes.height);
    this.keep();
  }

  // Stretches a picture to the size of the input.
  async show(blob) {
    const bitmap = await createImageBitmap(blob);
    const context = this.canvas.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(bitmap, 0, 0, this.sizes.width, this.sizes.height);
    this.keep();
  }

  keep() {
    this.pixels = this.canvas.getContext("2d").getImageData(0, 0, this.sizes.width, this.sizes.height);
  }

  write(to) {
    const { channels } = this.sizes, { data } = this.pixels;
    const scale = scales[this.scale.value], order = orders[this.order.value];
    for (let pixel = 0; pixel < data.length / 4; ++pixel)
      for (let channel = 0; channel < channels; ++channel) {
        const from = order[channel];
        const value = channels === 3 ? data[4 * pixel + from]
          : 0.299 * data[4 * pixel] + 0.587 * data[4 * pixel + 1] + 0.114 * data[4 * pixel + 2];
        to[place(this.sizes, pixel, channel)] = scale(value, from);
      }
  }

  // Rectangles as fractions of the picture.
  draw(boxes) {
    const context = this.canvas.getContext("2d"), { width, height } = this.sizes;
    context.putImageData(this.pixels, 0, 0);
    const size = Math.max(11, width / 25);
    context.lineWidth = Math.max(2, width / 160);
    context.font = `${size}px system-ui, sans-serif`;
    for (const { score, box: [left, top, right, bottom] } of boxes) {
      context.strokeStyle = context.fillStyle = "#d32020";
      context.strokeRect(left * width, top * height, (right - left) * width, (bottom - top) * height);
      const text = `${Math.round(100 * score)} %`, y = Math.max(top * height, 1.3 * size);
      context.fillRect(left * width - 1, y - 1.3 * size, context.measureText(text).width + 8, 1.3 * size);
      context.fillStyle = "#ffffff";
      context.fillText(text, left * width + 3, y - 0.3 * size);
    }
  }
}

const mostTyped = 4096;

class NumbersInput {
  constructor(tensor, count) {
    this.count = count;
    this.values = null;
    this.text = element("textarea", { rows: 4, spellcheck: false, placeholder: `${count} numbers, row by row` });
    this.text.addEventListener("input", () => { this.values = null; });
    const fill = (text, make) => element("button", { className: "plain", onclick: () => { this.set(Array.from({ length: count }, make)); run(); } }, text);
    const isFloat = tensor.dtype.startsWith("float") || tensor.dtype.startsWith("bfloat");
    const random = isFloat && !/16|8|4/.test(tensor.dtype) ? () => +(2 * Math.random() - 1).toFixed(4)
      : () => Math.floor(2 * Math.random());
    this.element = element("div", {}, heading(tensor), this.text,
      element("div", { className: "controls" }, fill("random", random), fill("zeros", () => 0), fill("ones", () => 1)));
    this.set(Array.from({ length: count }, () => 0));
  }

  set(values) {
    this.values = values;
    this.text.disabled = values.length > mostTyped;
    this.text.value = this.text.disabled ? `${values.slice(0, 8).join(", ")}, ... (${values.length} numbers)` : values.join(", ");
  }

  write(to, name, model) {
    const values = this.values ?? this.text.value.split(/[\s,;]+/).filter(Boolean)
      .map((text) => (Number.isNaN(Number(text)) && text !== "NaN" ? text : Number(text)));
    model.set({ [name]: values });
  }
}

// --- outputs ---------------------------------------------------------------------------------------------------------

const shown = (value) => (typeof value === "bigint" || Number.isInteger(value) ? String(value) : Number(value).toPrecision(5));

function range(values) {
  let least = Infinity, most = -Infinity, sum = 0;
  for (const value of values) {
    const number = Number(value);
    least = Math.min(least, number), most = Math.max(most, number), sum += number;
  }
  return { least, most, mean: sum / values.length };
}

function bars(values) {
  const { least, most } = range(values);
  const best = Array.from(values.keys()).sort((a, b) => Number(values[b]) - Number(values[a])).slice(0, 5);
  const row = (i) => {
    const bar = element("div");
    bar.style.width = `${most > least ? (100 * (Number(values[i]) - least)) / (most - least) : 0}%`;
    return element("tr", {}, element("td", {}, `[${i}]`), element("td", {}, shown(values[i])), element("td", { className: "bar" }, bar));
  };
  return element("table", {}, ...best.map(row));
}

function picture(values, sizes) {
  const canvas = element("canvas", { width: sizes.width, height: sizes.height });
  const context = canvas.getContext("2d"), image = context.createImageData(sizes.width, sizes.height);
  const { least, most } = range(values), scale = most > least ? 255 / (most - least) : 0;
  for (let pixel = 0; pixel < sizes.width * sizes.height; ++pixel) {
    for (let c = 0; c < 3; ++c)
      image.data[4 * pixel + c] = scale * (values[place(sizes, pixel, sizes.channels === 3 ? c : 0)] - least);
    image.data[4 * pixel + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

function view(tensor, values) {
  const sizes = pictureOf(tensor);
  const isRow = tensor.shape.at(-1) === values.length && values.length > 1 && values.length <= 20000;
  const { least, most, mean } = values.length ? range(values) : {};
  const numbers = Array.from(values.subarray(0, 8), shown).join(", ") + (values.length > 8 ? ", ..." : "");
  const facts = values.length > 1 ? `from ${shown(least)} to ${shown(most)}, mean ${shown(mean)}` : "";
  return element("div", {}, heading(tensor), ...(isRow ? [bars(values)] : []), element("div", {}, element("code", {}, numbers)),
    element("div", { className: "quiet" }, facts), ...(sizes ? [picture(values, sizes)] : []));
}

// Boxes of a detector: an output [1, n, 4] of corners as fractions, and an output [1, n, classes] of probabilities, of
// which class 0 is none. Best first, without those that overlap a better one.
function detections(tensors, outputs, threshold) {
  const rows = ({ shape }) => (shape.length === 3 && shape[0] === 1 ? shape[1] : 0);
  const corners = tensors.find((tensor) => rows(tensor) > 0 && tensor.shape[2] === 4 && tensor.dtype === "float32");
  const scores = tensors.find((tensor) => tensor !== corners && corners && rows(tensor) === rows(corners) && tensor.shape[2] >= 2 && tensor.dtype === "float32");
  if (!scores) return null;
  const classes = scores.shape[2], all = [];
  for (let i = 0; i < rows(corners); ++i) {
    const ofClasses = outputs[scores.name].subarray(i * classes + 1, (i + 1) * classes);
    const score = Math.max(...ofClasses);
    if (score >= threshold) all.push({ score, class: ofClasses.indexOf(score) + 1, box: Array.from(outputs[corners.name].subarray(4 * i, 4 * i + 4), (v) => Math.min(Math.max(v, 0), 1)) });
  }
  all.sort((a, b) => b.score - a.score);
  return all.reduce((kept, one) => (kept.every((better) => overlap(one.box, better.box) < 0.3) ? [...kept, one] : kept), []);
}

// Intersection over union.
function overlap(a, b) {
  const area = ([left, top, right, bottom]) => Math.max(right - left, 0) * Math.max(bottom - top, 0);
  const both = area([Math.max(a[0], b[0]), Math.max(a[1], b[1]), Math.min(a[2], b[2]), Math.min(a[3], b[3])]);
  return both / (area(a) + area(b) - both || 1);
}

// --- the page --------------------------------------------------------------------------------------------------------

const state = { model: null, controls: [], outputs: null, boxes: null, milliseconds: null, turn: Promise.resolve() };
window.demo = state;  // for scripts and tests

function report(error) {
  byId("problem").textContent = error?.message ?? String(error);
}

// The median time of a few runs, in milliseconds.
async function measure(model) {
  const times = [];
  for (const end = performance.now() + 300; times.length < 15 && (times.length < 3 || performance.now() < end); ) {
    const begin = performance.now();
    await model.compute();
    times.push(performance.now() - begin);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}

// Runs the network after the run before it has ended: the page goes on during runs on a device.
function run() {
  return state.turn = state.turn.then(runOnce);
}

async function runOnce() {
  const { model, controls } = state;
  try {
    byId("problem").textContent = "";
    model.inputs.forEach(({ name }, i) => controls[i].write(model.input(name), name, model));
    model.reset();
    state.outputs = await model.run();
    state.milliseconds = model.state.length ? null : await measure(model);
  } catch (error) {
    return report(error);
  }
  byId("time").textContent = state.milliseconds === null ? "" : `${state.milliseconds.toFixed(2)} ms`;
  byId("outputs").replaceChildren(...model.outputs.map((tensor) => view(tensor, state.outputs[tensor.name])));
  state.boxes = detections(model.outputs, state.outputs, 0.7);
  const screen = controls.find((control) => control instanceof PictureInput);
  if (!state.boxes || !screen) return;
  screen.draw(state.boxes);
  byId("outputs").prepend(element("div", {}, element("h2", {}, `${state.boxes.length} ${state.boxes.length === 1 ? "box" : "boxes"} above 70 %`),
    ...state.boxes.slice(0, 20).map(({ score, class: number, box }) =>
      element("div", {}, `class ${number}, ${Math.round(100 * score)} %, from (${box.slice(0, 2).map(shown).join(", ")}) to (${box.slice(2).map(shown).join(", ")})`))));
}

try {
  const begin = performance.now();
  const model = state.model = await load();
  document.title = byId("name").textContent = model.name;
  byId("about").textContent = `${model.about}; loaded in ${(performance.now() - begin).toFixed(0)} ms`;
  if (model.kernels)
    byId("about").append(element("details", {}, element("summary", {}, "kernels on the device"),
      ...model.kernels.map(({ name, calls }) => element("div", {}, element("code", {}, name), ` ${calls} ${calls === 1 ? "call" : "calls"}`))));
  state.controls = model.inputs.map((tensor) => {
    const sizes = pictureOf(tensor);
    return sizes ? new PictureInput(tensor, sizes) : new NumbersInput(tensor, model.input(tensor.name).length);
  });
  byId("inputs").append(...state.controls.map((control) => control.element));
  byId("run").addEventListener("click", run);
  byId("run").disabled = false;
  await run();
} catch (error) {
  byId("about").textContent = "";
  report(error);
}
state.isReady = true;
