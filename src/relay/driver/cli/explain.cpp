// relay explain: explains a diagnostic's code, with an example and a remedy.
#include <iostream>

#include "relay/driver/catalogue.h"
#include "relay/driver/cli/cli.h"

namespace relay::cli {

static void print_one(const driver::CodeInfo& one) {
  std::cout << format("{}  {}\n\n{}\n\nExample:\n", one.code, one.name, one.sentence);
  for (std::string_view line : split(one.example, '\n')) std::cout << format("  {}\n", line);
  std::cout << format("\nThe way out: {}\n", one.remedy);
}

static Status explain(const std::optional<std::string>& code) {
  std::vector<std::string> names;
  for (const driver::CodeInfo& info : driver::all_codes()) {
    if (!code) std::cout << format("{}  {:<22} {}\n", info.code, info.name, info.sentence);
    if (code == info.code || code == info.name) {
      print_one(info);
      return ok();
    }
    names.push_back(info.code);
    names.push_back(info.name);
  }
  if (!code) return ok();
  std::optional<std::string> near = nearest(*code, names);
  return Diagnostic{DiagnosticKind::bad_option,
                    format("no diagnostic has the code '{}'", shortened(*code)),
                    {},
                    {},
                    {},
                    near ? format("did you mean {}? `relay explain` lists all", *near) : "`relay explain` lists all"};
}

void add_explain(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(app, "explain", "Explain a diagnostic's code, with an example and a way out",
                            "  relay explain R0302\n  relay explain P0203\n  relay explain");
  auto code = std::make_shared<std::optional<std::string>>();
  verb->add_option("CODE", *code, "The code or name, as in error[R0302] (default: list all)");
  verb->callback([code, &selected] { selected.run = [code] { return explain(*code); }; });
}

}  // namespace relay::cli
