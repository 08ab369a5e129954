// Generates shell completion, a man page and help from the tree that parses verbs and options.
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

// The verb that these words name ("cache", "prune"); the program itself if there are no words.
Result<const CLI::App*> find_verb(const CLI::App& app, const std::vector<std::string>& words);

}  // namespace relay::cli
