// The boxes and edges of one definition after one pass. Boxes are rows of the state; containers hold boxes: fusion
// groups and functions within functions, the scopes of names, and parts of long lists.

const MOST = 400; // the most boxes side by side in a container before it is divided into parts

class Box {
  constructor(key, label) {
    this.key = key; // the same after other passes
    this.label = label;
    this.row = -1;
    this.kind = "node"; // node, removed, result; of a container: definition, group, function, scope, repeat, part
    this.children = null; // of a container
    this.parent = null;
    this.count = 1; // of nodes inside
    this.mark = ""; // see Compilation.changes
    this.sources = []; // [box, label] that it reads
    this.note = ""; // a second line
  }
  get isContainer() { return this.children !== null; }
  add(child) {
    child.parent = this;
    this.children.push(child);
  }
}

function container(key, label, kind) {
  const box = new Box(key, label);
  box.kind = kind;
  box.children = [];
  box.count = 0;
  return box;
}

class View {
  constructor(compilation, step, definition, options) {
    this.c = compilation;
    this.step = step;
    this.definition = definition;
    this.options = options; // constants, removed
    this.state = compilation.state(step);
    this.marks = compilation.changes(step);
    this.root = container("root", definition, "definition");
    this.boxes = new Map(); // by row
    this.keys = new Map(); // boxes by key, containers included
    this.contents = new Map(); // numbers of the contents of containers
    this.main = this.state.functions.get(definition);
    if (this.main !== undefined) this.build();
    this.finish(this.root);
  }

  build() {
    const s = this.state;
    const members = [];
    const inside = new Map([[this.main, true]]);
    const isInside = (row) => {
      const way = [];
      let at = row;
      while (at >= 0 && !inside.has(at)) way.push(at), (at = s.owner[at]);
      const answer = at >= 0 && inside.get(at);
      for (const one of way) inside.set(one, answer);
      return answer;
    };
    for (let row = 0; row < this.c.rows; ++row) {
      if (!s.alive[row] || row === this.main || !isInside(row)) continue;
      members.push(row);
    }
    for (const row of this.inOrder(members)) this.addRow(row);
    this.addResult();
    if (this.options.removed) this.addRemoved();
    for (const [row, box] of this.boxes) if (s.alive[row] && box.kind !== "removed") this.addSources(row, box);
    this.nest();
  }

  // The rows, those that a row reads first. Values of variables count as read where the variable is.
  inOrder(members) {
    const s = this.state, done = new Uint8Array(this.c.rows), order = [];
    const reads = (row) => {
      const args = s.args[row];
      if (s.bindings.has(row)) return [s.bindings.get(row)];
      if (s.kind[row] !== this.c.kinds.call || s.inlined.get(args[0]) !== row) return args;
      return [...args.slice(1), args[0]];
    };
    const visit = (root) => {
      const stack = [[root, false]];
      while (stack.length) {
        const [row, isDone] = stack.pop();
        if (isDone) order.push(row);
        else if (row >= 0 && !done[row]) {
          done[row] = 1;
          stack.push([row, true]);
          const args = reads(row);
          for (let i = args.length; i-- > 0; ) stack.push([args[i], false]);
        }
      }
    };
    visit(this.main);
    for (const row of members) visit(row);
    const wanted = new Set(members);
    return order.filter((row) => wanted.has(row));
  }

  isShown(row) {
    const s = this.state, kinds = this.c.kinds;
    switch (s.kind[row]) {
      case kinds.let: case kinds.get: case kinds.op: case kinds.function: return false;
      case kinds.constant: return this.options.constants;
      case kinds.var: return !this.state.bindings.has(row);
      case kinds.global: case kinds.constructor: return !this.isCallee(row);
      case kinds.call: return !(this.state.inlined.get(s.args[row][0]) === row);
      default: return true;
    }
  }
  // Callees are part of the label of the call; as a value, a definition is a box.
  isCallee(row) {
    if (!this.values) {
      const s = this.state;
      this.values = new Set();
      for (let r = 0; r < this.c.rows; ++r)
        if (s.alive[r]) s.args[r].forEach((a, i) => { if (i > 0 || s.kind[r] !== this.c.kinds.call) this.values.add(a); });
    }
    return !this.values.has(row);
  }

  labelOf(state, row) {
    const kinds = this.c.kinds;
    if (state.kind[row] === kinds.call) {
      const callee = state.args[row][0];
      const named = [kinds.global, kinds.constructor, kinds.var].includes(state.kind[callee]);
      return named ? this.c.label(state, callee) : "call";
    }
    return this.c.label(state, row);
  }

  addRow(row) {
    if (!this.isShown(row)) return;
    const box = new Box("row:" + row, this.labelOf(this.state, row));
    box.row = row;
    box.note = shortType(this.c.type(this.state, row));
    box.mark = this.marks.get(row) ?? "";
    const callee = this.state.kind[row] === this.c.kinds.call ? this.state.args[row][0] : -1;
    if (callee >= 0 && this.state.kind[callee] === this.c.kinds.global) box.calls = this.c.label(this.state, callee).slice(1);
    this.boxes.set(row, box);
  }

  addResult() {
    const s = this.state, args = s.args[this.main];
    const box = new Box("result", "result");
    box.row = -1;
    box.kind = "result";
    const body = args[args.length - 1];
    box.note = shortType(this.c.type(s, body));
    this.result = box;
    this.connect(box, body, "");
  }

  addSources(row, box) {
    const s = this.state, kinds = this.c.kinds, args = s.args[row];
    if (s.kind[row] === kinds.match) {
      this.connect(box, args[0], "data");
      const end = args.indexOf(-1);
      for (const v of args.slice(1, end)) if (this.boxes.has(v)) this.connect(this.boxes.get(v), args[0], "");
      const patterns = this.c.attrs(s, row).split(" | ");
      args.slice(end + 1).forEach((body, i) => this.connect(box, body, patterns[i] ?? ""));
      return;
    }
    const names = s.kind[row] === kinds.if ? ["if", "then", "else"] : [];
    const isCallOfValue = s.kind[row] === kinds.call && this.isShownCallee(args[0]);
    args.forEach((arg, i) => {
      if (s.kind[row] === kinds.call && i === 0 && !isCallOfValue) return;
      this.connect(box, arg, names[i] ?? "");
    });
  }
  isShownCallee(row) {
    const kinds = this.c.kinds;
    return ![kinds.global, kinds.constructor].includes(this.state.kind[row]);
  }

  connect(box, row, label) {
    const from = this.state.resolved(row);
    if (this.state.kind[from] === this.c.kinds.function) {
      box.sources.push([this.functionBox(from), label]);
      return;
    }
    const source = this.boxes.get(from);
    if (source && source !== box) box.sources.push([source, label]);
  }

  // Rows that the pass removed, between the rows that they stood between.
  addRemoved() {
    const gone = [...this.marks].filter(([, mark]) => mark === "removed").map(([row]) => row);
    if (!gone.length || gone.length > 2000) return;
    const before = this.c.state(this.step - 1);
    const main = before.functions.get(this.definition);
    const shown = gone.filter((row) => this.c.isCall(before, row) && before.kind[before.args[row][0]] !== this.c.kinds.function);
    for (const row of shown) {
      let owner = before.owner[row];
      while (owner >= 0 && owner !== main) owner = before.owner[owner];
      if (owner !== main) continue;
      const box = new Box("row:" + row, this.labelOf(before, row));
      box.row = row;
      box.kind = "removed";
      box.mark = "removed";
      box.note = shortType(this.c.type(before, row));
      this.boxes.set(row, box);
    }
    const boxOf = (row) => {
      const made = before.resolved(row), box = this.boxes.get(made);
      return box?.kind === "removed" || !this.state.alive[made] ? box : this.boxes.get(this.state.resolved(made));
    };
    const removed = [...this.boxes.values()].filter((box) => box.kind === "removed");
    for (const box of removed)
      for (const arg of before.args[box.row]) {
        const from = arg >= 0 ? boxOf(arg) : undefined;
        if (from && from !== box) box.sources.push([from, ""]);
      }
    for (const [row, box] of this.boxes)
      if (box.kind !== "removed" && before.alive[row])
        for (const arg of before.args[row]) {
          const from = arg >= 0 ? boxOf(arg) : undefined;
          if (from?.kind === "removed") box.sources.push([from, ""]);
        }
    this.orderRemoved();
  }

  // Puts removed boxes before those that read them.
  orderRemoved() {
    const inOrder = new Map();
    const put = (box) => {
      const stack = [box];
      while (stack.length) {
        const one = stack[stack.length - 1];
        const missing = one.sources.find(([source]) => source.kind === "removed" && !inOrder.has(source.row) && !stack.includes(source));
        if (missing) stack.push(missing[0]);
        else inOrder.set(one.row, one), stack.pop();
      }
    };
    for (const box of this.boxes.values()) if (box.kind !== "removed") put(box);
    for (const box of this.boxes.values()) if (!inOrder.has(box.row)) put(box);
    this.boxes = inOrder;
  }

  // --- containers ----------------------------------------------------------------------------------------------------

  // The container of a function within the definition.
  functionBox(row) {
    const key = "fn:" + row;
    if (this.keys.has(key)) return this.keys.get(key);
    const isGroup = this.state.inlined.has(row);
    const box = container(key, isGroup ? this.groupName(row) : "fn", isGroup ? "group" : "function");
    box.row = row;
    box.mark = this.marks.get(row) ?? "";
    this.keys.set(key, box);
    return box;
  }
  groupName(row) {
    const compiler = /Compiler="([^"]*)"/.exec(this.c.attrs(this.state, row));
    return compiler ? compiler[1] : "group";
  }

  // The boxes that read a box.
  readersOf(box) {
    if (!this.readers) {
      this.readers = new Map();
      for (const one of [...this.boxes.values(), ...(this.result ? [this.result] : [])])
        for (const [source] of one.sources) {
          if (!this.readers.has(source)) this.readers.set(source, new Set());
          this.readers.get(source).add(one);
        }
    }
    return [...(this.readers.get(box) ?? [])];
  }

  // Puts each box into its containers.
  nest() {
    const s = this.state;
    const scopes = new Map(); // of each group, the names that all of its nodes share
    const chains = new Map(); // by function, the functions around it and itself
    const chainOf = (state, owner) => {
      if (!chains.has(owner)) {
        const chain = [];
        for (let at = owner; at >= 0 && at !== this.main; at = state.owner[at]) if (s.alive[at]) chain.unshift(at);
        chains.set(owner, chain);
      }
      return chains.get(owner);
    };
    const names = new Map(); // by place, the scopes in its name
    const scopesAt = (place) => {
      if (!names.has(place)) names.set(place, place < 0 ? [] : scopesOf(this.c.data.places.text[place]));
      return names.get(place);
    };
    const paths = new Map();
    for (const box of this.boxes.values()) {
      const state = box.kind === "removed" ? this.c.state(this.step - 1) : s;
      const functions = chainOf(state, state.owner[box.row]);
      const own = this.c.isCall(state, box.row) ? scopesAt(state.place[box.row]) : null;
      paths.set(box, [own, functions]);
      if (!own || !functions.length) continue;
      const known = scopes.get(functions[0]);
      let same = known ? known.findIndex((name, i) => name !== own[i]) : -1;
      if (!known) scopes.set(functions[0], own);
      else if (same >= 0) scopes.set(functions[0], known.slice(0, same));
    }
    for (const [box, [own, functions]] of paths) {
      let at = this.root, key = "scope:";
      for (const name of functions.length ? scopes.get(functions[0]) ?? [] : own ?? []) {
        key += name + "/";
        if (!this.keys.has(key)) {
          this.keys.set(key, container(key, name, "scope"));
          at.add(this.keys.get(key));
        }
        at = this.keys.get(key);
      }
      for (const f of functions) {
        const inner = this.functionBox(f);
        if (!inner.parent) at.add(inner);
        at = inner;
      }
      at.add(box);
    }
    if (this.result) this.root.add(this.result);
  }

  // Puts containers of equal contents that follow each other, such as the layers of a transformer, into one container.
  foldRepeats(box) {
    const contents = box.children.map((child) => (child.isContainer ? child.contents : child.label)).join("\n");
    if (!this.contents.has(contents)) this.contents.set(contents, "#" + this.contents.size);
    box.contents = this.contents.get(contents);
    const children = [];
    for (let begin = 0, end; begin < box.children.length; begin = end) {
      const first = box.children[begin];
      for (end = begin + 1; first.isContainer && box.children[end]?.contents === first.contents; ) ++end;
      const alike = box.children.slice(begin, end);
      if (alike.length < 3 || alike.length === box.children.length) {
        children.push(...alike);
        continue;
      }
      const last = alike[alike.length - 1];
      const names = first.label === last.label ? first.label : `${first.label} … ${last.label}`;
      const fold = container("repeat:" + first.key, `${alike.length} × ${names}`, "repeat");
      for (const child of alike) fold.add(child);
      fold.count = alike.reduce((sum, child) => sum + child.count, 0);
      fold.changed = changedIn(alike);
      fold.parent = box;
      this.keys.set(fold.key, fold);
      children.push(fold);
    }
    box.children = children;
  }

  // Dissolves scopes of one child, folds repeats, divides long containers, counts, and names groups by their operators.
  finish(root) {
    const order = [];
    const stack = [root];
    while (stack.length) {
      const box = stack.pop();
      order.push(box);
      if (box.isContainer) stack.push(...box.children);
    }
    for (const box of order.reverse()) {
      this.keys.set(box.key, box);
      if (!box.isContainer) continue;
      box.children = box.children.flatMap((child) => (this.isDissolved(child) ? this.dissolved(child) : [child]));
      for (const child of box.children) child.parent = box;
      box.count = box.children.reduce((sum, child) => sum + child.count, 0);
      if (box.kind === "group" && box.label === "group") box.label = namesOf(box);
      box.changed = changedIn(box.children);
      this.foldRepeats(box);
      this.divide(box);
    }
  }
  isDissolved(box) {
    return box.isContainer && (box.children.length === 0 || (box.kind === "scope" && box.children.length === 1));
  }
  dissolved(box) {
    this.keys.delete(box.key);
    box.parent = null;
    for (const child of box.children) if (child.kind === "scope") child.label = box.label + "/" + child.label;
    return box.children;
  }
  divide(box) {
    for (let level = 0; box.children.length > MOST; ++level) {
      const parts = [];
      const size = Math.max(100, Math.min(MOST, Math.ceil(Math.sqrt(box.children.length))));
      for (let i = 0; i < box.children.length; i += size) {
        const children = box.children.slice(i, i + size);
        const part = container(`${box.key}part:${level}:${i}`, "", "part");
        for (const child of children) part.add(child);
        part.count = children.reduce((sum, child) => sum + child.count, 0);
        part.changed = changedIn(children);
        part.parent = box;
        this.keys.set(part.key, part);
        parts.push(part);
      }
      parts.forEach((part, i) => (part.label = `part ${i + 1} of ${parts.length}: ${namesOf(part)}`));
      box.children = parts;
    }
  }
}

function changedIn(boxes) {
  return boxes.filter((box) => (box.mark && box.mark !== "moved") || box.changed).length;
}

// The operators of a container: "nn.dense, nn.bias_add, nn.relu", at most three.
function namesOf(box) {
  const names = [], stack = [...box.children].reverse();
  while (stack.length && names.length < 4) {
    const one = stack.pop();
    if (one.isContainer) for (let i = one.children.length; i-- > 0; ) stack.push(one.children[i]);
    else if (one.kind === "node" && one.row >= 0 && !one.label.startsWith("%") && !names.includes(one.label)) names.push(one.label);
  }
  return names.length > 3 ? names.slice(0, 3).join(", ") + ", …" : names.join(", ");
}
