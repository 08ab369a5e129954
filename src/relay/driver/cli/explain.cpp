// relay explain: what a diagnostic's code means.
#include <iostream>

#include "relay/driver/cli/cli.h"

namespace relay::cli {

static Status explain(const std::string& code) {
  std::vector<std::string> names;
  bool all = code.empty(), found = false;
  for (const DiagnosticInfo& info : all_diagnostics()) {
    names.push_back(info.code);
    names.push_back(info.name);
    if (!all && code != info.code && code != info.name) continue;
    std::cout << format("{}  {:<22} {}\n", info.code, info.name, info.sentence);
    found = true;
  }
  if (all || found) return ok();
  std::optional<std::string> near = nearest(code, names);
  return Diagnostic{DiagnosticKind::bad_option,
                    format("no diagnostic has the code '{}'", code),
                    {},
                    {},
                    {},
                    near ? format("did you mean {}? `relay explain` lists all", *near) : "`relay explain` lists all"};
}

void add_explain(CLI::App& app, Chosen& chosen) {
  CLI::App* verb = add_verb(app, "explain", "What a diagnostic's code means", "  relay explain R0302\n  relay explain");
  std::shared_ptr<std::string> code = std::make_shared<std::string>();
  verb->add_option("CODE", *code, "Code or name, as in error[R0302]; without: all of them");
  verb->callback([code, &chosen] { chosen.run = [code] { return explain(*code); }; });
}

}  // namespace relay::cli
