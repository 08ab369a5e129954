// Overlays of the reader's own numbers, from a JSON file such as `relay quantize --json` writes: every object in it, at any
// depth, that has a text "place" gives its numbers to the nodes of this place.

// By the name of a number, a map from places to numbers.
function numbersByPlace(json) {
  const found = new Map(), stack = [json];
  while (stack.length) {
    const one = stack.pop();
    if (one === null || typeof one !== "object") continue;
    for (const [name, value] of Object.entries(one)) {
      if (typeof value === "object") stack.push(value);
      else if (typeof value === "number" && typeof one.place === "string") {
        if (!found.has(name)) found.set(name, new Map());
        found.get(name).set(one.place, value);
      }
    }
  }
  return found;
}

// Adds an overlay for each number of a file and shows the first, or says why there is none.
async function addValues(file) {
  const complain = (why) => byId("legend").replaceChildren(element("h2", {}, `no values in ${file.name}`), element("div", {}, why));
  if (file.size > 100e6) return complain("It has more than 100 MB.");
  let found;
  try {
    found = numbersByPlace(JSON.parse(await file.text()));
  } catch (error) {
    return complain(`It is not JSON: ${error.message}`);
  }
  const places = new Set(app.panes.flatMap((pane) => pane.compilation.data.places.text));
  const keys = [];
  for (const [name, values] of found) {
    if (![...values.keys()].some((place) => places.has(place))) continue;
    const key = "own:" + name;
    if (!OVERLAYS[key]) byId("overlay").append(element("option", { value: key }, name));
    OVERLAYS[key] = { name: `${name} (${file.name})`, isOwn: true, value: (c, s, row) => (c.isOperator(s, row) ? values.get(c.place(s, row)) ?? null : null) };
    keys.push(key);
  }
  const example = app.active.compilation.data.places.text.find((text) => text) ?? "";
  if (!keys.length) return complain(`It has no object with a number and a "place" of this model, such as ${JSON.stringify(example)}.`);
  byId("overlay").value = keys[0];
  byId("overlay").dispatchEvent(new Event("change"));
}
