// The panels around the picture: passes, definitions, legend, the list of the largest, the selected node or kernel, search.
// Names come from strangers, so that all of them are set as text and never as markup.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {}))
    name.startsWith("on") ? made.addEventListener(name.slice(2), value) : name === "class" ? (made.className = value) : made.setAttribute(name, value);
  made.append(...children.filter((child) => child !== null && child !== undefined && child !== ""));
  return made;
}
const byId = (id) => document.getElementById(id);
const link = (text, act, title) => element("button", { class: "link", onclick: act, ...(title ? { title } : {}) }, text);
const plain = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;

// A row of a table of facts, or nothing without a value.
function fact(name, ...value) {
  return value.every((v) => v === "" || v === null || v === undefined) ? null : element("div", { class: "fact" }, element("span", {}, name), element("div", {}, ...value));
}

// --- passes ----------------------------------------------------------------------------------------------------------

const MARKS = ["added", "changed", "rewired", "moved", "removed"];
function countsOf(compilation, step) {
  const counts = Object.fromEntries(MARKS.map((mark) => [mark, 0]));
  for (const mark of compilation.changes(step).values()) ++counts[mark];
  return counts;
}

function showPass(pane) {
  const { compilation: c, step } = pane, now = c.steps[step];
  byId("slider").max = c.steps.length - 1;
  byId("slider").value = step;
  const counts = countsOf(c, step);
  const marks = MARKS.filter((mark) => counts[mark]).map((mark) => element("span", { class: "mark " + mark }, `${counts[mark].toLocaleString("en")} ${mark}`));
  const rules = Object.entries(now.rules).map(([rule, times]) => element("span", { class: "rule" }, `${times} × ${rule}`));
  const nothing = step > 0 && !marks.length ? element("span", { class: "dim" }, "no change") : null;
  byId("pass").replaceChildren(
    element("b", {}, step === 0 ? "input: the model as it was read" : `${step} of ${c.steps.length - 1}: ${now.pass}`),
    element("span", { class: "dim" }, step === 0 ? "" : secondsText(now.ms * 1e-3)), ...marks, nothing ?? "", ...rules);
}

function showDefinitions(pane) {
  const { view } = pane;
  const state = view.state, marks = view.marks, changed = new Set();
  const rootOf = (row) => { while (state.owner[row] >= 0) row = state.owner[row]; return row; };
  for (const [row, mark] of marks) if (mark !== "removed") changed.add(rootOf(row));
  const names = [...state.functions.keys()];
  names.sort((a, b) => (b === "main") - (a === "main") || (a < b ? -1 : 1));
  const list = names.slice(0, 500).map((name) => element("li", { class: name === pane.definition ? "picked" : "" },
    link("@" + name, () => app.show(pane, { definition: name })), changed.has(state.functions.get(name)) ? element("span", { class: "dot" }, " ●") : null));
  byId("definitions").replaceChildren(element("h2", {}, plain(names.length, "definition", "definitions")), element("ul", {}, ...list));
}

// --- overlays --------------------------------------------------------------------------------------------------------

function showLegend(pane) {
  const { scale } = pane, overlay = OVERLAYS[app.overlay];
  const parts = [element("h2", {}, "colours: " + overlay.name)];
  if (app.overlay === "none") {
    for (const mark of MARKS) parts.push(element("div", { class: "mark " + mark }, { added: "added by this pass", changed: "another operation, type or attribute", rewired: "reads other values", moved: "in another function", removed: "removed by this pass" }[mark]));
  } else if (scale.isNumeric) {
    const bar = element("canvas", { width: 180, height: 12 });
    const context = bar.getContext("2d");
    for (let x = 0; x < 180; ++x) (context.fillStyle = heat(overlay.isBad ? 1 - x / 180 : x / 180)), context.fillRect(x, 0, 1, 12);
    parts.push(bar, element("div", { class: "ends" }, element("span", {}, valueText(overlay, scale.least)), element("span", {}, valueText(overlay, scale.most))));
    if (scale.isLogarithmic) parts.push(element("div", { class: "dim" }, "logarithmic"));
  } else {
    for (const [value, rows] of [...scale.categories].sort((a, b) => b[1].length - a[1].length).slice(0, 16)) {
      const chip = element("canvas", { width: 10, height: 10 });
      const context = chip.getContext("2d");
      (context.fillStyle = scale.colour(value)), context.fillRect(0, 0, 10, 10);
      parts.push(element("div", {}, chip, link(` ${value} `, () => app.pickRow(pane, rows[0])), element("span", { class: "dim" }, String(rows.length))));
    }
    if (!scale.categories.size) parts.push(element("div", { class: "dim" }, "no node has one"));
  }
  byId("legend").replaceChildren(...parts);
}

const shortName = (name) => (name.length > 48 ? `${name.slice(0, 30)}…${name.slice(-16)}` : name);

// The largest values of the overlay, or kernels.
function showTop(pane) {
  const { compilation: c, scale } = pane, overlay = OVERLAYS[app.overlay];
  if (scale?.isNumeric && (overlay.isOwn || ["bytes", "error"].includes(app.overlay))) {
    const rows = [...scale.values].sort((a, b) => b[1] - a[1]).slice(0, 20);
    byId("top").replaceChildren(element("h2", {}, "largest"), element("ol", {}, ...rows.map(([row, value]) =>
      element("li", {}, link(pane.view.boxes.get(row)?.label ?? c.label(pane.view.state, row), () => app.pickRow(pane, row)), element("span", { class: "dim" }, " " + valueText(overlay, value))))));
    return;
  }
  const profiled = c.data.profile !== null;
  const measure = { flops: (k) => k.flops, moved: (k) => k.bytes, share: (k) => (k.us ? -k.share : null) }[app.overlay] ?? (profiled ? (k) => k.us : (k) => k.flops);
  const told = (k) => app.overlay === "moved" ? inUnits(k.bytes ?? 0, "B") : app.overlay === "flops" || !profiled ? inUnits(k.flops, "flop") : app.overlay === "share" ? `${((k.share ?? 0) * 100).toFixed(0)} %` : secondsText((k.us ?? 0) * 1e-6);
  const list = c.kernels.map((kernel, i) => [i, measure(kernel) ?? -Infinity]).filter(([i]) => c.kernels[i].calls > 0);
  list.sort((a, b) => b[1] - a[1]);
  byId("top").replaceChildren(element("h2", {}, `${plain(c.kernels.length, "kernel", "kernels")}`), element("ol", {}, ...list.slice(0, 20).map(([i]) =>
    element("li", {}, link(shortName(c.kernels[i].name), () => app.pickKernel(pane, i), c.kernels[i].name), element("span", { class: "dim" }, " " + told(c.kernels[i]))))));
}

// --- the selected node -----------------------------------------------------------------------------------------------

function nodeLink(pane, state, row) {
  const box = pane.view.boxes.get(row);
  const text = (box?.label ?? pane.compilation.label(state, row)) + "  " + shortType(pane.compilation.type(state, row));
  return link(text, () => app.pickRow(pane, row));
}

// The passes that added, changed or removed a row.
function historyOf(c, row) {
  const has = (list) => {
    let low = 0, high = list.length;
    while (low < high) { const middle = (low + high) >> 1; list[middle] < row ? (low = middle + 1) : (high = middle); }
    return list[low] === row;
  };
  const out = [];
  c.steps.forEach((step, i) => {
    if (row >= step.first && row < step.first + step.added.kind.length) out.push([i, i === 0 ? "in the model" : "added"]);
    else if (has(step.changed.row)) out.push([i, c.changes(i).get(row)]);
    else if (has(step.removed)) out.push([i, "removed"]);
  });
  return out;
}

function kernelFacts(pane, number) {
  const kernel = pane.compilation.kernels[number];
  const figures = [kernel.us !== undefined ? `${secondsText(kernel.us * 1e-6)}, ${(kernel.share * 100).toFixed(0)} % of the ceiling (${kernel.bound})` : "", kernel.calls === 0 ? "run when the program is built" : plain(kernel.calls, "call", "calls") + " a run", kernel.flops > 0 ? inUnits(kernel.flops, "flop") : "", kernel.bytes ? inUnits(kernel.bytes, "B") + " moved" : ""];
  return element("div", { class: "kernel" }, link(kernel.name, () => app.pickKernel(pane, number)), element("div", { class: "dim" }, figures.filter((f) => f).join("; ")));
}

function showNode(pane, box) {
  const c = pane.compilation, isGone = box.kind === "removed";
  const state = isGone ? c.state(pane.step - 1) : pane.view.state, row = box.row;
  const parts = [element("h2", {}, box.label), fact("type", c.type(state, row)), fact("attributes", c.attrs(state, row)), fact("place", c.place(state, row)), fact("kind", c.data.kinds[state.kind[row]])];
  const size = c.bytes(state, row);
  parts.push(fact("size", size >= 0 ? inUnits(size, "B") : ""));
  const mark = pane.view.marks.get(row);
  if (mark) parts.push(fact("this pass", element("span", { class: "mark " + mark }, mark)), ...beforeFacts(c, pane, row, mark));
  if (app.panes.length === 2) parts.push(fact("other model", otherNode(pane, row)));
  if (box.calls) parts.push(fact("calls", link("@" + box.calls, () => app.show(pane, { definition: box.calls }))));
  const operands = state.args[row].filter((arg) => arg >= 0).map((arg) => element("li", {}, nodeLink(pane, state, state.resolved(arg))));
  if (operands.length) parts.push(element("h3", {}, "operands"), element("ul", {}, ...operands.slice(0, 200)));
  const readers = pane.view.readersOf(box).slice(0, 200).map((reader) => element("li", {}, link(reader.label, () => app.pick(pane, reader))));
  if (readers.length) parts.push(element("h3", {}, "read by"), element("ul", {}, ...readers));
  if (c.isOperator(state, row) && state.place[row] >= 0) parts.push(...fateParts(pane, state.place[row]));
  parts.push(element("h3", {}, "history"), element("ul", {}, ...historyOf(c, row).map(([step, what]) => element("li", {}, link(step === 0 ? "input" : c.steps[step].pass, () => app.show(pane, { step })), " " + what))));
  byId("right").replaceChildren(...parts.filter((part) => part));
}

// The same node in the other model.
function otherNode(pane, row) {
  const other = app.panes[1 - pane.number], match = matches(app.panes)[pane.number].get(row);
  return match === undefined ? "no match" : nodeLink(other, other.view.state, match);
}

function beforeFacts(c, pane, row, mark) {
  if (mark !== "changed" && mark !== "rewired") return [];
  const before = c.state(pane.step - 1), now = pane.view.state, out = [];
  const names = { label: "was", type: "type was", attrs: "attributes were" };
  for (const [name, told] of Object.entries(names))
    if (before[name][row] !== now[name][row]) out.push(fact(told, c[name](before, row) || "none"));
  if (String(before.args[row]) !== String(now.args[row])) out.push(fact("read", before.args[row].filter((a) => a >= 0).map((a) => c.label(before, a)).join(", ")));
  return out;
}

function fateParts(pane, place) {
  const c = pane.compilation, fate = c.fateOf(place);
  const out = [element("h3", {}, "where it is computed")];
  const errors = c.groupsOf(place).map((group) => c.groups[group].error).filter((error) => error);
  const told = ({ relative, absolute, ulps }) => relative === null ? "not finite" : `${errorText(relative)} of the largest value; ${errorText(absolute)}, ${Math.round(ulps ?? 0).toLocaleString("en")} ulp`;
  out.push(fact("error", errors.map(told).join("; ")));
  if (fate.kernels) out.push(...fate.kernels.map((kernel) => kernelFacts(pane, kernel)));
  else if (fate.text) out.push(element("p", {}, fate.text));
  else if (fate.removedBy > 0) out.push(element("p", {}, "removed by ", link(c.steps[fate.removedBy].pass, () => app.show(pane, { step: fate.removedBy }))));
  else out.push(element("p", {}, "no kernel: its operands are computed where its result lies"));
  return out;
}

function showContainer(pane, box) {
  const kind = { group: "fusion group", scope: "scope", part: "part of a long list", repeat: "boxes of equal contents", function: "function" }[box.kind];
  const kernels = new Set(), stack = [box], c = pane.compilation, state = pane.view.state;
  while (stack.length) {
    const one = stack.pop();
    if (one.isContainer) stack.push(...one.children);
    else if (one.row >= 0 && one.kind !== "removed" && state.place[one.row] >= 0 && c.isOperator(state, one.row)) c.kernelsOf(state.place[one.row]).forEach((k) => kernels.add(k));
  }
  const isOpen = pane.isOpen(box);
  byId("right").replaceChildren(element("h2", {}, box.label), fact("what", kind), fact("nodes", box.count.toLocaleString("en")), box.row >= 0 ? fact("attributes", c.attrs(state, box.row)) ?? "" : "",
    element("p", {}, link(isOpen ? "close it" : "open it", () => app.toggle(pane, box))), element("h3", {}, plain(kernels.size, "kernel", "kernels")), ...[...kernels].slice(0, 100).map((kernel) => kernelFacts(pane, kernel)));
}

function showSummary(pane) {
  const c = pane.compilation, d = c.data;
  const left = d.places.left_out;
  byId("right").replaceChildren(element("h2", {}, d.model), fact("target", d.target), fact("level", `O${d.opt_level}, ${d.numerics}, ${plain(d.threads, "thread", "threads")}`), fact("executor", d.executor), fact("passes", String(c.steps.length - 1)), fact("kernels", c.kernels.length.toLocaleString("en")),
    d.profile ? fact("a run", `${secondsText(d.profile.us * 1e-6)}, median of ${d.profile.runs}`) : "", element("p", { class: "dim" }, "Click a node for its type, its place in the model and its kernel; double-click a box to open it. ", link("keys", () => showKeys())),
    ...(left.length ? [element("h3", {}, plain(left.length, "node", "nodes") + " left out by the import"), element("ul", {}, ...left.slice(0, 200).map((one) => element("li", {}, one.text, element("div", { class: "dim" }, one.why))))] : []));
}

// --- the selected kernel ---------------------------------------------------------------------------------------------

const STAGES = { te: "expressions", schedule: "schedule", loop: "loops", c: "C", asm: "assembly" };

async function showKernel(pane, number) {
  const c = pane.compilation, kernel = c.kernels[number], state = pane.view.state;
  const places = new Set(kernel.groups.flatMap((group) => c.groups[group].places));
  const rows = new Map();
  for (let row = 0; row < c.rows; ++row)
    if (state.alive[row] && places.has(state.place[row]) && c.isOperator(state, row)) rows.set(row, state.place[row]);
  const nodes = [...rows].map(([row, place]) => element("li", {}, nodeLink(pane, state, row), element("div", { class: "dim" }, c.data.places.text[place])));
  for (const place of places)
    if (![...rows.values()].includes(place)) nodes.push(element("li", {}, c.data.places.text[place], element("div", { class: "dim" }, "not in the program after this pass")));
  const groups = kernel.groups.map((i) => c.groups[i]);
  const pre = element("pre", { tabindex: "0" });
  const tabs = Object.entries(STAGES).map(([stage, name]) => element("button", { class: stage === app.stage ? "tab picked" : "tab", onclick: () => { app.stage = stage; app.pickKernel(pane, number); } }, name));
  byId("right").replaceChildren(element("h2", {}, kernel.name), kernelFacts(pane, number).lastChild, ...groups.map((group) => fact("rule", group.rule) ?? ""), ...groups.map((group) => (group.algorithm ? fact("algorithm", group.algorithm) : "")),
    element("h3", {}, plain(nodes.length, "node", "nodes") + " of the model"), element("ul", { class: "short" }, ...nodes), element("div", { class: "tabs" }, ...tabs), pre);
  const texts = await c.texts();
  if (!texts) return void (pre.textContent = "this page has no texts: it was written with --no-texts");
  const [list, index] = app.stage === "te" || app.stage === "schedule" ? [texts[app.stage], kernel.groups] : [texts[app.stage], [number]];
  pre.textContent = index.map((i) => texts.strings[list[i]]).join("\n");
  const first = list.indexOf(list[number]);
  if (index.length === 1 && index[0] === number && first !== number && !["te", "schedule"].includes(app.stage)) pre.textContent = `the same code as ${c.kernels[first].name}:\n\n` + pre.textContent;
}

// --- search and keys -------------------------------------------------------------------------------------------------

function searched(pane, text) {
  const c = pane.compilation, state = pane.view.state, wanted = text.toLowerCase(), out = [];
  const matching = (list) => { const found = new Set(); list.forEach((one, i) => one.toLowerCase().includes(wanted) && found.add(i)); return found; };
  c.kernels.forEach((kernel, i) => kernel.name.toLowerCase().includes(wanted) && out.push({ kernel: i, text: kernel.name, what: "kernel" }));
  for (const name of state.functions.keys()) if (name.toLowerCase().includes(wanted)) out.push({ definition: name, text: "@" + name, what: "definition" });
  const labels = matching(c.labels), places = matching(c.data.places.text), types = matching(c.data.types.text);
  for (let row = 0; row < c.rows && out.length < 1000; ++row)
    if (state.alive[row] && (labels.has(state.label[row]) || places.has(state.place[row]) || types.has(state.type[row])) && state.kind[row] !== c.kinds.op)
      out.push({ row, text: c.label(state, row) + "  " + shortType(c.type(state, row)), what: c.place(state, row) });
  return out;
}

function showResults(pane, results, at) {
  const list = results.slice(0, 100).map((one, i) => element("li", { class: i === at ? "picked" : "" }, link(one.text, () => app.open(pane, one)), element("span", { class: "dim" }, " " + one.what)));
  byId("results").replaceChildren(element("div", { class: "dim" }, results.length >= 1000 ? "1,000 or more" : plain(results.length, "result", "results")), element("ol", {}, ...list));
  byId("results").hidden = false;
}

function showKeys() {
  const keys = { "left, right": "the pass before, the next pass", "up, down": "what the selected node reads, what reads it", "enter, double click": "open or close a box, go to a definition", "+ - or wheel": "zoom", "drag": "move", "f": "show everything", "/": "search; enter goes to the next result", "e, w": "open, close all boxes", "c": "constants", "d": "removed nodes", "v": "colours by numbers of a JSON file", "escape": "select nothing" };
  byId("keys").replaceChildren(element("h2", {}, "keys"), ...Object.entries(keys).map(([key, what]) => fact(key, what)), element("p", { class: "dim" }, "The address names what you see: copy it to share a place."), link("close", () => (byId("keys").hidden = true)));
  byId("keys").hidden = false;
}
