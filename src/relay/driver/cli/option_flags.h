// The flags of the options of a compilation, derived from their declaration (driver/options.h).
#pragma once

#include "relay/driver/cli/cli.h"
#include "relay/driver/options.h"

namespace relay::cli {

struct OptionFlags {
  driver::Options values;                                 // of flags that CLI11 reads itself
  std::map<std::string, std::vector<std::string>> texts;  // by option: values of the other flags, as they were written
};

// Add the flags of reading a model, and those of everything after it.
void add_import_flags(CLI::App& verb, OptionFlags& flags);
void add_compile_flags(CLI::App& verb, OptionFlags& flags);

// The options, with the texts read. read_import_options() reads those of reading a model only.
Result<driver::Options> read_import_options(const OptionFlags& flags);
Result<driver::Options> read_options(const OptionFlags& flags);

// The flags on the command line, as "--target", that have no effect on an artifact, which is already compiled.
std::vector<std::string> given_compile_flags(const CLI::App& verb);
// The flags on the command line of everything after the import of the model.
std::vector<std::string> given_flags_after_import(const CLI::App& verb);
// The words that repeat these options, as {"-O", "2", "--strict"}, without files and shapes.
std::vector<std::string> words_of(const OptionFlags& flags);

}  // namespace relay::cli
