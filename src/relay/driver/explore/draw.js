// Drawing: the picture through a painter, which is a canvas or an SVG text, and its colours.

const LIGHT = {
  page: "#f6f7f9", box: "#ffffff", line: "#b3bac5", text: "#1b1f24", dim: "#6b7480", edge: "#98a2b0", open: "#eceff3",
  group: "#e3ecf9", picked: "#0b57d0", added: "#188038", changed: "#c26401", rewired: "#5b6ee1", moved: "#8a4fbe", removed: "#c5221f",
};
const DARK = {
  page: "#16181c", box: "#23272e", line: "#4b525d", text: "#e8eaed", dim: "#9aa3af", edge: "#69727f", open: "#1c1f25",
  group: "#1d2a3d", picked: "#8ab4f8", added: "#5bb974", changed: "#f6a23c", rewired: "#97a5ff", moved: "#c58af9", removed: "#f28b82",
};
const isDark = matchMedia("(prefers-color-scheme: dark)").matches;
const COLOURS = isDark ? DARK : LIGHT;
const FONT = "system-ui, sans-serif";

// A colour from pale yellow to red for a share between 0 and 1.
function heat(share) {
  const t = Math.max(0, Math.min(1, share));
  const hue = 52 - 44 * t;
  return isDark ? `hsl(${hue} ${35 + 30 * t}% ${22 + 12 * t}%)` : `hsl(${hue} ${70 + 15 * t}% ${93 - 24 * t}%)`;
}
// A colour for a name, the same on each page.
function hue(name) {
  let hash = 7;
  for (let i = 0; i < name.length; ++i) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;
  return `hsl(${(hash * 137) % 360} 50% ${isDark ? 55 : 48}%)`;
}

// The two control points of the curve from points[i - 1] to points[i]. An edge leaves and enters boxes vertically, and
// runs through its other points in the direction from the one before to the one after.
function controls(points, i) {
  const [x0, y0] = points[i - 1], [x1, y1] = points[i], half = (y1 - y0) / 2;
  const [xa, ya] = points[i - 2] ?? points[i - 1], [xb, yb] = points[i + 1] ?? points[i];
  const first = i === 1 ? [x0, y0 + half] : [x0 + (x1 - xa) / 6, y0 + (y1 - ya) / 6];
  const second = i === points.length - 1 ? [x1, y1 - half] : [x1 - (xb - x0) / 6, y1 - (yb - y0) / 6];
  return [...first, ...second];
}

class CanvasPainter {
  constructor(context) { this.c = context; }
  box(x, y, w, h, r, fill, line, width, dash) {
    const c = this.c;
    c.beginPath();
    c.roundRect(x, y, w, h, r);
    if (fill) (c.fillStyle = fill), c.fill();
    if (!line) return;
    c.setLineDash(dash ?? []);
    (c.strokeStyle = line), (c.lineWidth = width), c.stroke();
    c.setLineDash([]);
  }
  text(text, x, y, colour, size, bold) {
    const c = this.c;
    c.font = `${bold ? 600 : 400} ${size}px ${FONT}`;
    c.fillStyle = colour;
    c.fillText(text, x, y);
  }
  curve(points, colour, width, dash) {
    const c = this.c;
    c.beginPath();
    c.moveTo(points[0][0], points[0][1]);
    for (let i = 1; i < points.length; ++i) c.bezierCurveTo(...controls(points, i), ...points[i]);
    c.setLineDash(dash ?? []);
    (c.strokeStyle = colour), (c.lineWidth = width), c.stroke();
    c.setLineDash([]);
  }
  arrow(x, y, colour) {
    const c = this.c;
    c.beginPath();
    c.moveTo(x, y), c.lineTo(x - 3.5, y - 7), c.lineTo(x + 3.5, y - 7);
    (c.fillStyle = colour), c.fill();
  }
}

class SvgPainter {
  constructor(width, height) {
    this.out = [`<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" font-family="${FONT}">`];
    this.box(0, 0, width, height, 0, COLOURS.page);
  }
  static escaped(text) {
    return text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  }
  box(x, y, w, h, r, fill, line, width, dash) {
    const stroke = line ? ` stroke="${line}" stroke-width="${width}"${dash ? ` stroke-dasharray="${dash}"` : ""}` : "";
    this.out.push(`<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="${r}" fill="${fill ?? "none"}"${stroke}/>`);
  }
  text(text, x, y, colour, size, bold) {
    const weight = bold ? ` font-weight="600"` : "";
    this.out.push(`<text x="${x}" y="${y}" fill="${colour}" font-size="${size}"${weight}>${SvgPainter.escaped(text)}</text>`);
  }
  curve(points, colour, width, dash) {
    let path = `M${points[0]}`;
    for (let i = 1; i < points.length; ++i) path += `C${controls(points, i)},${points[i]}`;
    const dashes = dash ? ` stroke-dasharray="${dash}"` : "";
    this.out.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="${width}"${dashes}/>`);
  }
  arrow(x, y, colour) {
    this.out.push(`<path d="M${x},${y}l-3.5,-7h7z" fill="${colour}"/>`);
  }
  finish() { return this.out.join("\n") + "\n</svg>\n"; }
}

function cut(text, letters) {
  return text.length > letters ? text.slice(0, Math.max(1, letters - 1)) + "…" : text;
}

// The points of an edge: from below its source, through its dummies, to above its target.
function pointsOf(edge) {
  return [[edge.from.x + edge.from.w / 2, edge.from.y + edge.from.h], ...edge.via, edge.end];
}

// Draws a picture of layout(). `look`: {scale, window: [x0, y0, x1, y1] in its coordinates, picked: a box or null, fillOf:
// the colour of a box by the overlay, found: a set of boxes}.
function drawPicture(painter, picture, look) {
  const [x0, y0, x1, y1] = look.window;
  const isIn = (b) => b.x <= x1 && b.x + b.w >= x0 && b.y <= y1 && b.y + b.h >= y0;
  const hasText = look.scale > 0.28;
  for (const box of picture.boxes) if (box.isOpen && box.parent && isIn(box)) drawOpen(painter, box, look, hasText);
  const bright = [];
  for (const edge of picture.edges) {
    const points = pointsOf(edge);
    let top = Infinity, bottom = -Infinity, left = Infinity, right = -Infinity;
    for (const [x, y] of points) {
      (top = Math.min(top, y)), (bottom = Math.max(bottom, y));
      (left = Math.min(left, x)), (right = Math.max(right, x));
    }
    if (bottom < y0 || top > y1 || right < x0 || left > x1) continue;
    if (look.picked && (edge.from === look.picked || edge.to === look.picked)) bright.push([edge, points]);
    else drawEdge(painter, edge, points, look, edge.removed ? COLOURS.removed : COLOURS.edge, 1.1);
  }
  for (const [edge, points] of bright) drawEdge(painter, edge, points, look, COLOURS.picked, 2);
  for (const box of picture.boxes) if (!box.isOpen && isIn(box)) drawBox(painter, box, look, hasText);
}

function drawEdge(painter, edge, points, look, colour, width) {
  painter.curve(points, colour, Math.max(width, 0.5 / look.scale), edge.removed ? [4, 3] : null);
  const [x, y] = points[points.length - 1];
  if (look.scale > 0.28) painter.arrow(x, y, colour);
  if (edge.label && look.scale > 0.45) painter.text(cut(edge.label, 24), x + 5, y - 4 - 11 * (edge.level % 3), COLOURS.dim, 10);
}

function drawOpen(painter, box, look, hasText) {
  const line = box === look.picked ? COLOURS.picked : COLOURS[box.mark] ?? COLOURS.line;
  const fill = box.kind === "group" ? COLOURS.group : COLOURS.open;
  painter.box(box.x, box.y, box.w, box.h, 6, look.fillOf(box) ?? fill, line, box === look.picked ? 2 : 1, ["part", "repeat"].includes(box.kind) ? [2, 3] : null);
  if (hasText) painter.text("− " + cut(box.label, Math.floor(box.w / 7)), box.x + 8, box.y + 14, COLOURS.dim, 11);
}

function drawBox(painter, box, look, hasText) {
  const isPicked = box === look.picked, mark = COLOURS[box.mark];
  const fill = look.fillOf(box) ?? (box.isContainer ? (box.kind === "group" ? COLOURS.group : COLOURS.open) : COLOURS.box);
  const line = isPicked ? COLOURS.picked : mark ?? COLOURS.line;
  const dash = box.mark === "removed" ? [4, 3] : null;
  if (box.isContainer) painter.box(box.x + 3, box.y + 3, box.w, box.h, 6, fill, line, 1);
  painter.box(box.x, box.y, box.w, box.h, box.kind === "result" || box.label.startsWith("%") ? 12 : 4, fill, line, isPicked || mark ? 2 : 1, dash);
  if (look.found?.has(box)) painter.box(box.x - 3, box.y - 3, box.w + 6, box.h + 6, 8, null, COLOURS.changed, 1.5, [2, 2]);
  if (box.kind === "node" && !box.label.startsWith("%")) painter.box(box.x + 1, box.y + 4, 3, box.h - 8, 1, hue(box.label));
  if (!hasText) return;
  const letters = Math.floor((box.w - 18) / 7.2) - (box.isContainer ? 2 : 0);
  const note = box.isContainer ? containerNote(box) : box.note;
  painter.text((box.isContainer ? "+ " : "") + cut(box.label, letters), box.x + 10, box.y + (note ? 15 : 16), box.mark === "removed" ? mark : COLOURS.text, 12, true);
  if (note) painter.text(cut(note, Math.floor((box.w - 14) / 5.2)), box.x + 10, box.y + 29, COLOURS.dim, 10);
}
function containerNote(box) {
  return `${box.count} node${box.count === 1 ? "" : "s"}${box.changed ? `, ${box.changed} changed` : ""}`;
}
