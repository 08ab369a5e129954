#include "relay/driver/cli/cli.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "relay/base/output_file.h"
#include "relay/driver/version.h"

namespace relay::cli {

static bool quiet = false;

void say(const std::string& line) {
  if (quiet) return;
  std::cout.flush();  // in order, also when both go to one file
  std::fprintf(stderr, "relay: %s\n", line.c_str());
}

std::string milliseconds(double ms) {
  if (ms >= 10000) return format("{:.1f} s", ms / 1000);
  if (ms >= 1000) return format("{:.2f} s", ms / 1000);
  if (ms >= 100) return format("{:.0f} ms", ms);
  return ms >= 1 ? format("{:.1f} ms", ms) : format("{:.3f} ms", ms);
}

CLI::App* add_verb(CLI::App& app, const char* name, const char* what, const char* examples) {
  CLI::App* verb = app.add_subcommand(name, what);
  verb->footer(format("Examples:\n{}", examples));
  return verb;
}

static const char* const about =
    "relay: a compiler for deep-learning models. MODEL is an ONNX file (.onnx), a Relay program (.relay)\n"
    "or, where it says so, a compiled artifact.";
static const char* const first_steps =
    "First steps:\n"
    "  relay run model.onnx                       compile it for this machine and run it on random inputs\n"
    "  relay bench model.onnx --vs onnxruntime    how fast, beside a peer\n"
    "  relay check model.onnx                     what stands in the way of a model, all of it at once\n"
    "  relay opt model.onnx --emit schedule       what the compiler decided for every kernel\n"
    "  relay run --help                           more on one verb";

// The verb that was probably meant, when the first word is none.
static bool check_verb(int argc, const char* const* argv, const CLI::App& app) {
  if (argc < 2 || argv[1][0] == '-') return true;
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), argv[1]) != verbs.end()) return true;
  std::optional<std::string> near = nearest(argv[1], verbs);
  Diagnostic unknown{DiagnosticKind::bad_option,
                     format("there is no verb '{}'", argv[1]),
                     {},
                     {},
                     {},
                     near ? format("did you mean '{}'?", *near) : format("the verbs are: {}", join(verbs, ", "))};
  std::cerr << render(unknown);
  return false;
}

static int parse_and_run(int argc, const char* const* argv) {
  CLI::App app(about, "relay");
  app.footer(first_steps);
  app.set_version_flag("--version", std::string("relay ") + version, "Print the version");
  app.add_flag("-q,--quiet", quiet, "Say nothing on stderr but errors");
  app.require_subcommand(1);
  app.fallthrough();
  Chosen chosen;
  chosen.program = argc > 0 ? argv[0] : "relay";
#define RELAY_VERB(name) add_##name(app, chosen);
#include "relay/driver/cli/verbs.def"
#undef RELAY_VERB
  if (argc < 2) {
    std::cerr << app.help();
    return 2;
  }
  if (!check_verb(argc, argv, app)) return 2;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e, std::cout, std::cerr);  // --help, --version
    std::cerr << render(
        Diagnostic{DiagnosticKind::bad_option, e.what(), {}, {}, {}, format("relay {} --help", argv[1])});
    return 2;
  }
  Status status = chosen.run();
  std::cout.flush();
  if (!status) {
    std::cerr << render(status.errors());
    return 1;
  }
  if (!std::cout) {
    std::cerr << render(Diagnostic{DiagnosticKind::file_not_found, "the output cannot be written"});
    return 1;
  }
  return 0;
}

int run_command_line(int argc, const char* const* argv) {
  quiet = false;
  remove_drafts_on_signals();
  try {
    return parse_and_run(argc, argv);
  } catch (const CompileError& e) {
    std::cerr << e.what();
    return 1;
  } catch (const InternalError& e) {
    std::cerr << e.what() << "\n";
    return 70;
  } catch (const std::bad_alloc&) {
    std::cerr << render(Diagnostic{DiagnosticKind::out_of_memory, "there is not enough memory"});
    return 1;
  } catch (const std::exception& e) {
    std::cerr << "internal error: " << e.what() << ". This is a bug in Relay, not in your program.\n";
    return 70;
  }
}

}  // namespace relay::cli
