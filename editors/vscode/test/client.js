// Runs the bundled extension on `relay lsp` itself: node test/client.js PROGRAM. A stand-in takes the place of the editor's
// module `vscode`: it notes the providers that the client registers, which the test then asks as the editor would.
const assert = require("assert");
const fs = require("fs");
const Module = require("module");
const path = require("path");

const TEXT = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(2, 4), float32]) {\n  let %y = nn.rela(%x);   %y\n}\n';
const RIGHT = TEXT.replace("nn.rela", "nn.relu");
const URI = "file:///program.relay";

// --- the editor ------------------------------------------------------------------------------------------------------
class Position {
  constructor(line, character) { Object.assign(this, { line, character }); }
}
class Range {
  constructor(start, end, line, character) {
    const isOfNumbers = line !== undefined;
    this.start = isOfNumbers ? new Position(start, end) : start;
    this.end = isOfNumbers ? new Position(line, character) : end;
  }
}
class Uri {
  scheme = "file";
  constructor(text) { this.text = text; }
  static parse(text) { return new Uri(text); }
  toString() { return this.text; }
}
class Diagnostic {
  constructor(range, message, severity) { Object.assign(this, { range, message, severity }); }
}
class TextEdit {
  constructor(range, newText) { Object.assign(this, { range, newText }); }
}
class WorkspaceEdit {
  edits = new Map();
  set(uri, edits) { this.edits.set(String(uri), edits); }
  replace(uri, range, text) { this.set(uri, [...(this.edits.get(String(uri)) ?? []), new TextEdit(range, text)]); }
}
class Location {
  constructor(uri, range) { Object.assign(this, { uri, range }); }
}
class CodeActionKind {
  static Empty = new CodeActionKind("");
  constructor(value) { this.value = value; }
  append(part) { return new CodeActionKind(this.value ? `${this.value}.${part}` : part); }
}
class CancellationTokenSource {
  token = { isCancellationRequested: false, onCancellationRequested: () => ({ dispose() {} }) };
  cancel() {}
  dispose() {}
}
class Disposable {
  static from() { return new Disposable(); }
  dispose() {}
}
class Emitter {
  listeners = [];
  event = (listener, self) => (this.listeners.push(listener.bind(self)), { dispose() {} });
  fire(what) { for (const listener of this.listeners) listener(what); }
  dispose() {}
}
const document = {
  uri: Uri.parse(URI), fileName: "/program.relay", languageId: "relay", version: 1, isClosed: false, text: TEXT,
  getText() { return this.text; },
};
const providers = new Map(), problems = new Map(), changed = new Emitter(), messages = [];
const disposable = { dispose() {} };

// A part of the editor. Whatever it lacks is a class, an event, a function that registers a provider, or nothing.
function part(known = {}) {
  return new Proxy(known, {
    get(target, key) {
      if (key in target || typeof key === "symbol") return target[key];
      if (/^on[A-Z]/.test(key)) return () => disposable;
      if (/^register/.test(key)) return (_, provider) => (providers.set(key.slice("register".length), provider), disposable);
      if (/^[A-Z]/.test(key)) return (target[key] = class { constructor(...given) { this.given = given; } });
      if (/^show/.test(key)) return async (text) => void messages.push(text);
      return undefined;
    },
  });
}
const say = (...texts) => messages.push(texts.join(" ")), quiet = () => {};
const channel = part({ append: quiet, appendLine: quiet, dispose: quiet, trace: quiet, debug: quiet, info: quiet, warn: say, error: say });
const collection = { set: (uri, list) => problems.set(String(uri), list), delete: (uri) => problems.delete(String(uri)), clear: quiet, dispose: quiet };
const vscode = part({
  CancellationTokenSource, CodeActionKind, Diagnostic, Disposable, Location, Position, Range, TextEdit, Uri, WorkspaceEdit,
  EventEmitter: Emitter, version: "1.100.0", l10n: { t: (text) => text },
  workspace: part({
    textDocuments: [document], onDidChangeTextDocument: changed.event,
    getConfiguration: () => ({ get: (key) => (key === "path" ? process.argv[2] : undefined), inspect: quiet }),
  }),
  languages: part({ match: () => 10, createDiagnosticCollection: () => collection }),
  window: part({ createOutputChannel: () => channel, visibleTextEditors: [], tabGroups: part({ all: [] }) }),
  env: part({ language: "en" }), commands: part(), extensions: part({ all: [] }),
});
// The bundle copies the names that exist when it is loaded.
const bundle = path.join(__dirname, "../dist/extension.js");
for (const [, name] of fs.readFileSync(bundle, "utf8").matchAll(/\b(?:vscode|code)\w*\.([A-Z]\w+)/g)) void vscode[name];
const load = Module._load;
Module._load = (name, ...given) => (name === "vscode" ? vscode : load(name, ...given));

async function until(isTrue) {
  for (let i = 0; i < 600 && !isTrue(); ++i) await new Promise((resolve) => setTimeout(resolve, 50));
  assert(isTrue(), `not reached: ${isTrue}\n${messages.join("\n")}`);
}

// The document's text after edits.
function edited(edits) {
  const lines = document.text.split("\n");
  const offset = ({ line, character }) => lines.slice(0, line).join("\n").length + (line > 0) + character;
  const inOrder = [...edits].sort((a, b) => offset(b.range.start) - offset(a.range.start));
  return inOrder.reduce((text, { range, newText }) => text.slice(0, offset(range.start)) + newText + text.slice(offset(range.end)), document.text);
}

async function main() {
  const extension = require(bundle);
  await extension.activate({ subscriptions: [], extensionPath: "" });
  const { token } = new CancellationTokenSource();
  const ask = (name, method, ...given) => providers.get(`${name}Provider`)[method](document, ...given);
  const at = (word) => new Position(2, document.text.split("\n")[2].indexOf(word) + 1);

  await until(() => problems.get(URI)?.length);
  const [problem] = problems.get(URI);
  assert.equal(problem.code, "R0202");
  const [fix] = await ask("CodeActions", "provideCodeActions", problem.range, { diagnostics: [problem], triggerKind: 1 }, token);
  assert.equal(edited(fix.edit.edits.get(URI)), RIGHT);

  document.text = RIGHT;
  ++document.version;
  changed.fire({ document, contentChanges: [{ range: problem.range, rangeOffset: TEXT.indexOf("nn.rela"), rangeLength: 7, text: "nn.relu" }] });
  await until(() => !problems.get(URI)?.length);

  const hover = await ask("Hover", "provideHover", at("%y"), token);
  assert.match(JSON.stringify(hover), /%y: Tensor\[\(2, 4\), float32\]/);
  const completion = await ask("CompletionItem", "provideCompletionItems", at("%x"), token, { triggerKind: 0 });
  assert(JSON.stringify(completion).includes('"%x"'));
  const signature = await ask("SignatureHelp", "provideSignatureHelp", at("%x"), token, { triggerKind: 1, isRetrigger: false });
  assert(signature.signatures.length === 1 && signature.activeParameter === 0);
  const references = await ask("Reference", "provideReferences", at("%y"), { includeDeclaration: true }, token);
  assert.deepEqual(references.map((one) => one.range.start.line), [2, 2]);
  const symbols = await ask("DocumentSymbol", "provideDocumentSymbols", token);
  assert(JSON.stringify(symbols).includes("@main"));
  const formatting = await ask("DocumentFormattingEdit", "provideDocumentFormattingEdits", { tabSize: 2, insertSpaces: true }, token);
  assert(edited(formatting).includes("nn.relu(%x);\n  %y\n}"));
  const renaming = await ask("Rename", "provideRenameEdits", at("%y"), "%z", token);
  assert.equal(edited(renaming.edits.get(URI)), RIGHT.replaceAll("%y", "%z"));
  const tokens = await ask("DocumentSemanticTokens", "provideDocumentSemanticTokens", token);
  assert(tokens, "no colours");
  const hints = await ask("InlayHints", "provideInlayHints", new Range(0, 0, 9, 0), token);
  assert(JSON.stringify(hints).includes("Tensor[(2, 4), float32]"));
  await extension.deactivate();
  assert.deepEqual(messages, []);
}

main().then(
  () => (console.log("the extension and the server: passed"), process.exit(0)),
  (error) => (console.error(error), process.exit(1)),
);
