// relay compile: compiles a model to a file that runs without the compiler.
#include <sys/stat.h>

#include <iostream>

#include "relay/base/bytes.h"
#include "relay/driver/cli/model_options.h"
#include "relay/driver/cli/outputs.h"
#include "relay/input/files.h"
#include "relay/measure/measure.h"

namespace relay::cli {

namespace {
struct CompileVerbOptions : ModelOptions {
  std::string output, emit;  // emit: empty if the name of the output decides
  bool aot = false, json = false;
};
}  // namespace

static std::string size_of(const std::string& path) {
  struct stat about{};
  if (stat(path.c_str(), &about) != 0) return "";
  return ", " + bytes_text(about.st_size);
}

static Status compile_to_file(CompileVerbOptions options) {
  RELAY_RETURN_IF_ERROR(check_output_file(options.output));
  const driver::FileForm form =
      options.emit.empty() ? driver::form_for(options.output) : *driver::file_form(options.emit);
  options.emit = driver::name(form);
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

void add_compile(CLI::App& app, SelectedVerb& selected) {
  CLI::App* verb = add_verb(
      app, "compile", "Compile a model to a file",
      "  relay compile model.onnx -o model.rart              for this machine; run it with `relay run model.rart`\n"
      "  relay compile model.onnx -o model.rart --target haswell\n"
      "  relay compile tree.relay -o tree.rart --aot         functions as machine code: runs without the virtual "
      "machine\n"
      "  relay compile model.onnx -o kernels.o               the kernels only");
  std::shared_ptr<CompileVerbOptions> options = std::make_shared<CompileVerbOptions>();
  add_model(*verb, *options);
  add_compile_flags(*verb, options->flags);
  verb->add_option("-o,--output", options->output, "File to write")->required()->type_name("FILE");
  verb->add_option("--emit", options->emit,
                   "Kind of the output. artifact: program, kernels and weights; so, obj, c: the kernels only, c as "
                   "C99. Default: by the file name, so for .so, obj for .o, c for .c, otherwise artifact")
      ->check(CLI::IsMember({"artifact", "so", "obj", "c"}));
  verb->add_flag("--aot", options->aot,
                 "Compile the functions of a program to machine code, instead of code for the virtual machine (models "
                 "without control flow have no functions)");
  verb->add_flag("--json", options->json, "Print the report as JSON");
  verb->callback([options, &selected] { selected.run = [options] { return compile_to_file(*options); }; });
}

}  // namespace relay::cli
