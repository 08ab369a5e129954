// The layered layout. A container is laid out by itself: each box gets the layer of its longest path, long edges get a
// dummy in each layer that they cross, sweeps of means order the layers, and further sweeps place the boxes. Only what is
// visible is laid out: a closed container is one box.

const GAP_X = 18, GAP_Y = 30, PADDING = 12, HEADER = 20, MAX_DUMMIES = 200000;

// The outermost closed container around a box, or the box itself; null if it is not in the picture.
function visibleBox(box, root, expanded) {
  let found = box;
  for (let at = box; at !== root; at = at.parent) {
    if (!at) return null;
    if (at.isContainer && !expanded.has(at.key)) found = at;
  }
  return found;
}

function depthOf(box) {
  let depth = 0;
  for (let at = box; at.parent; at = at.parent) ++depth;
  return depth;
}

// The children of the innermost common container that hold both boxes.
function branches(a, b) {
  let depthA = depthOf(a), depthB = depthOf(b);
  for (; depthA > depthB; --depthA) a = a.parent;
  for (; depthB > depthA; --depthB) b = b.parent;
  while (a.parent !== b.parent) (a = a.parent), (b = b.parent);
  return [a, b];
}

// The visible boxes, operands first, and the edges between them. Edges have {from, to, label, removed, via, ends}.
function visibleGraph(view, expanded) {
  const root = view.root, boxes = [], edges = [], seen = new Set();
  const leaves = [...view.boxes.values()].concat(view.result ?? []);
  const visible = new Map();
  const shown = (box) => {
    if (!visible.has(box)) visible.set(box, visibleBox(box, root, expanded));
    return visible.get(box);
  };
  const number = new Map();
  const numbered = (box) => {
    if (!number.has(box)) number.set(box, number.size);
    return number.get(box);
  };
  for (const leaf of leaves) {
    const to = shown(leaf);
    if (!to) continue;
    for (const [source, label] of leaf.sources) {
      const from = shown(source);
      if (!from || from === to || isWithin(to, from) || isWithin(from, to)) continue;
      const key = numbered(from) * 4194304 + numbered(to);
      if (seen.has(key)) continue;
      seen.add(key);
      edges.push({ from, to, label: to === leaf ? label : "", removed: leaf.mark === "removed" || source.mark === "removed" });
    }
  }
  const stack = [root];
  while (stack.length) {
    const box = stack.pop();
    boxes.push(box);
    if (box === root || (box.isContainer && expanded.has(box.key)))
      for (let i = box.children.length; i-- > 0; ) stack.push(box.children[i]);
  }
  return { boxes, edges };
}
function isWithin(box, around) {
  for (let at = box.parent; at; at = at.parent) if (at === around) return true;
  return false;
}

// Gives every visible box its place and returns the picture: {boxes, edges, width, height}.
function layout(view, expanded) {
  const { boxes, edges } = visibleGraph(view, expanded);
  for (const box of boxes) (box.links = []), (box.isOpen = box === view.root || (box.isContainer && expanded.has(box.key)));
  for (const edge of edges) {
    edge.ends = branches(edge.from, edge.to);
    edge.ends[0].parent.links.push(edge);
  }
  for (let i = boxes.length; i-- > 0; ) {
    const box = boxes[i];
    if (box.isOpen) layoutContainer(box);
    else sizeOf(box);
  }
  view.root.x = view.root.y = 0;
  for (const box of boxes) {
    if (!box.isOpen) continue;
    for (const child of box.children) (child.x += box.x), (child.y += box.y);
    for (const edge of box.links) for (const point of edge.via) (point[0] += box.x), (point[1] += box.y);
  }
  spreadEnds(edges);
  return { boxes, edges, width: view.root.w, height: view.root.h };
}

// Gives the edges that enter a box their places along its top, from left to right as they come.
function spreadEnds(edges) {
  const entering = new Map();
  for (const edge of edges) entering.has(edge.to) ? entering.get(edge.to).push(edge) : entering.set(edge.to, [edge]);
  const cameFrom = (edge) => (edge.via.length ? edge.via[edge.via.length - 1][0] : edge.from.x + edge.from.w / 2);
  for (const [box, list] of entering) {
    list.sort((a, b) => cameFrom(a) - cameFrom(b));
    const gap = Math.min(16, (box.w - 16) / list.length);
    list.forEach((edge, i) => {
      edge.end = [box.x + box.w / 2 + (i - (list.length - 1) / 2) * gap, box.y];
      edge.level = i;
    });
  }
}

function sizeOf(box) {
  const note = box.isContainer ? containerNote(box) : box.note;
  const letters = Math.min(34, Math.max(box.label.length + (box.isContainer ? 2 : 0), note.length * 0.8, 4));
  box.w = Math.round(letters * 7.4) + 22;
  box.h = note ? 36 : 24;
}

function layoutContainer(box) {
  const top = box.parent ? HEADER : 0;
  const nodes = box.children.map((child) => ({ box: child, w: child.w, h: child.h, up: [], down: [], rank: 0 }));
  const nodeOf = new Map(nodes.map((node) => [node.box, node]));
  const chains = [];
  box.children.forEach((child, i) => (child.order = i));
  const known = new Set();
  for (const edge of box.links) {
    edge.via = [];
    const [a, b] = edge.ends;
    const key = a.order * 4194304 + b.order;
    if (a.order >= b.order) continue; // drawn as it comes: a circle, which scopes may form
    chains.push({ from: nodeOf.get(a), to: nodeOf.get(b), edge, isNew: !known.has(key) });
    known.add(key);
  }
  rank(nodes, chains);
  const layers = layersOf(nodes, chains);
  order(layers);
  const width = placeX(layers);
  let y = top + PADDING;
  for (const layer of layers) {
    const height = layer.reduce((most, node) => Math.max(most, node.h), 0);
    for (const node of layer) {
      node.y = y + (height - node.h) / 2;
      node.middle = y + height / 2;
    }
    y += height + GAP_Y;
  }
  const loose = nodes.filter((node) => node.isLoose);
  const [looseWidth, bottom] = grid(loose, layers.length ? y : top + PADDING);
  const title = box.parent ? Math.min(30, box.label.length) * 6.2 + 16 : 0;
  box.w = Math.max(width, looseWidth, title) + 2 * PADDING;
  const left = (box.w - Math.max(width, looseWidth)) / 2;
  for (const node of nodes) (node.box.x = node.x + left), (node.box.y = node.y);
  for (const chain of chains) chain.edge.via = (chain.dummies ?? []).map((d) => [d.x + left + d.w / 2, d.middle]);
  box.h = (loose.length ? bottom : Math.max(y - GAP_Y, top + PADDING)) + PADDING;
}

// Layers by longest path. A box that reads nothing stands just above its first reader.
function rank(nodes, chains) {
  for (const chain of chains) chain.from.down.push(chain.to), chain.to.up.push(chain.from);
  for (const node of nodes) {
    for (const other of node.up) node.rank = Math.max(node.rank, other.rank + 1);
    node.isLoose = !node.up.length && !node.down.length && nodes.length > 1;
  }
  for (const node of nodes)
    if (!node.up.length && node.down.length) node.rank = node.down.reduce((least, n) => Math.min(least, n.rank), Infinity) - 1;
  for (const node of nodes) (node.up = []), (node.down = []);
}

// The layers, with dummies for the edges that cross some.
function layersOf(nodes, chains) {
  const layers = [];
  const put = (node) => (layers[node.rank] ??= []).push(node);
  for (const node of nodes) if (!node.isLoose) put(node);
  let room = MAX_DUMMIES;
  const shared = new Map(); // edges between the same boxes share their dummies
  for (const chain of chains) {
    const key = chain.from.box.order * 4194304 + chain.to.box.order;
    if (!chain.isNew) {
      chain.dummies = shared.get(key);
      continue;
    }
    chain.dummies = [];
    shared.set(key, chain.dummies);
    const span = chain.to.rank - chain.from.rank;
    let last = chain.from;
    if (span - 1 <= room)
      for (let r = chain.from.rank + 1; r < chain.to.rank; ++r) {
        const dummy = { w: 6, h: 0, up: [last], down: [], rank: r };
        last.down.push(dummy);
        chain.dummies.push(dummy);
        put(dummy);
        last = dummy;
        --room;
      }
    last.down.push(chain.to);
    chain.to.up.push(last);
  }
  return layers.filter((layer) => layer);
}

// Orders each layer by the means of its neighbours, downwards and upwards in turn.
function order(layers) {
  for (const layer of layers) layer.forEach((node, i) => (node.at = i));
  for (let sweep = 0; sweep < 8; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (let i = 0; i < layers.length; ++i) {
      const layer = layers[isDown ? i : layers.length - 1 - i];
      if (layer.length < 2) continue;
      for (const node of layer) {
        const others = isDown ? node.up : node.down;
        node.mean = others.length ? others.reduce((sum, n) => sum + n.at / (n.of ?? 1), 0) / others.length : node.at;
      }
      layer.sort((a, b) => a.mean - b.mean || a.at - b.at);
      layer.forEach((node, k) => (node.at = k));
    }
  }
}

// Places the boxes of each layer near the means of their neighbours, and returns the width.
function placeX(layers) {
  for (const layer of layers) {
    let x = 0;
    for (const node of layer) (node.x = x), (x += node.w + GAP_X);
    for (const node of layer) node.x -= x / 2;
  }
  for (let sweep = 0; sweep < 14; ++sweep) {
    const isDown = sweep % 2 === 0;
    for (let i = 0; i < layers.length; ++i) separate(layers[isDown ? i : layers.length - 1 - i], isDown, sweep >= 6);
  }
  let least = Infinity, most = -Infinity;
  for (const layer of layers) {
    least = Math.min(least, layer[0].x);
    most = Math.max(most, layer[layer.length - 1].x + layer[layer.length - 1].w);
  }
  if (!layers.length) return 0;
  for (const layer of layers) for (const node of layer) node.x -= least;
  return most - least;
}

// Moves the boxes of a layer to where they want to be, as far as their order and their sizes allow: the mean of a placement
// from the left and one from the right.
function separate(layer, isDown, isLast) {
  for (const node of layer) {
    const others = isLast ? node.up.concat(node.down) : isDown ? node.up : node.down;
    node.wish = others.length
      ? others.reduce((sum, n) => sum + n.x + n.w / 2, 0) / others.length - node.w / 2
      : node.x;
  }
  let edge = -Infinity;
  for (const node of layer) {
    node.left = Math.max(node.wish, edge);
    edge = node.left + node.w + GAP_X;
  }
  edge = Infinity;
  for (let i = layer.length; i-- > 0; ) {
    const node = layer[i];
    node.right = Math.min(node.wish, edge - node.w);
    edge = node.right - GAP_X;
  }
  for (const node of layer) node.x = (node.left + node.right) / 2;
}

// Boxes without edges, in rows below the others. Returns the width and the bottom.
function grid(nodes, top) {
  const most = Math.max(600, Math.sqrt(nodes.length) * 160);
  let x = 0, y = top, width = 0, height = 0;
  for (const node of nodes) {
    if (x > 0 && x + node.w > most) (x = 0), (y += height + GAP_X), (height = 0);
    (node.x = x), (node.y = y);
    (x += node.w + GAP_X), (width = Math.max(width, x - GAP_X)), (height = Math.max(height, node.h));
  }
  return [width, y + height];
}
