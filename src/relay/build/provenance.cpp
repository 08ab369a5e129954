#include "relay/build/provenance.h"

#include <algorithm>
#include <set>

#include "relay/ir/import_notes.h"
#include "relay/ir/rewrite.h"

namespace relay::build {

// Calls f with the place of every call of an operator.
static void for_each_place(const ir::Module& module, function_ref<void(const Span&)> f) {
  for (const auto& [name, function] : module.functions)
    ir::visit(function, [&](const ir::Expr& e) {
      const ir::Call* call = ir::as<ir::Call>(e);
      if (call && call->callee->kind == ir::ExprKind::Op && e->span) f(e->span);
    });
}

Provenance::Key Provenance::key(const Span& place) {
  if (place.node) return {place.node.get(), 0, 0};
  return {place.source.get(), place.begin, place.end};
}

Provenance::Provenance(const ir::Module& model) {
  for_each_place(model, [&](const Span& place) {
    if (index_.try_emplace(key(place), nodes_.size()).second) nodes_.push_back({place});
  });
  auto list = [&](const char* name) -> const std::vector<std::string>* {
    auto found = model.attrs.find(name);
    return found == model.attrs.end() ? nullptr : std::get_if<std::vector<std::string>>(&found->second);
  };
  const std::vector<std::string>*names = list(ir::imported_nodes), *fates = list(ir::imported_fates);
  for (size_t i = 0; names && fates && i < std::min(names->size(), fates->size()); ++i)
    left_out_.push_back({.node = (*names)[i], .removed_by = "import", .reason = (*fates)[i]});
}

void Provenance::see(const std::string& pass, const ir::Module& module) {
  ++passes_;
  for_each_place(module, [&](const Span& place) {
    auto found = index_.find(key(place));
    if (found == index_.end()) return;  // of a definition that the pass added
    nodes_[found->second].seen = passes_, nodes_[found->second].removed_by.clear();
  });
  for (Node& node : nodes_)
    if (node.seen != passes_ && node.removed_by.empty()) node.removed_by = pass;
}

// Calls f with each step that calls a kernel, the kernel's name and the places of the group.
static void for_each_step(std::span<const lower::LoweredFunction> segments,
                          function_ref<void(const lower::Step&, const std::string&, const std::vector<Span>&)> f) {
  for (const lower::LoweredFunction& segment : segments)
    for (const lower::Step& step : segment.steps)
      if (step.calls_kernel() && step.group >= 0)
        f(step, segment.kernels[static_cast<size_t>(step.kernel)].name,
          segment.groups[static_cast<size_t>(step.group)].sources);
}

std::string PlaceTexts::operator()(const Span& place) {
  if (place.node || !place.source || place.source->text.empty()) return place_text(place);
  std::vector<uint32_t>& lines = lines_[place.source.get()];
  if (lines.empty()) {
    lines.push_back(0);
    for (size_t i = 0; i < place.source->text.size(); ++i)
      if (place.source->text[i] == '\n') lines.push_back(static_cast<uint32_t>(i) + 1);
  }
  const int64_t line = std::upper_bound(lines.begin(), lines.end(), place.begin) - lines.begin();
  return format("{}:{}:{}", place.source->name, line, place.begin - lines[static_cast<size_t>(line) - 1] + 1);
}

std::vector<NodeReport> Provenance::report(std::span<const lower::LoweredFunction> segments) const {
  std::vector<NodeReport> out;
  PlaceTexts text;
  for (const Node& node : nodes_) out.push_back({text(node.place), {}, node.removed_by});
  for_each_step(segments, [&](const lower::Step& step, const std::string& kernel, const std::vector<Span>& places) {
    for (const Span& place : places) {
      auto found = index_.find(key(place));
      if (found == index_.end()) continue;
      std::vector<std::string>& kernels = out[found->second].kernels;
      if (step.constant)
        out[found->second].constant = true;
      else if (std::find(kernels.begin(), kernels.end(), kernel) == kernels.end())
        kernels.push_back(kernel);
    }
  });
  out.insert(out.end(), left_out_.begin(), left_out_.end());
  return out;
}

std::unordered_map<std::string, std::vector<std::string>> nodes_by_kernel(
    std::span<const lower::LoweredFunction> segments) {
  std::unordered_map<std::string, std::vector<std::string>> out;
  std::set<std::pair<std::string, std::string>> listed;
  PlaceTexts text;
  for_each_step(segments, [&](const lower::Step& step, const std::string& kernel, const std::vector<Span>& places) {
    for (const Span& place : places) {
      std::string name = text(place);
      if (listed.emplace(kernel, name).second) out[kernel].push_back(std::move(name));
    }
  });
  return out;
}

}  // namespace relay::build
