// The language server: JSON-RPC on two descriptors, one message after the other. docs/editors.md lists what it answers.
//
// A change only replaces the text. It is read when the next request needs it, or when no message comes for 20 ms; so
// fast typing causes no work that is stale when it ends, and nothing needs to be cancelled.
#pragma once

namespace relay::lsp {

// Serves one client until it says goodbye or is gone. Returns the exit status that the protocol asks for.
int serve(int input, int output);

}  // namespace relay::lsp
