// relay fmt: formats Relay programs in place, or checks that they are formatted.
#include <unistd.h>

#include <iostream>
#include <iterator>

#include "relay/base/output_file.h"
#include "relay/driver/cli/cli.h"
#include "relay/driver/cli/text_difference.h"
#include "relay/input/files.h"
#include "relay/text/format.h"

namespace relay::cli {

namespace {
struct FmtOptions {
  std::vector<std::string> files;
  bool check = false, diff = false;
};

struct Counts {
  int64_t changed = 0;
  Diagnostics problems;
};
}  // namespace

// A file, or standard input if `path` is "-".
static Result<std::string> read_text(const std::string& path) {
  if (path == "-") return std::string(std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>());
  return input::read_file(path);
}

static Status format_one(const FmtOptions& options, const std::string& path, Counts& counts) {
  const bool piped = path == "-";
  const std::string name = piped ? "<stdin>" : path;
  RELAY_ASSIGN(const std::string before, read_text(path));
  RELAY_ASSIGN(const std::string after, text::formatted(std::make_shared<const Source>(Source{name, before})));
  if (piped && !options.check && !options.diff) std::cout << after;
  if (before == after) return ok();
  ++counts.changed;
  if (options.diff) {
    std::cout << format("--- {}\n+++ {} (formatted)\n", printable(name), printable(name))
              << difference(before, after, use_colour(STDOUT_FILENO));
  } else if (options.check) {
    print(name);
  } else if (!piped) {
    RELAY_RETURN_IF_ERROR(write_file(path, after));
    print_message(format("formatted {}", path));
  }
  return ok();
}

static Status fmt(const FmtOptions& options) {
  Counts counts;
  for (const std::string& path : options.files)
    if (Status done = format_one(options, path, counts); !done)
      counts.problems.insert(counts.problems.end(), done.errors().begin(), done.errors().end());
  if (counts.problems.empty() && options.check && counts.changed > 0)
    return Diagnostic{DiagnosticKind::bad_option,
                      format("{} not formatted", plural(counts.changed, "program is", "programs are")),
                      {},
                      {},
                      {},
                      "`relay fmt FILES` formats them in place; --diff shows the differences"};
  if (!counts.problems.empty()) return counts.problems;
  return ok();
}

void add_fmt(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb =
      add_verb(app, "fmt", "Format Relay programs in place",
               "  relay fmt model.relay\n  relay fmt --check *.relay\n  relay fmt - < draft.relay\n"
               "Only white space changes: comments stay, and the program means the same. Lines are at most\n"
               "100 characters long where they can be broken. A block with a line break behind its `{` keeps\n"
               "lines of its own. A text with a mistake in its syntax is left as it is.\n"
               "Exit status: 1 if a text has a mistake or, with --check, is not formatted.");
  auto options = std::make_shared<FmtOptions>();
  verb->add_option("FILES", options->files, "Relay programs; - reads standard input and writes standard output")
      ->required();
  verb->add_flag("--check", options->check, "Print the names of programs that are not formatted, and write nothing");
  verb->add_flag("--diff", options->diff, "Print the differences, and write nothing");
  verb->callback([options, &selected] { selected.run = [options] { return fmt(*options); }; });
}

}  // namespace relay::cli
