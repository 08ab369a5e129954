#include "relay/lower/rules/blocks/shared_copies.h"

namespace relay::lower {

te::Tensor shared_copy_of(const ScheduleDraft& draft, const SharedFactor& f, const std::set<std::string>& first,
                          const std::set<std::string>& last, std::vector<int>& order) {
  auto rank = [&](size_t d) {
    int found = 1;
    for (const Expr& v : scalar::free_vars(f.load->args[d])) {
      if (first.count(v->name)) found = std::min(found, 0);
      if (last.count(v->name)) return 2;
    }
    return found;
  };
  order.clear();
  for (int wanted = 0; wanted <= 2; ++wanted)
    for (size_t d = 0; d < f.load->args.size(); ++d)
      if (rank(d) == wanted) order.push_back(static_cast<int>(d));
  te::TensorNode copy;
  copy.name = unused_name(draft, f.tensor->name + "_shared"), copy.dtype = f.tensor->dtype;
  Exprs at(f.load->args.size());
  for (int d : order) {
    const Exprs vars = scalar::free_vars(f.load->args[static_cast<size_t>(d)]);
    std::string name = vars.size() == 1 ? vars[0]->name : format("i{}", d);
    for (const te::Axis& a : copy.axes)
      if (a.var->name == name) name = format("i{}", d);
    const Expr var = scalar::var(name);
    copy.axes.push_back({var, f.tensor->shape[static_cast<size_t>(d)]});
    copy.shape.push_back(copy.axes.back().extent);
    at[static_cast<size_t>(d)] = var;
  }
  copy.body = scalar::load(f.tensor, at);
  return te::Tensor(new te::TensorNode(std::move(copy)));
}

std::vector<Loop> shared_fill_loops(const ScheduleDraft& draft, const te::TensorNode& copy,
                                    const std::vector<int>& order, const te::Tensor& factor) {
  int last = static_cast<int>(order.size()) - 1;
  if (factor->is_placeholder() || draft.schedule.stages.at(factor->name).place == Place::Root) {
    const int contiguous = contiguous_dim(*factor, draft.layout(factor));
    if (contiguous >= 0) last = contiguous;
  }
  std::vector<Loop> loops, at_end;
  for (size_t i = 0; i < order.size(); ++i)
    (order[i] == last ? at_end : loops).push_back({copy.axes[i].var->name, 1, LoopKind::Thread});
  loops.insert(loops.end(), at_end.begin(), at_end.end());
  return loops;
}

}  // namespace relay::lower
