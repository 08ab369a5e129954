#include "relay/lower/schedule/placement.h"

namespace relay::lower {

static const te::Tensors& find_or_none(const std::unordered_map<const te::TensorNode*, te::Tensors>& map,
                                       const te::TensorNode& stage) {
  static const te::Tensors none;
  const auto at = map.find(&stage);
  return at == map.end() ? none : at->second;
}

Placement::Placement(const te::Tensors& stages, const Schedule& schedule)
    : stages_(stages), schedule_(schedule), bodies_(expand(stages, schedule)) {
  for (const te::Tensor& t : stages) {
    by_name_.emplace(t->name, t.get());
    if (t->before) scans_[t->before.get()] = t.get();
    const auto scheduled = schedule.stages.find(t->name);
    if (!t->is_placeholder() && scheduled != schedule.stages.end()) schedules_[t.get()] = &scheduled->second;
  }
  for (const te::Tensor& t : stages)
    if (const te::TensorNode* consumer = consumer_of(*t)) placed_in_[consumer].push_back(t);
}

const StageSchedule* Placement::schedule_of(const te::TensorNode& stage) const {
  if (const auto at = schedules_.find(&stage); at != schedules_.end()) return at->second;
  const auto named = schedule_.stages.find(stage.name);  // a tensor that represents a stage has its name
  return named == schedule_.stages.end() ? nullptr : &named->second;
}

const te::TensorNode* Placement::consumer_of(const te::TensorNode& stage) const {
  const auto at = schedules_.find(&stage);
  if (at == schedules_.end() || at->second->place != Place::At) return nullptr;
  const auto consumer = by_name_.find(at->second->consumer);
  return consumer == by_name_.end() || consumer->second->is_placeholder() ? nullptr : consumer->second;
}

const te::Tensors& Placement::placed_in(const te::TensorNode& consumer) const {
  return find_or_none(placed_in_, consumer);
}

const te::Tensors& Placement::readers(const te::TensorNode& t) const {
  if (!readers_) {
    readers_.emplace();
    for (const te::Tensor& reader : stages_) {
      const auto at = schedules_.find(reader.get());
      if (at == schedules_.end() || at->second->place == Place::Inline) continue;
      for (const te::Tensor& in : bodies_.loads_of(*reader)) (*readers_)[in.get()].push_back(reader);
    }
  }
  return find_or_none(*readers_, t);
}

const te::TensorNode* Placement::scan_of(const te::TensorNode& before) const {
  const auto at = scans_.find(&before);
  return at == scans_.end() ? nullptr : at->second;
}

}  // namespace relay::lower
