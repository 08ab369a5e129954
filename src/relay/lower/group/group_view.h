// The stages of a group as they read each other. A view never changes: a rule that rewrites stages makes a new one.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>

#include "relay/te/te.h"

namespace relay::lower {

// The position of a stage or placeholder in the topological order of its view.
using StageId = size_t;
using StageIds = std::vector<StageId>;

class GroupView {
 public:
  GroupView() : GroupView(te::Tensors{}) {}
  explicit GroupView(te::Tensors outputs);

  const te::Tensors& outputs() const { return all_->outputs; }
  // Producers before consumers, placeholders included.
  const te::Tensors& stages() const { return all_->stages; }
  const te::Tensor& stage(StageId id) const { return all_->stages[id]; }

  // All of these take constant time. Unset if the group has no such stage.
  std::optional<StageId> find(const te::TensorNode& stage) const;
  std::optional<StageId> find(const std::string& name) const;
  // Requires that it exists.
  const te::Tensor& stage(const std::string& name) const;
  bool is_output(const te::Tensor& stage) const;
  // The stages that read it, ascending and without duplicates.
  const StageIds& readers(StageId id) const;

 private:
  struct All {
    te::Tensors outputs, stages;
    std::unordered_map<const te::TensorNode*, StageId> ids;
    std::unordered_map<std::string_view, StageId> by_name;
    std::vector<bool> is_output;            // by id
    mutable std::once_flag has_readers;     // few users need them
    mutable std::vector<StageIds> readers;  // by id
  };
  std::shared_ptr<const All> all_;
};

}  // namespace relay::lower
