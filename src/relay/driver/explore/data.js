"use strict";
// The data of the page: a compilation (docs/compilation-json.md), and its modules after each pass.

// The bytes of a block of the page: base64, deflated JSON.
async function unpacked(id) {
  const block = document.getElementById(id);
  const text = atob(block.textContent);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return JSON.parse(await new Response(stream).text());
}

const COLUMNS = ["kind", "label", "type", "place", "attrs", "owner"];

// A module: its rows as columns. A row that is not alive does not exist after this pass.
class State {
  constructor(rows) {
    this.alive = new Uint8Array(rows);
    for (const name of COLUMNS) this[name] = new Int32Array(rows).fill(-1);
    this.args = new Array(rows);
    this.functions = new Map();
  }
  put(row, columns, i) {
    this.alive[row] = 1;
    for (const name of COLUMNS) this[name][row] = columns[name][i];
    this.args[row] = columns.args[i];
  }
  apply(step) {
    step.removed.forEach((row) => (this.alive[row] = 0));
    for (let i = 0; i < step.added.kind.length; ++i) this.put(step.first + i, step.added, i);
    step.changed.row.forEach((row, i) => this.put(row, step.changed, i));
    step.gone_functions.forEach((name) => this.functions.delete(name));
    for (const [name, row] of Object.entries(step.functions)) this.functions.set(name, row);
  }

  // Finds the values of variables: of lets, and of the parameters of functions that are called in place, once.
  bind(kinds, labels) {
    if (this.bindings) return this;
    (this.kinds = kinds), (this.labels = labels);
    this.bindings = new Map(); // by variable: the row of its value
    this.inlined = new Map(); // by function: the row of its only call
    const callers = new Map();
    for (let row = 0; row < this.alive.length; ++row) {
      if (!this.alive[row]) continue;
      const args = this.args[row];
      if (this.kind[row] === kinds.let) this.bindings.set(args[0], args[1]);
      if (this.kind[row] === kinds.call && this.kind[args[0]] === kinds.function)
        callers.set(args[0], callers.has(args[0]) ? -1 : row);
    }
    for (const [f, call] of callers) {
      if (call < 0) continue;
      this.inlined.set(f, call);
      this.args[f].slice(0, -1).forEach((p, i) => this.bindings.set(p, this.args[call][i + 1]));
    }
    return this;
  }

  // The row that makes the value of a row: the value of a variable, the body of a let, the result of a group.
  resolved(row) {
    const kinds = this.kinds;
    for (let steps = 0; steps < this.alive.length; ++steps) {
      const args = this.args[row];
      if (this.bindings.has(row)) row = this.bindings.get(row);
      else if (this.kind[row] === kinds.let) row = args[2];
      else if (this.kind[row] === kinds.get) {
        const whole = this.resolved(args[0]);
        if (this.kind[whole] !== kinds.tuple) return whole;
        row = this.args[whole][Number(this.labels[this.label[row]].slice(1))];
      } else if (this.kind[row] === kinds.call && this.inlined.get(args[0]) === row) {
        const f = this.args[args[0]];
        row = f[f.length - 1];
      } else return row;
    }
    return row;
  }
}

class Compilation {
  constructor(data, textsId) {
    this.data = data;
    this.steps = data.steps;
    this.labels = data.labels;
    this.kernels = data.kernels;
    this.groups = data.groups;
    this.textsId = textsId;
    const last = this.steps[this.steps.length - 1];
    this.rows = last.first + last.added.kind.length;
    this.kinds = Object.fromEntries(data.kinds.map((name, i) => [name, i]));
    this.recent = new Map(); // states by step: those used last
    this.recentChanges = new Map();
    this.groupsOfPlace = new Map();
    data.groups.forEach((group, i) => {
      for (const place of group.places) {
        if (!this.groupsOfPlace.has(place)) this.groupsOfPlace.set(place, []);
        this.groupsOfPlace.get(place).push(i);
      }
    });
    this.constantPlaces = new Set(data.places.constant);
  }

  // The module after a step, and the nearest earlier one from which it is made.
  state(step) {
    if (this.recent.has(step)) return this.recent.get(step);
    const state = new State(this.rows);
    for (let i = 0; i <= step; ++i) state.apply(this.steps[i]);
    state.bind(this.kinds, this.labels);
    this.recent.set(step, state);
    if (this.recent.size > 4) this.recent.delete(this.recent.keys().next().value);
    return state;
  }

  // The effect of a step on each row: "added", "removed", "changed" (another operation, type or attribute), "rewired" (reads
  // other values) or "moved" (into another function). A value that only got a name is the same value.
  changes(step) {
    if (this.recentChanges.has(step)) return this.recentChanges.get(step);
    const marks = new Map();
    if (step > 0) {
      const now = this.steps[step], before = this.state(step - 1), after = this.state(step);
      const made = (state, arg) => (arg < 0 ? arg : state.resolved(arg));
      const readsSame = (a, b) => a.length === b.length && a.every((arg, k) => made(before, arg) === made(after, b[k]));
      for (const row of now.removed) marks.set(row, "removed");
      for (let i = 0; i < now.added.kind.length; ++i) marks.set(now.first + i, "added");
      now.changed.row.forEach((row, i) => {
        const differs = ["kind", "label", "type", "attrs"].some((c) => before[c][row] !== now.changed[c][i]);
        if (differs) marks.set(row, "changed");
        else if (!readsSame(before.args[row], now.changed.args[i])) marks.set(row, "rewired");
        else if (before.owner[row] !== now.changed.owner[i]) marks.set(row, "moved");
      });
    }
    this.recentChanges.set(step, marks);
    return marks;
  }

  label(state, row) { return this.labels[state.label[row]] ?? ""; }
  attrs(state, row) { return state.attrs[row] < 0 ? "" : this.labels[state.attrs[row]]; }
  type(state, row) { return state.type[row] < 0 ? "" : this.data.types.text[state.type[row]]; }
  dtype(state, row) { return state.type[row] < 0 ? "" : this.data.types.dtype[state.type[row]]; }
  bytes(state, row) { return state.type[row] < 0 ? -1 : this.data.types.bytes[state.type[row]]; }
  place(state, row) { return state.place[row] < 0 ? "" : this.data.places.text[state.place[row]]; }
  isOperator(state, row) { return state.kind[row] === this.kinds.operator; }
  isCall(state, row) { return state.kind[row] === this.kinds.operator || state.kind[row] === this.kinds.call; }

  // The groups, and through them the kernels, that compute the calls of a place.
  groupsOf(place) { return this.groupsOfPlace.get(place) ?? []; }
  kernelsOf(place) {
    const found = new Set();
    for (const group of this.groupsOf(place)) for (const kernel of this.groups[group].kernels) found.add(kernel);
    return [...found];
  }
  // The fate of a place of the model: its kernels, the pass that removed it, or another reason for having none.
  fateOf(place) {
    const kernels = this.kernelsOf(place);
    if (kernels.length) return { kernels };
    if (this.constantPlaces.has(place)) return { text: "computed once, when the program is built" };
    for (let step = this.steps.length - 1; step >= 0; --step) {
      const state = this.state(step);
      for (let row = 0; row < this.rows; ++row)
        if (state.alive[row] && state.place[row] === place && this.isOperator(state, row))
          return { removedBy: step + 1 < this.steps.length ? step + 1 : -1 };
    }
    return {};
  }

  // The texts of a group's and a kernel's stages, unpacked at the first use. Null if the page has none.
  async texts() {
    if (this.unpackedTexts === undefined) this.unpackedTexts = await unpacked(this.textsId);
    return this.unpackedTexts;
  }
}

// "2×8 float32" for "Tensor[(2, 8), float32]".
function shortType(text) {
  const found = /^Tensor\[\((.*)\), (\w+)\]$/.exec(text);
  if (found) return found[1].split(", ").join("×") + " " + found[2];
  return text.length > 32 ? text.slice(0, 31) + "…" : text;
}

// "1.5 MB", "2.0 k", with the unit.
function inUnits(value, unit) {
  for (const [size, prefix] of [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]])
    if (value >= size) return (value / size).toPrecision(3) + " " + prefix + unit;
  return (Number.isInteger(value) ? value : value.toPrecision(3)) + " " + unit;
}

// The names of the scopes that a place is in: of "Conv '/layer1/conv1/Conv'", ["layer1", "conv1"].
function scopesOf(place) {
  const begin = place.indexOf("'"), end = place.lastIndexOf("'");
  if (begin < 0 || end <= begin) return [];
  return place.slice(begin + 1, end).split("/").filter((part) => part !== "").slice(0, -1);
}
