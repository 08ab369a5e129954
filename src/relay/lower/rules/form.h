// What is decided of a group before it is scheduled: the form that an algorithm has given it (lower/algorithms), and
// which padding it reads. The plan of a function fills it in, and schedule rules read it: one struct for both.
#pragma once

#include <any>
#include <set>
#include <string>

#include "relay/lower/schedule/schedule_rule.h"
#include "relay/te/te.h"

namespace relay::lower {

struct ScheduleDraft;

// How an algorithm schedules the groups in its form: what differs from the ordinary rules.
struct FormSchedule {
  Rule rule;
  // Schedules the whole group, instead of the rules. False: they do, since their loops have another form.
  bool (*whole)(ScheduleDraft&) = nullptr;
  // Before a rule schedules the reduction: what that reads.
  void (*reads)(ScheduleDraft&, const te::Tensor& reduction) = nullptr;
  // Of several groups that became one: afterwards, with the kernels that the rules made of each. False: they stay.
  bool (*joined)(ScheduleDraft&) = nullptr;
};

// What an algorithm is expected to bring, by its cost model.
struct Gain {
  double saved_ns = 0;      // of a run
  int64_t added_bytes = 0;  // of memory: constants that are stored in another form too
};

struct GroupForm {
  const FormSchedule* schedule = nullptr;  // of the algorithm that made the form; null: the rules'
  std::any stages{};                       // how that one names its stages; nobody else reads it
  std::string weight{};                    // the stage, if there is one, that holds constants in the algorithm's form
  Gain gain{};
  bool by_channels = false;            // a convolution of images that are stored by channels: lanes along their rows
  std::set<std::string> reads_halo{};  // padding stages that read the halo of their input

  bool is_joined() const { return schedule && schedule->joined; }
  template <class Stages>
  const Stages& as() const {
    return std::any_cast<const Stages&>(stages);
  }
};

}  // namespace relay::lower
