#include "relay/frontend/onnx/import.h"

#include <algorithm>

#include "relay/frontend/onnx/importer.h"

namespace relay::onnx {

Result<ImportedModel> load(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(Model model, read_model(path, options.content));
  Importer importer(model, options);
  std::optional<ImportedModel> imported = importer.run();
  if (!imported) return importer.problems();
  imported->external_files = model.external_files.paths();
  return *std::move(imported);
}

Result<CheckReport> check(const std::string& path, const ImportOptions& options) {
  RELAY_ASSIGN(Model model, read_model(path));
  CheckReport report;
  std::map<std::string, OperatorUse> uses;
  std::vector<const Graph*> work{&model.graph};
  while (!work.empty()) {
    const Graph* graph = work.back();
    work.pop_back();
    for (const Node& n : graph->nodes) {
      std::string name = n.domain.empty() ? std::string(n.op) : format("{}.{}", n.domain, n.op);
      OperatorUse& use = uses[name];
      if (use.count++ == 0) {
        auto opset = model.opsets.find(n.domain);
        use.op = name, use.opset = opset == model.opsets.end() ? 0 : opset->second;
        use.has_converter = find_operator(n.domain, n.op) != nullptr;
      }
      for (const Attribute& a : n.attributes)
        if (const std::unique_ptr<Graph>* sub = std::get_if<std::unique_ptr<Graph>>(&a.value))
          work.push_back(sub->get());
    }
  }
  for (auto& [name, use] : uses) report.operators.push_back(use);
  std::sort(report.operators.begin(), report.operators.end(), [](const OperatorUse& a, const OperatorUse& b) {
    if (a.has_converter != b.has_converter) return b.has_converter;
    return a.count != b.count ? a.count > b.count : a.op < b.op;
  });
  Importer importer(model, options);
  importer.run();
  report.problems = importer.problems();
  return report;
}

}  // namespace relay::onnx
