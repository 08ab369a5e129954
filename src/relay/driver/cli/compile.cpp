// relay compile: compiles a model to a file that runs without the compiler.
#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <set>

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
  std::string memory_limit, arena, kernels = "c";
  std::vector<std::string> most;  // arguments of --max
  std::string memories;
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

// "n=128"
static Status read_bound(const std::string& text, std::map<std::string, int64_t>& most) {
  const size_t equals = text.find('=');
  const std::string name = text.substr(0, equals), number = equals == std::string::npos ? "" : text.substr(equals + 1);
  const bool is_number =
      !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
  if (name.empty() || !is_number)
    return wrong_option(format("'{}' is not NAME=NUMBER", text), "name a size of the inputs: --max n=128");
  most[name] = std::stoll(number);
  return ok();
}

// "sram=128K,psram=2M,flash=1M". Names that begin with flash or rom are of memories that are only read.
static Status read_memories(const std::string& text, c_project::Options& project) {
  bool has_workspace = false;
  std::set<std::string> seen;
  for (std::string_view item : split(text, ',')) {
    const size_t equals = item.find('=');
    const std::string name(item.substr(0, equals));
    static const std::set<std::string> taken{"workspace", "state", "weights", "memory"};
    if (equals == std::string_view::npos || !c_project::is_c_name(name) || taken.count(name) ||
        !seen.insert(name).second)
      return wrong_option(format("'{}' is not NAME=SIZE with a new name that C allows", item),
                          "list memories, fastest first: sram=128K,flash=1M");
    RELAY_ASSIGN(const int64_t bytes, cache::parse_bytes(std::string(item.substr(equals + 1))));
    if (starts_with(name, "flash") || starts_with(name, "rom"))
      project.read_only = c_project::MemoryLimit{name, bytes};
    else if (!has_workspace)
      project.memory_limit = bytes, has_workspace = true;
    else
      project.more_memories.push_back({name, bytes});
  }
  return ok();
}

static Status check_name(const CompileVerbOptions& options, driver::FileForm form) {
  const std::string& name = options.project.name;
  if (driver::is_package(form) && !js_package::is_package_name(name))
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
  if (!options.arena.empty()) {
    RELAY_ASSIGN(options.project.arena_bytes, cache::parse_bytes(options.arena));
  }
  if (!options.memories.empty()) RELAY_RETURN_IF_ERROR(read_memories(options.memories, options.project));
  for (const std::string& text : options.most) RELAY_RETURN_IF_ERROR(read_bound(text, options.project.most));
  RELAY_RETURN_IF_ERROR(check_name(options, form));
  options.project.machine_code = options.kernels == "object";
  const bool is_package = driver::is_package(form);
  static const std::set<std::string_view> only_c{"--library-math", "--kernels", "--memory", "--max", "--arena"};
  for (const std::string& flag : options.for_project)
    if (is_package && only_c.contains(flag))
      return wrong_option(format("{} applies to C projects, but --emit is {}", flag, driver::name(form)),
                          "leave it out");
  // Kernels for any processor or engine, unless one is named.
  const char* const usual = form == driver::FileForm::CProject     ? driver::c_project_target
                            : form == driver::FileForm::GpuPackage ? driver::gpu_package_target
                                                                   : driver::js_package_target;
  if (options.flags.texts["target"].empty()) options.flags.texts["target"] = {usual};
  options.project.model = std::filesystem::path(options.model).filename().string();
  return ok();
}

// Writes the folder, and says so.
static Status save_folder(const CompileVerbOptions& options, const driver::Compiled& compiled,
                          const std::map<std::string, std::string>& files, const c_project::Sizes& sizes) {
  RELAY_RETURN_IF_ERROR(driver::save(files, options.output));
  if (options.json) std::cout << driver::json(compiled.report, *compiled.built.program) << "\n";
  std::string more;
  for (const c_project::MemoryLimit& m : sizes.more) more += format(", {} of {}", m.bytes, m.name);
  if (sizes.state > 0) more += format(", {} of state", sizes.state);
  print_message(format("{}: {}; {} bytes of constants, {} of workspace{}", options.output, summary(compiled.report),
                       sizes.constants, sizes.workspace, more));
  return ok();
}

static Status write_project(const CompileVerbOptions& options, const driver::Model& model,
                            const driver::Compiled& compiled) {
  RELAY_RETURN_IF_ERROR(driver::check_c_project(compiled, options.project));
  RELAY_ASSIGN(std::vector<runtime::Value> inputs,
               driver::recorded_inputs(model.module, options.inputs, options.project.most));
  RELAY_ASSIGN(const driver::CProject written, driver::c_project(compiled, std::move(inputs), options.project));
  return save_folder(options, compiled, written.project.files, written.project.sizes);
}

static Status write_package(const CompileVerbOptions& options, driver::FileForm form, const driver::Model& model,
                            const driver::Compiled& compiled) {
  RELAY_RETURN_IF_ERROR(driver::check_js_package(compiled));
  const std::string& target = compiled.report.target.name;
  if ((target == driver::gpu_package_target) != (form == driver::FileForm::GpuPackage))
    return wrong_option(format("--emit {} is not for the target {}", driver::name(form), target), "leave out --target");
  RELAY_ASSIGN(const std::vector<runtime::Value> inputs, driver::recorded_inputs(model.module, options.inputs, {}));
  const c_project::Options& project = options.project;
  RELAY_ASSIGN(const driver::JsPackage written, driver::js_package(compiled, inputs,
                                                                   {.name = project.name,
                                                                    .model = project.model,
                                                                    .weights_file = project.weights_file,
                                                                    .memory_limit = project.memory_limit}));
  return save_folder(options, compiled, written.package.files, written.package.sizes);
}

// Compiles and writes a C project or a package. If the workspace exceeds its limit, the model is compiled as for a
// machine with so small a cache that less of an array between layers stays there. Layers then slide over its rows.
static Status compile_folder(const CompileVerbOptions& options, driver::FileForm form, const driver::Model& model,
                             driver::Options compilation, std::optional<Progress>& progress) {
  const auto written = [&]() -> Status {
    RELAY_ASSIGN(const driver::Compiled compiled, driver::compile(model.module, compilation));
    progress.reset();
    if (!options.candidates.empty())
      RELAY_RETURN_IF_ERROR(write_file(options.candidates, driver::tuning_json(compiled)));
    RELAY_RETURN_IF_ERROR(form == driver::FileForm::CProject ? write_project(options, model, compiled)
                                                             : write_package(options, form, model, compiled));
    print_notes(compiled.report);
    if (const std::string note = driver::note_on_floats(compiled); !note.empty()) print_message(note);
    return ok();
  };
  const int64_t limit = options.project.memory_limit;
  Status status = written();
  for (const double share : driver::cache_shares) {
    if (status || limit == 0 || status.errors()[0].kind != DiagnosticKind::out_of_memory) break;
    compilation.lower.target.l2_bytes = static_cast<int64_t>(static_cast<double>(limit) * share);
    status = written();
  }
  return status;
}

static Status compile_to_file(CompileVerbOptions options) {
  const driver::FileForm form =
      options.emit.empty() ? driver::form_for(options.output) : *driver::file_form(options.emit);
  options.emit = driver::name(form);
  const bool is_project = driver::is_folder(form);
  RELAY_RETURN_IF_ERROR(is_project ? read_project_options(options, form) : check_output_file(options.output));
  if (!is_project && !options.for_project.empty())
    return wrong_option(format("{} applies to C projects and JavaScript packages, but --emit is {}",
                               join(options.for_project, ", "), options.emit),
                        "add --emit c-project, wasm or webgpu, or leave it out");
  std::optional<Progress> progress(std::in_place, format("compiling {}", options.model));
  RELAY_ASSIGN(driver::Model model, load(options));
  if (model.form == driver::ModelForm::Artifact)
    return Diagnostic{DiagnosticKind::bad_option, format("{} is compiled already", options.model), {}, {}, {},
                      "give the original model"};
  RELAY_ASSIGN(driver::Options compilation, compile_options(options, model.output_names));
  if (is_project)
    driver::prepare_for_c(compilation);
  else
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
  if (is_project) return compile_folder(options, form, model, std::move(compilation), progress);
  RELAY_ASSIGN(driver::Compiled compiled, driver::compile(model.module, compilation));
  progress.reset();
  print_notes(compiled.report);
  if (!options.candidates.empty()) RELAY_RETURN_IF_ERROR(write_file(options.candidates, driver::tuning_json(compiled)));
  double begin = measure::now();
  progress.emplace(format("compiling {}", options.model));  // the machine code
  RELAY_RETURN_IF_ERROR(driver::save(compiled, form, options.output));
  progress.reset();
  compiled.report.codegen_ms = (measure::now() - begin) * 1e3;
  if (options.json) std::cout << driver::json(compiled.report, *compiled.built.program) << "\n";
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
  verb.add_option("--kernels", options.kernels,
                  "C project: form of the kernels. c: C99, for any processor; object: machine code for --target, in "
                  "NAME_kernels.o, which the rest of the project calls")
      ->check(CLI::IsMember({"c", "object"}))
      ->capture_default_str();
  verb.add_option(
          "--memory-limit", options.memory_limit,
          "C project, wasm: fail if its workspace would need more than this: 128K, 2M. Steps are ordered to need less")
      ->type_name("SIZE");
  verb.add_option(
          "--memory", options.memories,
          "C project: memories and their sizes, fastest first: sram=128K,psram=2M,flash=1M. The first is the "
          "workspace; arrays that do not fit are in the next. Names that begin with flash or rom hold constants")
      ->type_name("NAME=SIZE,..")
      ->excludes("--memory-limit");
  verb.add_option("--max", options.most,
                  "C project: upper bound of a size that is known only at run time, checked at each run: n=128 (repeat "
                  "for more)")
      ->type_name("NAME=N");
  verb.add_option(
          "--arena", options.arena,
          "C project of a program with functions: memory for values and frames: 64K. A run that needs more ends "
          "with a status code. Default: the need of the recorded run")
      ->type_name("SIZE");
  verb.add_option("--input", options.inputs,
                  "C project, wasm: input of its self-test, as of relay run: NAME=FILE.npy, NAME=0.5; others are "
                  "random (repeat for more)")
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
      "  relay compile model.onnx --emit wasm -o model       a package for browsers and Node\n"
      "  relay compile model.onnx --emit webgpu -o model     a package for browsers that runs on the GPU");
  std::shared_ptr<CompileVerbOptions> options = std::make_shared<CompileVerbOptions>();
  add_model(*verb, *options);
  add_compile_flags(*verb, options->flags);
  verb->add_option("-o,--output", options->output, "File to write; a folder for c-project, wasm and webgpu")
      ->required()
      ->type_name("FILE");
  verb->add_option(
          "--emit", options->emit,
          "Kind of the output. artifact: program, kernels and weights; so, obj, a, c, ptx: the kernels only, a as a "
          "static library, c as C99, ptx for GPUs of NVIDIA; c-project: the whole network as C99 (docs/c-projects.md); "
          "wasm: a package for browsers and Node (docs/webassembly.md); webgpu: one whose kernels run on GPUs "
          "(docs/webgpu.md). Default: by the file name, so for .so, obj for "
          ".o, a for .a, c for .c, ptx for .ptx, otherwise artifact")
      ->check(CLI::IsMember({"artifact", "so", "obj", "a", "c", "ptx", "c-project", "wasm", "webgpu"}));
  add_project_flags(*verb, *options);
  verb->add_flag("--aot", options->aot,
                 "Compile the functions of a program to machine code, instead of code for the virtual machine (models "
                 "without control flow have no functions)");
  verb->add_option("--candidates", options->candidates,
                   "Write the schedules that rules considered for each group, with estimates, as JSON (relay tune)")
      ->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the report as JSON");
  verb->callback([verb, options, &selected] {
    for (const char* flag : {"--name", "--weights-file", "--library-math", "--kernels", "--memory-limit", "--memory",
                             "--max", "--arena", "--input"})
      if (verb->get_option(flag)->count() > 0) options->for_project.push_back(flag);
    selected.run = [options] { return compile_to_file(*options); };
  });
}

}  // namespace relay::cli
