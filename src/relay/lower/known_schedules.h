// The schedules of a function's groups, so that equal groups, as the layers of a network often are, are scheduled once.
#pragma once

#include <unordered_map>

#include "relay/lower/schedule_group.h"

namespace relay::lower {

// True if both groups compute the same of inputs with the same names: their stages differ in no more than the identity
// of nodes. False for programs, recurrences and sizes that are not constant, which are not compared.
bool are_equal(const te::Tensors& stages, const te::Tensors& others);

class KnownSchedules {
 public:
  // The schedule of an equal group, or null. `key`: the group_key() of `start`.
  const ScheduledGroup* find(const std::string& key, const ScheduleDraft& start,
                             const std::vector<OutputLayout>& outputs) const;
  void add(const std::string& key, const ScheduleDraft& start, const std::vector<OutputLayout>& outputs,
           const ScheduledGroup& scheduled);

 private:
  struct Known {
    ScheduleDraft start;
    std::vector<OutputLayout> outputs;
    ScheduledGroup scheduled;
  };
  std::unordered_multimap<std::string, Known> by_key_;
};

}  // namespace relay::lower
