// The state of the page: panes (one, or two to compare), what is selected, the address, keys; and the start.

class Pane {
  constructor(compilation, number) {
    this.compilation = compilation;
    this.number = number;
    this.canvas = element("canvas", { tabindex: "0", "aria-label": "graph" });
    this.name = element("div", { class: "name" }, compilation.data.model);
    this.frame = element("div", { class: "pane" }, this.canvas, this.name);
    this.step = compilation.steps.length - 1;
    this.definition = "main";
    this.opened = new Set();
    this.closed = new Set();
    this.picked = null;
    this.camera = null; // {x, y, scale}: the picture's point in the corner
    this.listen();
  }

  // Makes the boxes anew, for another pass, definition or option.
  build() {
    const state = this.compilation.state(this.step);
    if (!state.functions.has(this.definition))
      this.definition = state.functions.has("main") ? "main" : state.functions.keys().next().value ?? "main";
    this.view = new View(this.compilation, this.step, this.definition, app);
    this.chooseOpen();
    this.colour();
    this.arrange();
  }

  // Opens boxes of its own accord while few are visible; the user's wishes come first.
  chooseOpen() {
    this.automatic = new Set();
    let visible = this.view.root.children.length;
    let queue = [...this.view.root.children];
    while (queue.length) {
      const next = [];
      for (const box of queue) {
        if (!box.isContainer) continue;
        const isWished = box.kind !== "repeat" && visible + box.children.length <= 90;
        const isOpen = this.opened.has(box.key) || (isWished && !this.closed.has(box.key));
        if (!isOpen) continue;
        if (!this.opened.has(box.key)) this.automatic.add(box.key);
        visible += box.children.length;
        next.push(...box.children);
      }
      queue = next;
    }
  }
  isOpen(box) { return !this.closed.has(box.key) && (this.opened.has(box.key) || this.automatic.has(box.key)); }

  arrange() {
    const expanded = new Set([...this.automatic, ...this.opened].filter((key) => !this.closed.has(key)));
    this.expanded = expanded;
    const begin = performance.now();
    this.picture = layout(this.view, expanded);
    app.layoutMs = performance.now() - begin;
    if (!this.camera) this.fit(true);
  }

  // The colours of the overlay: a value for each row, and for a container that of its largest.
  colour() {
    const overlay = OVERLAYS[app.overlay], c = this.compilation, s = this.view.state;
    this.scale = null;
    if (!overlay.value) return;
    const values = new Map(), categories = new Map();
    for (const [row, box] of this.view.boxes) {
      if (box.kind === "removed") continue;
      const value = overlay.value(c, s, row);
      if (value === null || value === undefined) continue;
      values.set(row, value);
      if (typeof value === "string") categories.set(value, (categories.get(value) ?? []).concat(categories.size < 500 ? [row] : []));
    }
    const numbers = [...values.values()].filter((value) => typeof value === "number");
    const least = numbers.reduce((a, b) => Math.min(a, b), Infinity), most = numbers.reduce((a, b) => Math.max(a, b), -Infinity);
    const isLogarithmic = ["B", "flop", "error"].includes(overlay.unit) && least > 0 && most > least * 10;
    const low = overlay.isBad || overlay.isOwn || isLogarithmic ? least : 0;
    const share = (value) => overlay.isBad ? 1 - value / 100 : isLogarithmic ? Math.log(value / least) / Math.log(most / least) : most > low ? (value - low) / (most - low) : 0;
    const colour = (value) => (typeof value === "number" ? heat(share(value)) : overlay.colours?.[value] ?? pastel(value));
    this.scale = { values, categories, isNumeric: numbers.length > 0, least: low, most, isLogarithmic, colour };
    this.fills = new Map();
  }
  fillOf(box) {
    if (!this.scale || box.kind === "removed") return null;
    if (this.fills.has(box)) return this.fills.get(box);
    let best = null, stack = [box];
    while (stack.length) {
      const one = stack.pop();
      if (one.isContainer) stack.push(...one.children);
      const value = this.scale.values.get(one.row);
      if (value === undefined) continue;
      if (typeof value === "string") best = best === null || best === value ? value : "";
      else best = best === null ? value : OVERLAYS[app.overlay].isBad ? Math.min(best, value) : Math.max(best, value);
    }
    const colour = best === null || best === "" || box.isOpen ? null : this.scale.colour(best);
    this.fills.set(box, colour);
    return colour;
  }

  // --- the camera ----------------------------------------------------------------------------------------------------

  // Shows everything; at first at a size that can be read, from the top.
  fit(isFirst) {
    const w = this.canvas.clientWidth || 800, h = this.canvas.clientHeight || 600, p = this.picture;
    let scale = Math.min(w / (p.width + 40), h / (p.height + 40), 1.25);
    if (isFirst) scale = Math.max(scale, Math.min(0.75, Math.max(0.3, w / (p.width + 40))));
    const x = p.width / 2 - w / 2 / scale;
    const y = p.height * scale + 40 <= h ? p.height / 2 - h / 2 / scale : -20 / scale;
    this.camera = { x, y, scale };
    app.draw();
  }
  zoom(factor, px, py) {
    const cam = this.camera, scale = Math.max(0.004, Math.min(4, cam.scale * factor));
    cam.x += px / cam.scale - px / scale;
    cam.y += py / cam.scale - py / scale;
    cam.scale = scale;
    app.draw();
  }
  centre(box) {
    const cam = this.camera, w = this.canvas.clientWidth, h = this.canvas.clientHeight;
    const left = (box.x - cam.x) * cam.scale, top = (box.y - cam.y) * cam.scale;
    const isSeen = left >= 0 && top >= 0 && left + box.w * cam.scale <= w && top + Math.min(box.h * cam.scale, h) <= h;
    if (isSeen && cam.scale > 0.3) return;
    cam.scale = Math.max(cam.scale, 0.7);
    cam.x = box.x + box.w / 2 - w / 2 / cam.scale;
    cam.y = box.y + Math.min(box.h, h / cam.scale) / 2 - h / 2 / cam.scale;
  }
  draw() {
    const canvas = this.canvas, ratio = devicePixelRatio || 1, w = canvas.clientWidth, h = canvas.clientHeight;
    if (canvas.width !== Math.round(w * ratio) || canvas.height !== Math.round(h * ratio)) (canvas.width = Math.round(w * ratio)), (canvas.height = Math.round(h * ratio));
    const context = canvas.getContext("2d"), cam = this.camera;
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.fillStyle = COLOURS.page;
    context.fillRect(0, 0, canvas.width, canvas.height);
    const k = ratio * cam.scale;
    context.setTransform(k, 0, 0, k, -cam.x * k, -cam.y * k);
    drawPicture(new CanvasPainter(context), this.picture, { ...this.look(), scale: cam.scale, window: [cam.x, cam.y, cam.x + w / cam.scale, cam.y + h / cam.scale] });
  }
  look() {
    const picked = this.picked && visibleBox(this.picked, this.view.root, this.expanded);
    return { picked, found: this.found, fillOf: (box) => this.fillOf(box) };
  }
  boxAt(x, y) {
    const px = this.camera.x + x / this.camera.scale, py = this.camera.y + y / this.camera.scale;
    let at = this.view.root, found = null;
    while (at) {
      const next = at.children.find((box) => px >= box.x && px <= box.x + box.w && py >= box.y && py <= box.y + box.h);
      if (!next) break;
      found = next;
      at = next.isOpen ? next : null;
    }
    return found;
  }

  // The whole name of the box under the pointer, which may be cut in the picture.
  tell(e) {
    const box = this.picture && this.boxAt(e.offsetX, e.offsetY);
    const text = box ? `${box.label}\n${box.isContainer ? containerNote(box) : box.note}` : "";
    if (this.canvas.title !== text) this.canvas.title = text;
  }

  listen() {
    const canvas = this.canvas;
    let grip = null, hasMoved = false;
    canvas.addEventListener("pointerdown", (e) => { grip = [e.clientX, e.clientY]; hasMoved = false; canvas.setPointerCapture(e.pointerId); app.active = this; });
    canvas.addEventListener("pointermove", (e) => {
      if (!grip) return this.tell(e);
      const dx = e.clientX - grip[0], dy = e.clientY - grip[1];
      if (!hasMoved && Math.hypot(dx, dy) < 4) return;
      hasMoved = true;
      this.camera.x -= dx / this.camera.scale;
      this.camera.y -= dy / this.camera.scale;
      grip = [e.clientX, e.clientY];
      app.draw();
    });
    canvas.addEventListener("pointerup", (e) => { if (grip && !hasMoved) app.pick(this, this.boxAt(e.offsetX, e.offsetY)); grip = null; });
    canvas.addEventListener("dblclick", (e) => app.enter(this, this.boxAt(e.offsetX, e.offsetY)));
    canvas.addEventListener("wheel", (e) => { e.preventDefault(); this.zoom(Math.exp(-e.deltaY * 0.0015), e.offsetX, e.offsetY); }, { passive: false });
  }
}

const app = {
  panes: [], active: null, overlay: "none", constants: false, removed: true, stage: "te", layoutMs: 0, times: {},
  results: [], resultAt: 0, waiting: false, kernel: -1,

  draw() {
    if (this.waiting) return;
    this.waiting = true;
    requestAnimationFrame(() => {
      this.waiting = false;
      for (const pane of this.panes) if (pane.picture) pane.draw();
      if (this.times.first === undefined) this.times.first = performance.now();
    });
  },

  // Changes the pass or the definition of a pane, or an option, and shows it. The selected row stays selected.
  show(pane, what) {
    const row = pane.picked?.row ?? -1, key = pane.picked?.key, before = pane.picked && pane.camera && { x: pane.picked.x, y: pane.picked.y };
    if (what.definition !== undefined && what.definition !== pane.definition) pane.camera = null;
    if (what.step !== undefined) what.step = Math.max(0, Math.min(pane.compilation.steps.length - 1, what.step));
    Object.assign(pane, what);
    pane.build();
    pane.picked = pane.view.keys.get(key) ?? pane.view.boxes.get(row) ?? null;
    if (pane.picked && before && Number.isFinite(before.x) && Number.isFinite(pane.picked.x) && pane.camera)
      (pane.camera.x += pane.picked.x - before.x), (pane.camera.y += pane.picked.y - before.y);
    if (this.panes.length === 2 && what.step !== undefined) this.follow(pane);
    this.refresh(pane);
  },
  // The other pane shows the same pass, by its name.
  follow(pane) {
    const other = this.panes[1 - pane.number], names = pane.compilation.steps.map((s) => s.pass), name = names[pane.step];
    const nth = names.slice(0, pane.step + 1).filter((n) => n === name).length;
    let seen = 0;
    const step = other.compilation.steps.findIndex((s) => s.pass === name && ++seen === nth);
    if (step < 0 || step === other.step) return;
    other.step = step;
    other.build();
    other.picked = other.picked && (other.view.keys.get(other.picked.key) ?? null);
  },

  refresh(pane) {
    showPass(pane), showDefinitions(pane), showLegend(pane), showTop(pane);
    if (this.kernel >= 0) showKernel(pane, this.kernel);
    else if (!pane.picked || pane.picked.kind === "result") showSummary(pane);
    else pane.picked.isContainer ? showContainer(pane, pane.picked) : showNode(pane, pane.picked);
    this.writeAddress(pane);
    this.draw();
  },

  pick(pane, box) {
    this.active = pane;
    this.kernel = -1;
    pane.picked = box;
    if (!this.results.length) pane.found = null;
    if (box) this.reveal(pane, box);
    if (this.panes.length === 2) this.pickMatch(pane, box);
    this.refresh(pane);
  },
  pickMatch(pane, box) {
    const other = this.panes[1 - pane.number];
    const row = box && box.row >= 0 ? matches(this.panes)[pane.number].get(box.row) : undefined;
    other.picked = row === undefined ? null : other.view.boxes.get(row) ?? null;
    if (other.picked) this.reveal(other, other.picked);
  },
  // Selects a row: in the definition that holds it.
  pickRow(pane, row) {
    const state = pane.view.state;
    if (!state.alive[row]) return;
    if (!pane.view.boxes.has(row)) {
      let top = row;
      while (state.owner[top] >= 0) top = state.owner[top];
      for (const [name, main] of state.functions) if (main === top && name !== pane.definition) this.show(pane, { definition: name });
      if (!pane.view.boxes.has(row) && state.kind[row] === pane.compilation.kinds.constant && !this.constants) {
        this.constants = byId("constants").checked = true;
        this.show(pane, {});
      }
    }
    const box = pane.view.boxes.get(row) ?? pane.view.keys.get("fn:" + row) ?? pane.view.boxes.get(pane.view.state.resolved(row));
    if (box) this.pick(pane, box);
  },
  pickKernel(pane, kernel) {
    this.kernel = kernel;
    const places = new Set(pane.compilation.kernels[kernel].groups.flatMap((g) => pane.compilation.groups[g].places));
    pane.found = new Set([...pane.view.boxes.values()].filter((box) => box.kind === "node" && places.has(pane.view.state.place[box.row])).map((box) => visibleBox(box, pane.view.root, pane.expanded)));
    this.refresh(pane);
  },
  // Opens the boxes around a box, and moves it into sight.
  reveal(pane, box) {
    let isHidden = false;
    for (let at = box.parent; at && at !== pane.view.root; at = at.parent)
      if (!pane.isOpen(at)) (isHidden = true), pane.opened.add(at.key), pane.closed.delete(at.key);
    if (isHidden) pane.arrange();
    pane.centre(box);
  },
  toggle(pane, box) {
    const before = [box.x, box.y];
    if (pane.isOpen(box)) pane.opened.delete(box.key), pane.closed.add(box.key);
    else pane.closed.delete(box.key), pane.opened.add(box.key);
    pane.fills?.clear();
    pane.arrange();
    (pane.camera.x += box.x - before[0]), (pane.camera.y += box.y - before[1]);
    this.refresh(pane);
  },
  enter(pane, box) {
    if (!box) return;
    if (box.isContainer) this.toggle(pane, box);
    else if (box.calls) this.show(pane, { definition: box.calls });
  },
  all(pane, isOpen) {
    pane.opened.clear(), pane.closed.clear();
    for (const [key, box] of pane.view.keys) if (box.isContainer && key !== "root") (isOpen ? pane.opened : pane.closed).add(key);
    pane.fills?.clear();
    pane.arrange();
    pane.fit(true);
    this.refresh(pane);
  },
  open(pane, result) {
    if (result.kernel !== undefined) this.pickKernel(pane, result.kernel);
    else if (result.definition !== undefined) this.show(pane, { definition: result.definition });
    else this.pickRow(pane, result.row);
  },

  // --- the address ---------------------------------------------------------------------------------------------------

  writeAddress(pane) {
    const parts = { pass: pane.step, fn: pane.definition };
    if (this.kernel >= 0) parts.kernel = pane.compilation.kernels[this.kernel].name;
    else if (pane.picked) parts.node = pane.picked.key;
    if (this.overlay !== "none") parts.colour = this.overlay;
    this.address = "#" + new URLSearchParams(parts);
    try { history.replaceState(null, "", this.address); } catch { /* a frame without an address of its own */ }
  },
  readAddress(address) {
    const pane = this.active, parts = new URLSearchParams(address.slice(1));
    if (address === this.address) return;
    if (OVERLAYS[parts.get("colour")]) this.overlay = byId("overlay").value = parts.get("colour");
    const step = parts.has("pass") ? Number(parts.get("pass")) : pane.step;
    this.kernel = pane.compilation.kernels.findIndex((kernel) => kernel.name === parts.get("kernel"));
    this.show(pane, { step: Number.isInteger(step) ? step : pane.step, definition: parts.get("fn") ?? pane.definition });
    const box = pane.view.keys.get(parts.get("node")) ?? [...pane.view.boxes.values()].find((b) => b.key === parts.get("node"));
    if (this.kernel >= 0) this.pickKernel(pane, this.kernel);
    else if (box) this.pick(pane, box);
  },

  // A summary of the page, which tests assert.
  state() {
    const pane = this.active;
    return {
      panes: this.panes.length, pass: pane.compilation.steps[pane.step].pass, step: pane.step, passes: pane.compilation.steps.map((s) => s.pass),
      definition: pane.definition, definitions: [...pane.view.state.functions.keys()], boxes: pane.picture.boxes.length - 1, edges: pane.picture.edges.length,
      nodes: pane.view.root.count, picked: pane.picked?.label ?? null, pickedKey: pane.picked?.key ?? null, kernel: this.kernel >= 0 ? pane.compilation.kernels[this.kernel].name : null, overlay: this.overlay,
      marks: countsOf(pane.compilation, pane.step), labels: pane.picture.boxes.slice(0, 300).map((box) => box.label), results: this.results.length,
      scale: pane.camera.scale, layoutMs: this.layoutMs, times: this.times, address: this.address,
    };
  },
};

// Fills of names; the same hue as hue(), lighter.
function pastel(name) {
  return hue(name).replace(/50% \d+%/, isDark ? "35% 28%" : "65% 86%");
}

// --- buttons and keys ------------------------------------------------------------------------------------------------

function save(blob, name) {
  const anchor = element("a", { href: URL.createObjectURL(blob), download: name });
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(anchor.href), 10000);
}
function svgOf(pane) {
  const { width, height } = pane.picture;
  const painter = new SvgPainter(Math.ceil(width), Math.ceil(height));
  drawPicture(painter, pane.picture, { ...pane.look(), scale: 1, window: [0, 0, width, height] });
  return painter.finish();
}
function savePng(pane) {
  const { width, height } = pane.picture, most = 8000;
  const scale = Math.min(2, most / width, most / height);
  const canvas = element("canvas", { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) });
  const context = canvas.getContext("2d");
  context.fillStyle = COLOURS.page;
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.setTransform(scale, 0, 0, scale, 0, 0);
  drawPicture(new CanvasPainter(context), pane.picture, { ...pane.look(), scale, window: [0, 0, width, height] });
  canvas.toBlob((blob) => save(blob, "graph.png"));
}

function search(step) {
  const pane = app.active, text = byId("search").value.trim();
  pane.found = null;
  if (!text) {
    app.results = [];
    byId("results").hidden = true;
    return app.draw();
  }
  if (step === 0) (app.results = searched(pane, text)), (app.resultAt = -1);
  else if (app.results.length) {
    app.resultAt = (app.resultAt + step + app.results.length) % app.results.length;
    app.open(pane, app.results[app.resultAt]);
  }
  pane.found = new Set(app.results.map((one) => pane.view.boxes.get(one.row)).filter((box) => box).map((box) => visibleBox(box, pane.view.root, pane.expanded)));
  showResults(pane, app.results, app.resultAt);
  app.draw();
}

function neighbour(pane, isUp) {
  const box = pane.picked;
  if (!box) return app.pick(pane, pane.view.root.children[0] ?? null);
  const next = isUp ? box.sources[0]?.[0] : pane.view.readersOf(box)[0];
  if (next && next.parent) app.pick(pane, next);
}

const KEYS = {
  ArrowLeft: (p) => app.show(p, { step: p.step - 1 }),
  ArrowRight: (p) => app.show(p, { step: p.step + 1 }),
  ArrowUp: (p) => neighbour(p, true),
  ArrowDown: (p) => neighbour(p, false),
  Enter: (p) => app.enter(p, p.picked),
  Escape: (p) => { byId("keys").hidden = byId("results").hidden = true; p.found = null; app.pick(p, null); },
  "+": (p) => p.zoom(1.25, p.canvas.clientWidth / 2, p.canvas.clientHeight / 2),
  "=": (p) => p.zoom(1.25, p.canvas.clientWidth / 2, p.canvas.clientHeight / 2),
  "-": (p) => p.zoom(0.8, p.canvas.clientWidth / 2, p.canvas.clientHeight / 2),
  f: (p) => p.fit(false),
  e: (p) => app.all(p, true),
  w: (p) => app.all(p, false),
  c: () => byId("constants").click(),
  d: () => byId("removed").click(),
  v: () => byId("add").click(),
  "/": () => byId("search").focus(),
  "?": () => showKeys(),
};

function connectControls() {
  const pane = () => app.active;
  byId("slider").addEventListener("input", (e) => app.show(pane(), { step: Number(e.target.value) }));
  byId("earlier").addEventListener("click", () => KEYS.ArrowLeft(pane()));
  byId("later").addEventListener("click", () => KEYS.ArrowRight(pane()));
  byId("fit").addEventListener("click", () => pane().fit(false));
  byId("expand").addEventListener("click", () => app.all(pane(), true));
  byId("collapse").addEventListener("click", () => app.all(pane(), false));
  byId("png").addEventListener("click", () => savePng(pane()));
  byId("svg").addEventListener("click", () => save(new Blob([svgOf(pane())], { type: "image/svg+xml" }), "graph.svg"));
  byId("help").addEventListener("click", showKeys);
  for (const name of ["constants", "removed"])
    byId(name).addEventListener("change", (e) => { app[name] = e.target.checked; for (const p of app.panes) app.show(p, {}); });
  byId("overlay").addEventListener("change", (e) => { app.overlay = e.target.value; for (const p of app.panes) p.colour(); app.refresh(app.active); });
  byId("add").addEventListener("click", () => byId("file").click());
  byId("file").addEventListener("change", (e) => { if (e.target.files.length) addValues(e.target.files[0]); e.target.value = ""; });
  byId("search").addEventListener("input", () => search(0));
  byId("search").addEventListener("keydown", (e) => {
    if (e.key === "Enter") search(e.shiftKey ? -1 : 1);
    if (e.key === "Escape") (byId("search").value = ""), search(0), pane().canvas.focus();
    e.stopPropagation();
  });
  addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || ["SELECT", "PRE"].includes(e.target.tagName) || (e.target.tagName === "BUTTON" && e.key === "Enter")) return;
    const act = KEYS[e.key];
    if (act) e.preventDefault(), act(pane());
  });
  addEventListener("resize", () => app.draw());
  addEventListener("hashchange", () => app.readAddress(location.hash));
}

async function start() {
  const blocks = [...document.querySelectorAll("script[id^=graph-]")];
  const data = await Promise.all(blocks.map((block) => unpacked(block.id)));
  app.times.unpacked = performance.now();
  app.panes = data.map((one, i) => new Pane(new Compilation(one, `texts-${i}`), i));
  app.active = app.panes[0];
  byId("panes").append(...app.panes.map((pane) => pane.frame));
  document.body.classList.toggle("two", app.panes.length === 2);
  const first = app.active.compilation.data;
  document.title = `${first.model}: Relay explorer`;
  byId("title").textContent = app.panes.map((pane) => pane.compilation.data.model).join(" | ");
  byId("about").textContent = `Relay ${first.relay}, ${first.target}, O${first.opt_level}`;
  if (app.panes.length === 2) OVERLAYS.comparison = { name: "comparison", value: comparisonOf, colours: { "the same": COLOURS.box, differs: heat(0.75), "only here": heat(1) } };
  const isProfiled = app.panes.some((pane) => pane.compilation.data.profile);
  const isVerified = app.panes.some((pane) => pane.compilation.data.verified);
  byId("overlay").append(...Object.entries(OVERLAYS).filter(([, o]) => (isProfiled || !o.profiled) && (isVerified || !o.verified)).map(([key, o]) => element("option", { value: key }, o.name)));
  connectControls();
  for (const pane of app.panes) pane.build();
  app.times.built = performance.now();
  const address = location.hash; // before the page writes its own
  app.refresh(app.active);
  app.readAddress(address);
}

window.relayExplorer = { state: () => app.state(), app, svg: () => svgOf(app.active) };
start().catch((error) => {
  document.body.replaceChildren(element("p", {}, "This page cannot be shown: " + error.message));
  throw error;
});
