#include "relay/driver/cli/cli.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

#include "relay/base/output_file.h"
#include "relay/driver/cli/python_verbs.h"
#include "relay/driver/cli/tree.h"
#include "relay/driver/load.h"
#include "relay/driver/pjrt_run.h"
#include "relay/driver/version.h"
#include "relay/input/files.h"

namespace relay::cli {

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
    "relay: a compiler for deep-learning models. MODEL is an ONNX file (.onnx), a Relay program\n"
    "(.relay), a model of PyTorch (.pt2, or TorchScript), Keras (.keras, .h5), TensorFlow (.pb, or the folder of a\n"
    "SavedModel), PaddlePaddle (.pdmodel, .json), OneFlow (its folder), Core ML (.mlmodel, .mlpackage), DarkNet\n"
    "(.cfg), Caffe (.prototxt), Caffe2 (.pb) or MXNet (-symbol.json), which Python reads, or, for some verbs, a\n"
    "compiled artifact. /dev/stdin reads from a pipe.";
static const char* const first_steps =
    "First steps:\n"
    "  relay run model.onnx                       compile it for this machine and run it on random inputs\n"
    "  relay bench model.onnx --vs onnxruntime    compare its speed with another engine\n"
    "  relay check model.onnx                     report all problems of a model\n"
    "  relay opt model.onnx --emit schedule       show the schedule of every kernel\n"
    "  relay run --help                           the options of one verb";

static const char* const own_options[] = {"-q", "--quiet"};

// The position of the verb; options of the program may precede it.
static int verb_position(int argc, const char* const* argv) {
  int at = 1;
  while (at < argc &&
         std::find(std::begin(own_options), std::end(own_options), std::string_view(argv[at])) != std::end(own_options))
    ++at;
  return at;
}

// Checks that the first word is a verb.
static Status check_verb(int argc, const char* const* argv, const CLI::App& app) {
  const int at = verb_position(argc, argv);
  if (at >= argc || argv[at][0] == '-') return ok();
  if (Result<const CLI::App*> verb = find_verb(app, {argv[at]}); !verb) return verb.errors();
  return ok();
}

// CLI11's message, in our words and shortened. `word`: the first one of the command line.
static Diagnostic parse_error(const CLI::ParseError& e, const CLI::App& app, const std::string& word) {
  Result<const CLI::App*> found = find_verb(app, {word});
  const CLI::App& verb = found ? **found : app;
  Diagnostic d{DiagnosticKind::bad_option, shortened(e.what()), {}, {}, {}, ""};
  d.help = format("`relay {}--help` describes its use", found ? word + " " : "");
  const std::vector<std::string> left = app.remaining(true);  // unrecognised words, the last ones first
  const bool wants_verb = verb.get_require_subcommand_min() > 0;
  for (const std::string& one : left) {
    if (wants_verb && one[0] != '-') {
      if (Result<const CLI::App*> inner = find_verb(verb, {one}); !inner) return inner.errors()[0];
    } else if (const bool is_option = one.size() > 1 && one[0] == '-';
               is_option || dynamic_cast<const CLI::ExtrasError*>(&e)) {
      if (!is_option && std::any_of(left.begin(), left.end(), [](const std::string& w) { return w[0] == '-'; }))
        continue;
      d.message = format("{} '{}'", is_option ? "there is no option" : "unexpected argument", shortened(one));
      std::optional<std::string> near =
          one.size() > 3 ? nearest(one.substr(0, one.find('=')), option_names(verb)) : std::nullopt;
      if (near && is_option) d.help = format("did you mean {}? {}", *near, d.help);
    }
  }
  return d;
}

// Models of some formats are read by Python (python_formats.def): the same command line goes on there, in place of this
// process.
static Status import_in_python(int argc, const char* const* argv, const CLI::App& app) {
  if (driver::has_python_importer()) return ok();
  for (const CLI::App* verb : app.get_subcommands()) {
    const CLI::Option* model = verb->get_option_no_throw("MODEL");
    if (!model || model->empty()) continue;
    const std::string path = model->as<std::string>();
    const Result<driver::ModelForm> form = input::is_pipe(path) ? driver::ModelForm::Relay : driver::form_of(path);
    const char* package = form ? driver::python_package(*form) : nullptr;
    if (!package) continue;
    Diagnostic problem = continue_in_python(argc, argv, 1, {"relay", package}, format("{} is a {}", path, name(*form)));
    if (problem.kind == DiagnosticKind::bad_option) problem.help += ", or export the model to ONNX";
    return problem;
  }
  return ok();
}

// Runs on PJRT plugins (driver/pjrt_run.h) go on in Python as well.
static Status run_in_python(int argc, const char* const* argv, const CLI::App& app) {
  if (driver::pjrt_runner()) return ok();
  for (const CLI::App* verb : app.get_subcommands()) {
    if (verb->get_name() != "run") continue;
    const CLI::Option* target = verb->get_option_no_throw("--target");
    if (target && !target->empty() && driver::pjrt_plugin(target->as<std::string>()))
      return continue_in_python(argc, argv, 1, {"relay"}, "programs for PJRT plugins are written by Python");
  }
  return ok();
}

// Verbs that are written in Python read their own options.
static Status verb_in_python(int argc, const char* const* argv) {
  const int at = verb_position(argc, argv);
  for (const PythonVerb& verb : python_verbs())
    if (at < argc && std::string_view(argv[at]) == verb.name)
      return continue_in_python(argc, argv, at, {"relay"}, format("`relay {}` is written in Python", verb.name));
  return ok();
}

static int parse_and_run(int argc, const char* const* argv, const PlantFault& plant_fault) {
  CLI::App app(about, "relay");
  app.footer(first_steps);
  app.set_version_flag("--version", std::string("relay ") + version, "Print the version");
  bool quiet = false;
  app.add_flag("-q,--quiet", quiet, "Print only errors on stderr");
  app.require_subcommand(1);
  app.fallthrough();
  SelectedVerb selected;
  selected.program = argc > 0 ? argv[0] : "relay";
  selected.plant_fault = plant_fault;
#define RELAY_VERB(name) add_##name(app, selected);
#include "relay/driver/cli/verbs.def"
#undef RELAY_VERB
  add_python_verbs(app);
  if (argc < 2) {
    std::cerr << app.help();
    return 2;
  }
  if (Status known = check_verb(argc, argv, app); !known) {
    show(known.errors());
    return 2;
  }
  if (Status here = verb_in_python(argc, argv); !here) {
    show(here.errors());
    return 1;
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& e) {
    if (e.get_exit_code() == 0) return app.exit(e, std::cout, std::cerr);  // --help, --version
    show(parse_error(e, app, argv[1]));
    return 2;
  }
  set_quiet(quiet);
  for (const auto& goes_on : {import_in_python, run_in_python})
    if (Status here = goes_on(argc, argv, app); !here) {
      show(here.errors());
      return 1;
    }
  Status status = selected.run();
  std::cout.flush();
  if (!status) {
    show(status.errors());
    return selected.failure;
  }
  if (!std::cout) {
    show(Diagnostic{DiagnosticKind::file_not_found,
                    "stdout cannot be written",
                    {},
                    {},
                    {},
                    "check whether the disk is full or the reading program has ended"});
    return 1;
  }
  return 0;
}

int run_command_line(int argc, const char* const* argv, const PlantFault& plant_fault) {
  set_quiet(false);
  remove_drafts_on_signals();
  try {
    return parse_and_run(argc, argv, plant_fault);
  } catch (const CompileError& e) {
    show(e.diagnostics);
    return 1;
  } catch (const InternalError& e) {
    std::cerr << e.what() << "\n";
    return 70;
  } catch (const std::bad_alloc&) {
    show(Diagnostic{DiagnosticKind::out_of_memory,
                    "there is not enough memory",
                    {},
                    {},
                    {},
                    "use a machine with more memory, or smaller shapes (--shape)"});
    return 1;
  } catch (const std::exception& e) {
    std::cerr << "internal error: " << e.what() << ". This is a bug in Relay, not in your program.\n";
    return 70;
  }
}

}  // namespace relay::cli
