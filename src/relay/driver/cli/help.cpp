// relay help: prints the help of a verb, or the man page.
#include <iostream>

#include "relay/driver/cli/cli.h"
#include "relay/driver/cli/tree.h"

namespace relay::cli {

static Status help(const CLI::App& app, const std::vector<std::string>& words, bool man) {
  if (man) {
    std::cout << man_page(app);
    return ok();
  }
  RELAY_ASSIGN(const CLI::App* verb, find_verb(app, words));
  std::string before = "relay";
  for (size_t i = 0; i + 1 < words.size(); ++i) before += " " + words[i];
  // A verb selected on the command line, such as this one, would answer for the program.
  std::cout << CLI::Formatter().make_help(verb, words.empty() ? "relay" : before + " " + words.back(),
                                          CLI::AppFormatMode::Normal);
  return ok();
}

void add_help(CLI::App& app, SelectedVerb& selected) {
  struct Options {
    std::vector<std::string> words;
    bool man = false;
  };
  CLI::App* verb = add_verb(app, "help", "Print the help of a verb, as relay VERB --help does",
                            "  relay help run\n  relay help cache prune\n  relay help --man | man -l -");
  std::shared_ptr<Options> options = std::make_shared<Options>();
  verb->add_option("VERB", options->words, "The verb (default: list all)");
  verb->add_flag("--man", options->man, "Print the man page, relay(1)");
  verb->callback([options, &app, &selected] {
    selected.run = [options, &app] { return help(app, options->words, options->man); };
  });
}

}  // namespace relay::cli
