#include "relay/frontend/onnx/import.h"

#include "relay/frontend/onnx/importer.h"

namespace relay::onnx {

using frontend::OperatorUse;

bool is_model(std::string_view head) {
  return !head.empty() && std::string_view("\x08\x12\x3a\x42").find(head[0]) != std::string_view::npos;
}

static Result<Model> read(const std::string& path, const ImportOptions& options) {
  if (options.opset && (*options.opset < 1 || *options.opset > newest_possible))
    return Diagnostic{DiagnosticKind::bad_option,
                      format("opset {} was requested, but only 1 to {} are supported", *options.opset, newest_opset),
                      {},
                      {},
                      {},
                      "give one of these, or leave it out to use that of the model"};
  RELAY_ASSIGN(Model model, read_model(path, options.content));
  model.largest_read = options.largest_read;
  if (options.opset) model.opsets[""] = *options.opset;
  return model;
}

// The first problem of an operator's nodes is the reason in the table.
static void blame(std::vector<OperatorUse>& uses, const Diagnostic& d) {
  if (!d.span.node) return;
  const std::string_view op = std::string_view(*d.span.node).substr(0, d.span.node->find(' '));
  for (OperatorUse& use : uses) {
    if (use.op != op || !use.reason.empty()) continue;
    const size_t dot = op.rfind('.');
    const NotImported* known =
        dot == op.npos ? not_imported("", op) : not_imported(op.substr(0, dot), op.substr(dot + 1));
    use.reason = use.has_converter ? d.message : known ? known->reason : "Relay has no converter for it";
    if (const std::string label = *d.span.node + ": "; use.reason.starts_with(label)) use.reason.erase(0, label.size());
    use.remedy = d.help;
  }
}

// A squeeze without axes depends on a named size being 1. Assumes that it is not, unless the outputs have the declared
// ranks only if it is.
static std::optional<ImportedModel> run(Importer& importer, const Model& model, ImportOptions options) {
  std::optional<ImportedModel> imported = importer.run();
  if (!imported || !importer.ranks_differ()) return imported;
  options.squeeze_names = true;
  Importer retry(model, options);
  std::optional<ImportedModel> other = retry.run();
  return other && !retry.ranks_differ() ? std::move(other) : std::move(imported);
}

Result<ImportedModel> load(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(Model model, read(path, options));
  Importer importer(model, options);
  std::optional<ImportedModel> imported = run(importer, model, options);
  if (!imported) return importer.problems();
  imported->external_files = model.external_files.paths();
  return *std::move(imported);
}

Result<CheckReport> check(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(Model model, read(path, options));
  CheckReport report;
  ImportOptions all = options;
  all.past_failures = true;
  Importer importer(model, all);
  report.operators = importer.operator_uses().sorted();
  report.model = run(importer, model, all);
  report.problems = importer.problems();
  for (const Diagnostic& d : report.problems) blame(report.operators, d);
  return report;
}

}  // namespace relay::onnx
