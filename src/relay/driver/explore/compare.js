// Two compilations side by side: the rows that are the same node, by place, and where there is none by structure.

// For both panes, the row of the other pane by row.
function matches(panes) {
  const key = panes.map((pane) => `${pane.step}:${pane.definition}`).join("|");
  if (matches.key === key) return matches.found;
  const found = [new Map(), new Map()];
  const lists = panes.map((pane) => [...pane.view.boxes].filter(([, box]) => box.kind === "node").map(([row]) => row));
  const join = (keyOf) => {
    const waiting = new Map();
    for (const row of lists[0]) {
      const name = found[0].has(row) ? "" : keyOf(0, row);
      if (name) waiting.has(name) ? waiting.get(name).push(row) : waiting.set(name, [row]);
    }
    for (const row of lists[1]) {
      const other = found[1].has(row) ? undefined : waiting.get(keyOf(1, row))?.shift();
      if (other !== undefined) found[0].set(other, row), found[1].set(row, other);
    }
  };
  const places = panes.map((pane, i) => placeKeys(pane, lists[i])), structures = panes.map((pane, i) => structureKeys(pane, lists[i]));
  join((i, row) => places[i].get(row));
  join((i, row) => structures[i].get(row));
  (matches.key = key), (matches.found = found);
  return found;
}

// Names of the nodes of foreign models. Lines of a text mean nothing in another text.
function placeKeys(pane, rows) {
  const c = pane.compilation, s = pane.view.state, out = new Map();
  for (const row of rows) {
    const place = c.isCall(s, row) ? c.place(s, row) : "";
    if (/'.*'/.test(place)) out.set(row, place + " " + c.label(s, row));
  }
  return out;
}

// A number for each operation with its type, attributes and operands.
function structureKeys(pane, rows) {
  const c = pane.compilation, s = pane.view.state, out = new Map();
  const hashes = structureKeys.hashes;
  for (const row of rows) {
    const operands = pane.view.boxes.get(row).sources.map(([source]) => out.get(source.row) ?? source.label);
    const text = [pane.view.boxes.get(row).label, c.type(s, row), c.attrs(s, row), ...operands].join("\n");
    if (!hashes.has(text)) hashes.set(text, "s" + hashes.size);
    out.set(row, hashes.get(text));
  }
  return out;
}
structureKeys.hashes = new Map();

function comparisonOf(c, s, row) {
  const pane = app.panes.find((one) => one.compilation === c), other = app.panes[1 - pane.number];
  if (!other.view) return null;
  const match = matches(app.panes)[pane.number].get(row);
  if (match === undefined) return "only here";
  const same = ["label", "attrs", "type"].every((name) => c[name](s, row) === other.compilation[name](other.view.state, match));
  return same ? "the same" : "differs";
}
