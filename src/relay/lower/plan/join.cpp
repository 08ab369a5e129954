#include "relay/lower/plan/join.h"

#include <algorithm>

#include "relay/scalar/simplify.h"

namespace relay::lower {

Uses::Uses(const FunctionPlan& plan) {
  auto reads = [&](int array, std::optional<size_t> group) {
    auto [it, first] = readers_.try_emplace(array, group);
    if (!first && it->second != group) it->second.reset();
  };
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    for (int p : plan.groups[g].params) reads(p, g);
    if (plan.groups[g].when >= 0) reads(plan.groups[g].when, std::nullopt);
    for (int o : plan.groups[g].outputs) writers_[o] = g;
  }
  for (size_t a = 0; a < plan.arrays.size(); ++a) {
    if (plan.arrays[a].kind != Array::Kind::Temporary) reads(static_cast<int>(a), std::nullopt);
    if (plan.arrays[a].alias >= 0) reads(plan.arrays[a].alias, std::nullopt);
  }
}

std::optional<size_t> Uses::writer(int array) const {
  auto it = writers_.find(array);
  return it == writers_.end() ? std::nullopt : std::optional(it->second);
}

std::optional<size_t> Uses::only_reader(int array) const {
  auto it = readers_.find(array);
  return it == readers_.end() ? std::nullopt : it->second;
}

Group fused(const Group& producer, const Group& consumer) {
  Group out = consumer;
  static constexpr std::string_view fused = "fused_";
  const bool is_fused = consumer.te.name.starts_with(fused);
  out.te.name = short_name(producer.te.name + "_" + consumer.te.name.substr(is_fused ? fused.size() : 0));
  out.te.params.clear(), out.params.clear();
  std::vector<std::pair<te::Tensor, te::Tensor>> now;
  for (size_t p = 0; p < consumer.params.size(); ++p) {
    if (consumer.params[p] == producer.outputs[0])
      now.push_back({consumer.te.params[p], producer.te.outputs[0]});
    else
      out.te.params.push_back(consumer.te.params[p]), out.params.push_back(consumer.params[p]);
  }
  out.te.outputs = te::replace(consumer.te.outputs, now);
  auto append = [](auto& to, const auto& from) { to.insert(to.end(), from.begin(), from.end()); };
  append(out.te.params, producer.te.params), append(out.params, producer.params);
  append(out.te.constants, producer.te.constants), append(out.constants, producer.constants);
  out.te.sources = producer.te.sources;
  add_sources(out.te.sources, consumer.te.sources);
  make_names_unique(out.te);
  return out;
}

Group part_of(const Group& g, std::string name, const te::Tensors& outputs) {
  Group out;
  out.te.name = std::move(name), out.te.outputs = outputs, out.te.sources = g.te.sources;
  const te::Tensors used = te::topological(out.te.outputs);
  auto is_used = [&](const te::Tensor& t) { return std::find(used.begin(), used.end(), t) != used.end(); };
  for (size_t p = 0; p < g.params.size(); ++p)
    if (is_used(g.te.params[p])) out.te.params.push_back(g.te.params[p]), out.params.push_back(g.params[p]);
  for (size_t c = 0; c < g.constants.size(); ++c)
    if (is_used(g.te.constants[c].first))
      out.te.constants.push_back(g.te.constants[c]), out.constants.push_back(g.constants[c]);
  return out;
}

int add_array(FunctionPlan& plan, Array::Kind kind, std::string name, const Exprs& shape, DType dtype) {
  Array a;
  a.kind = kind, a.name = std::move(name), a.dtype = dtype;
  for (const Expr& e : shape) a.shape.push_back(scalar::simplify(e));
  a.layout = Layout::row_major(static_cast<int>(shape.size()));
  plan.arrays.push_back(std::move(a));
  return static_cast<int>(plan.arrays.size()) - 1;
}

Group copy_group(const std::vector<Array>& arrays, std::string name, const Group& user, int from, int to) {
  const te::Tensor p = te::placeholder("data", arrays[from].shape, arrays[from].dtype);
  Group copy;
  copy.te.name = std::move(name), copy.te.params = {p}, copy.te.sources = user.te.sources;
  copy.te.outputs = unique_names({copy_stage(p, "copy")});
  copy.params = {from}, copy.outputs = {to};
  return copy;
}

std::vector<int> shared(FunctionPlan& plan, Group group, std::vector<Group>& groups) {
  std::vector<int> read = group.params;
  read.insert(read.end(), group.constants.begin(), group.constants.end());
  std::vector<int>& arrays = plan.shared[{read, te::str(te::topological(group.te.outputs))}];
  for (std::vector<Group>* all : {&plan.groups, &groups})
    for (Group& g : *all)
      if (!arrays.empty() && g.outputs == arrays) add_sources(g.te.sources, group.te.sources);
  if (!arrays.empty()) return arrays;
  for (const te::Tensor& t : group.te.outputs)
    arrays.push_back(add_array(plan, Array::Kind::Temporary, t->name, t->shape, t->dtype));
  group.outputs = arrays;
  groups.push_back(std::move(group));
  return arrays;
}

}  // namespace relay::lower
