// Starts `relay lsp` for Relay programs; the server does the rest (src/relay/lsp).
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function start() {
  const program = vscode.workspace.getConfiguration("relay").get("path");
  const server = { command: program, args: ["lsp"] };
  client = new LanguageClient("relay", "Relay", server, {
    documentSelector: [{ language: "relay" }],
  });
  return client.start().catch((error) => {
    vscode.window.showErrorMessage(`${program} cannot be started: ${error.message}. Set relay.path to the relay program.`);
  });
}

async function restart() {
  if (client) await client.stop().catch(() => {}); // it may never have started
  await start();
}

exports.activate = (context) => {
  context.subscriptions.push(
    vscode.commands.registerCommand("relay.restart", restart),
    vscode.workspace.onDidChangeConfiguration((change) => {
      if (change.affectsConfiguration("relay.path")) restart();
    }),
  );
  return start();
};

exports.deactivate = () => client?.stop();
