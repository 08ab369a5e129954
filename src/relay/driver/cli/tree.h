// The verbs and options as shell completion, as a man page and as help: all of it from the tree that parses them.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "relay/base/diagnostics.h"

namespace relay::cli {

std::string bash_completion(const CLI::App& app);
std::string zsh_completion(const CLI::App& app);
std::string fish_completion(const CLI::App& app);
std::string man_page(const CLI::App& app);

// "-o", "--output", ...
std::vector<std::string> option_names(const CLI::App& verb);

// The verb that these words name ("cache", "prune"); without words the program itself.
Result<const CLI::App*> find_verb(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace relay::cli
