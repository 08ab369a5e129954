// relay lsp: serves an editor (lsp/server.h).
#include <unistd.h>

#include "relay/driver/cli/cli.h"
#include "relay/lsp/server.h"

namespace relay::cli {

void add_lsp(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "lsp", "Serve an editor: diagnostics, types, completion, renaming, formatting",
               "  relay lsp\n"
               "Editors start it and speak the Language Server Protocol on its standard input and output.\n"
               "docs/editors.md describes how to set up an editor.");
  // Editors that cannot be told otherwise give it.
  verb->add_flag("--stdio")->description("Use standard input and output, as always");
  verb->callback([&selected] {
    selected.run = [&selected]() -> Status {
      if (lsp::serve(STDIN_FILENO, STDOUT_FILENO) == 0) return ok();
      selected.failure = 1;
      return Diagnostic{DiagnosticKind::bad_option,
                        "the editor ended the connection without a shutdown request",
                        {},
                        {},
                        {},
                        "start `relay lsp` from an editor: docs/editors.md"};
    };
  });
}

}  // namespace relay::cli
