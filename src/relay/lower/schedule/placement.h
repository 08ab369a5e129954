// A group under a schedule, for all of its kernels: where each stage is placed, which stages are placed in its loops,
// and which ones read it when inlined stages are written out.
#pragma once

#include <unordered_map>

#include "relay/lower/schedule/expand.h"

namespace relay::lower {

class Placement {
 public:
  // `stages`: topological. Both arguments outlive it.
  Placement(const te::Tensors& stages, const Schedule& schedule);

  size_t stage_count() const { return stages_.size(); }
  const Expanded& bodies() const { return bodies_; }
  // Null if the stage has no schedule.
  const StageSchedule* schedule_of(const te::TensorNode& stage) const;
  // The stage in whose loops a stage is placed; null if the group has none of this name.
  const te::TensorNode* consumer_of(const te::TensorNode& stage) const;
  // The stages that are placed in the loops of `consumer`, producers first.
  const te::Tensors& placed_in(const te::TensorNode& consumer) const;
  // The stages that are not inlined and load `t`, producers first.
  const te::Tensors& readers(const te::TensorNode& t) const;
  // The scan that `before`, a placeholder, represents in its own body; null if it represents none.
  const te::TensorNode* scan_of(const te::TensorNode& before) const;

 private:
  using ByStage = std::unordered_map<const te::TensorNode*, te::Tensors>;

  const te::Tensors& stages_;
  const Schedule& schedule_;
  Expanded bodies_;
  std::unordered_map<std::string_view, const te::TensorNode*> by_name_;
  std::unordered_map<const te::TensorNode*, const StageSchedule*> schedules_;
  std::unordered_map<const te::TensorNode*, const te::TensorNode*> scans_;
  ByStage placed_in_;
  mutable std::optional<ByStage> readers_;  // made at the first request, which writes out all bodies
};

}  // namespace relay::lower
