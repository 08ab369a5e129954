#include "relay/driver/cli/model_options.h"

#include "relay/driver/targets.h"
#include "relay/driver/tuning.h"
#include "relay/input/files.h"
#include "relay/measure/calibration.h"

namespace relay::cli {

void add_model(CLI::App& verb, ModelOptions& options, const char* what) {
  verb.add_option("MODEL", options.model, what)->required();
  add_import_flags(verb, options.flags);
}

Status refuse_for_artifact(const std::string& model, const std::vector<std::string>& given,
                           std::optional<driver::ModelForm> form) {
  if (given.empty() || (!form && input::is_pipe(model))) return ok();
  if (!form) {
    RELAY_ASSIGN(form, driver::form_of(model));
  }
  if (form != driver::ModelForm::Artifact) return ok();
  return Diagnostic{DiagnosticKind::bad_option,
                    format("{} is compiled already: {} would have no effect", model, join(given, ", ")),
                    {},
                    {},
                    {},
                    "give the option where the model is compiled: relay compile MODEL -o FILE.rart"};
}

Result<driver::Model> load(const ModelOptions& options) {
  RELAY_ASSIGN(const driver::Options how, read_import_options(options.flags));
  RELAY_ASSIGN(driver::Model model, driver::load_model(options.model, how));
  show(model.warnings);
  return model;
}

// Reports why native has its described figures although there is a calibration. Artifacts are not compiled, so they
// have none.
static void print_ignored_calibration(const ModelOptions& options, const TargetDesc& target) {
  const std::vector<std::string>& given = options.flags.texts.at("target");
  if (!given.empty() && !driver::is_native(given[0])) return;
  const std::string reason = measure::saved_calibration(target).ignored;
  if (reason.empty()) return;
  if (const auto form = driver::form_of(options.model); form && *form == driver::ModelForm::Artifact) return;
  print_message(format("the calibration {} is not used: it {}; `relay doctor --calibrate` writes a new one",
                       *measure::calibration_file(), reason));
}

Result<driver::Options> compile_options(const ModelOptions& options, const std::vector<std::string>& output_names) {
  RELAY_ASSIGN(driver::Options out, read_options(options.flags));
  out.run.output_names = output_names;
  RELAY_RETURN_IF_ERROR(driver::load_tuning_records(out));
  print_ignored_calibration(options, out.lower.target);
  return out;
}

std::string summary(const driver::CompileReport& report) {
  const auto [groups, kernels, calls] = driver::counts_of(report);
  std::string where =
      format("on {}{}, {}", driver::short_description(report.target),
             measure::is_calibrated(report.target) ? ", calibrated" : "", plural(report.threads, "thread", "threads"));
  if (!report.refusals.empty())
    where += format(", {} slower than possible (see above)", plural(report.refusals.size(), "group", "groups"));
  if (report.functions == 0)
    return format("{}, {} ({}) {}", plural(groups, "group", "groups"), plural(kernels, "kernel", "kernels"),
                  plural(calls, "call a run", "calls a run"), where);
  return format("{}, {}, {}, {} {}", plural(report.functions, "function", "functions"),
                plural(report.segments, "segment", "segments"), plural(groups, "group", "groups"),
                plural(kernels, "kernel", "kernels"), where);
}

const char* in_words(runtime::Executor executor) {
  switch (executor) {
    case runtime::Executor::Graph: return "graph executor";
    case runtime::Executor::Vm: return "virtual machine";
    case runtime::Executor::Aot: return "aot executor";
  }
  return "";
}

void print_notes(const driver::CompileReport& report) {
  for (const std::string& note : report.notes) print_message(note);
  for (const std::string& refusal : report.refusals) print_message(refusal);
  if (report.constant_steps > 0)
    print_message(format("{} on weights only: run once, when the program was built",
                         plural(report.constant_steps, "kernel call", "kernel calls")));
}

}  // namespace relay::cli
