#include "relay/lower/group/group_view.h"

namespace relay::lower {

GroupView::GroupView(te::Tensors outputs) {
  auto all = std::make_shared<All>();
  all->stages = te::topological(outputs);
  all->ids.reserve(all->stages.size()), all->by_name.reserve(all->stages.size());
  for (StageId id = 0; id < all->stages.size(); ++id) {
    all->ids.emplace(all->stages[id].get(), id);
    all->by_name.emplace(all->stages[id]->name, id);
  }
  all->is_output.resize(all->stages.size());
  for (const te::Tensor& o : outputs) all->is_output[all->ids.at(o.get())] = true;
  all->outputs = std::move(outputs);
  all_ = std::move(all);
}

std::optional<StageId> GroupView::find(const te::TensorNode& stage) const {
  const auto at = all_->ids.find(&stage);
  return at == all_->ids.end() ? std::nullopt : std::optional(at->second);
}

std::optional<StageId> GroupView::find(const std::string& name) const {
  const auto at = all_->by_name.find(name);
  return at == all_->by_name.end() ? std::nullopt : std::optional(at->second);
}

const te::Tensor& GroupView::stage(const std::string& name) const {
  const std::optional<StageId> id = find(name);
  RELAY_CHECK(id, "the group has no stage '{}'", name);
  return all_->stages[*id];
}

bool GroupView::is_output(const te::Tensor& stage) const {
  const std::optional<StageId> id = find(*stage);
  return id && all_->is_output[*id];
}

const StageIds& GroupView::readers(StageId id) const {
  std::call_once(all_->has_readers, [&] {
    all_->readers.resize(all_->stages.size());
    for (StageId reader = 0; reader < all_->stages.size(); ++reader)
      if (!all_->stages[reader]->is_placeholder())
        for (const te::Tensor& in : te::inputs(all_->stages[reader]))
          all_->readers[all_->ids.at(in.get())].push_back(reader);
  });
  return all_->readers[id];
}

}  // namespace relay::lower
