// relay compile: compiles a model to a file that runs without the compiler.
#include <sys/stat.h>

#include <filesystem>
#include <iostream>

#include "relay/base/bytes.h"
#include "relay/cache/cache.h"
#include "relay/driver/c_project.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/driver/js_package.h"
#include "relay/driver/tuning.h"
#include "relay/input/files.h"
#include "relay/measure/measure.h"

namespace relay::cli {

namespace {
struct CompileVerbOptions : ModelOptions {
  std::string output, emit;  // emit: empty if the name of the output decides
  std::string candidates;    // a file to write; empty for none
  bool aot = false, json = false;
  // of a C project or a JavaScript package:
  c_project::Options project;
  std::vector<std::string> inputs;
  std::string memory_limit;
  std::vector<std::string> for_project;  // those of its flags that were given
};
}  // namespace

static std::string size_of(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return "";
  return ", " + bytes_text(about.st_size);
}

static Status wrong_option(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

static Status check_name(const CompileVerbOptions& options, driver::FileForm form) {
  const std::string& name = options.project.name;
  if (form == driver::FileForm::JsPackage && !js_package::is_package_name(name))
    return wrong_option(format("'{}' cannot be the name of a package", name),
                        "give a name of lower-case letters, digits, hyphens and underscores");
  if (form == driver::FileForm::CProject && !c_project::is_c_name(name))
    return wrong_option(format("'{}' cannot begin names in C", name),
                        "give a name of letters, digits and underscores that is not a keyword");
  return ok();
}

static Status read_project_options(CompileVerbOptions& options, driver::FileForm form) {
  if (!options.memory_limit.empty()) {
    RELAY_ASSIGN(options.project.memory_limit, cache::parse_bytes(options.memory_limit));
  }
  RELAY_RETURN_IF_ERROR(check_name(options, form));
  const bool is_package = form == driver::FileForm::JsPackage;
  if (is_package && options.project.library_math)
    return wrong_option("--library-math applies to C projects, but --emit is wasm", "leave it out");
  // Kernels for any processor or engine, unless one is named.
  if (options.flags.texts["target"].empty())
    options.flags.texts["target"] = {is_package ? driver::js_package_target : driver::c_project_target};
  options.project.model = std::filesystem::path(options.model).filename().string();
  return ok();
}

// Writes the folder, and says so.
static Status save_folder(const CompileVerbOptions& options, const driver::Compiled& compiled,
                          const std::map<std::string, std::string>& files, const c_project::Sizes& sizes) {
  RELAY_RETURN_IF_ERROR(driver::save(files, options.output));
  if (options.json) std::cout << driver::json(compiled.report) << "\n";
  print_message(format("{}: {}; {} bytes of constants, {} of workspace{}", options.output, summary(compiled.report),
                       sizes.constants, sizes.workspace, sizes.state ? format(", {} of state", sizes.state) : ""));
  return ok();
}

static Status write_project(const CompileVerbOptions& options, const driver::Model& model,
                            const driver::Compiled& compiled) {
  RELAY_RETURN_IF_ERROR(driver::check_c_project(compiled));
  RELAY_ASSIGN(std::vector<Tensor> inputs, driver::recorded_inputs(model.module, options.inputs));
  RELAY_ASSIGN(const driver::CProject written, driver::c_project(compiled, std::move(inputs), options.project));
  return save_folder(options, compiled, written.project.files, written.project.sizes);
}

static Status write_package(const CompileVerbOptions& options, const driver::Model& model,
                            const driver::Compiled& compiled) {
  RELAY_RETURN_IF_ERROR(driver::check_js_package(compiled));
  RELAY_ASSIGN(std::vector<Tensor> inputs, driver::recorded_inputs(model.module, options.inputs));
  const c_project::Options& given = options.project;
  RELAY_ASSIGN(const driver::JsPackage written, driver::js_package(compiled, std::move(inputs),
                                                                   {.name = given.name,
                                                                    .model = given.model,
                                                                    .weights_file = given.weights_file,
                                                                    .memory_limit = given.memory_limit}));
  return save_folder(options, compiled, written.package.files, written.package.sizes);
}

static Status compile_to_file(CompileVerbOptions options) {
  const driver::FileForm form =
      options.emit.empty() ? driver::form_for(options.output) : *driver::file_form(options.emit);
  options.emit = driver::name(form);
  const bool is_project = form == driver::FileForm::CProject || form == driver::FileForm::JsPackage;
  RELAY_RETURN_IF_ERROR(is_project ? read_project_options(options, form) : check_output_file(options.output));
  if (!is_project && !options.for_project.empty())
    return wrong_option(format("{} applies to C projects and JavaScript packages, but --emit is {}",
                               join(options.for_project, ", "), options.emit),
                        "add --emit c-project or --emit wasm, or leave it out");
  std::optional<Progress> progress(std::in_place, format("compiling {}", options.model));
  RELAY_ASSIGN(driver::Model model, load(options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option, format("{} is compiled already", options.model), {}, {}, {},
                      "give the original model"};
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
  compilation.run.make_executable = false;
  RELAY_RETURN_IF_ERROR(input::check_output(options.output, model.files));
  if (options.aot && options.emit != "artifact")
    return Diagnostic{DiagnosticKind::bad_option,
                      format("--emit {} writes the kernels only, but --aot applies to functions", options.emit),
                      {},
                      {},
                      {},
                      "leave out one of them"};
  if (options.aot) compilation.run.executor = runtime::Executor::Aot;
  RELAY_ASSIGN(driver::Compiled compiled, driver::compile(model.module, compilation));
  progress.reset();
  print_notes(compiled.report);
  if (!options.candidates.empty()) RELAY_RETURN_IF_ERROR(write_file(options.candidates, driver::tuning_json(compiled)));
  if (form == driver::FileForm::CProject) return write_project(options, model, compiled);
  if (form == driver::FileForm::JsPackage) return write_package(options, model, compiled);
  double begin = measure::now();
  progress.emplace(format("compiling {}", options.model));  // the machine code
  RELAY_RETURN_IF_ERROR(driver::save(compiled, form, options.output));
  progress.reset();
  compiled.report.codegen_ms = (measure::now() - begin) * 1e3;
  if (options.json) std::cout << driver::json(compiled.report) << "\n";
  if (form != driver::FileForm::Artifact)
    print_message("the file contains the kernels only, not the program that calls them; --emit artifact writes both");
  print_message(format("{}: {}, for the {}{}: read {}, compile {}", options.output, summary(compiled.report),
                       in_words(compiled.report.executor), size_of(options.output), milliseconds(model.ms),
                       milliseconds(compiled.report.total_ms())));
  return ok();
}

static void add_project_flags(CLI::App& verb, CompileVerbOptions& options) {
  c_project::Options& project = options.project;
  verb.add_option("--name", project.name,
                  "C project: beginning of the names of files, functions and constants; wasm: name of the package")
      ->type_name("NAME")
      ->capture_default_str();
  verb.add_flag("--weights-file", project.weights_file,
                "C project, wasm: constants in a file of their own, instead of in the code");
  verb.add_flag(
      "--library-math", project.library_math,
      "C project: exp, tanh and similar functions of the C library, instead of polynomials with the same bits "
      "on every processor");
  verb.add_option(
          "--memory-limit", options.memory_limit,
          "C project, wasm: fail if its workspace would need more than this: 128K, 2M. Steps are ordered to need less")
      ->type_name("SIZE");
  verb.add_option("--input", options.inputs,
                  "C project, wasm: input of its self-test, as of relay run: NAME=FILE.npy, NAME=0.5; others are "
                  "random (repeat "
                  "for more)")
      ->type_name("NAME=VALUE");
}

void add_compile(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(
      app, "compile", "Compile a model to a file",
      "  relay compile model.onnx -o model.rart              for this machine; run it with `relay run model.rart`\n"
      "  relay compile model.onnx -o model.rart --target haswell\n"
      "  relay compile tree.relay -o tree.rart --aot         functions as machine code: runs without the virtual "
      "machine\n"
      "  relay compile model.onnx -o kernels.o               the kernels only\n"
      "  relay compile model.onnx --emit c-project -o model  the whole network as C99: a folder with its build file\n"
      "  relay compile model.onnx --emit wasm -o model       a package for browsers and Node");
  std::shared_ptr<CompileVerbOptions> options = std::make_shared<CompileVerbOptions>();
  add_model(*verb, *options);
  add_compile_flags(*verb, options->flags);
  verb->add_option("-o,--output", options->output, "File to write; a folder for c-project and wasm")
      ->required()
      ->type_name("FILE");
  verb->add_option(
          "--emit", options->emit,
          "Kind of the output. artifact: program, kernels and weights; so, obj, a, c: the kernels only, a as "
          "a static library, c as C99; c-project: the whole network as C99 (docs/c-projects.md); wasm: a package for "
          "browsers and Node "
          "(docs/webassembly.md). Default: by the file name, so for .so, obj for .o, a for .a, c for .c, otherwise "
          "artifact")
      ->check(CLI::IsMember({"artifact", "so", "obj", "a", "c", "c-project", "wasm"}));
  add_project_flags(*verb, *options);
  verb->add_flag("--aot", options->aot,
                 "Compile the functions of a program to machine code, instead of code for the virtual machine (models "
                 "without control flow have no functions)");
  verb->add_option("--candidates", options->candidates,
                   "Write the schedules that rules considered for each group, with estimates, as JSON (relay tune)")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the report as JSON");
  verb->callback([verb, options, &selected] {
    for (const char* flag : {"--name", "--weights-file", "--library-math", "--memory-limit", "--input"})
      if (verb->get_option(flag)->count() > 0) options->for_project.push_back(flag);
    selected.run = [options] { return compile_to_file(*options); };
  });
}

}  // namespace relay::cli
