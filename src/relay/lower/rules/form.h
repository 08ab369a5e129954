// Decisions about a group before it is scheduled: the form that an algorithm has given it (lower/algorithms), and the
// padding that it reads from halos. The plan of a function fills it in and schedule rules read it: one struct for both.
#pragma once

#include <any>
#include <set>
#include <string>

#include "relay/lower/schedule/schedule_rule.h"
#include "relay/te/te.h"

namespace relay::lower {

struct ScheduleDraft;

// The schedule of groups in an algorithm's form, as far as it differs from the ordinary rules.
struct FormSchedule {
  Rule rule;
  // Schedules the whole group instead of the rules. Returns false if its loops have another form; then the rules do.
  bool (*whole)(ScheduleDraft&) = nullptr;
  // Called before a rule schedules the reduction: schedules the reduction's inputs.
  void (*reads)(ScheduleDraft&, const te::Tensor& reduction) = nullptr;
  // For several groups that became one: called afterwards, with the kernels that the rules made of each. Returns false
  // if they stay separate.
  bool (*merged)(ScheduleDraft&) = nullptr;
};

// The expected gain of an algorithm, by its cost model.
struct Gain {
  double saved_ns = 0;      // nanoseconds per run
  int64_t added_bytes = 0;  // bytes of memory, including constants that are stored in another form as well
};

struct GroupForm {
  const FormSchedule* schedule = nullptr;  // schedule of the algorithm that made the form; null if the ordinary rules
                                           // apply
  std::any stages{};                       // the algorithm's names for its stages; opaque to all others
  std::string weight{};                    // the stage that holds constants in the algorithm's form, or ""
  Gain gain{};
  bool by_channels = false;            // a convolution of images stored by channels, with lanes along their rows
  std::set<std::string> reads_halo{};  // padding stages that read the halo of their input

  bool is_merged() const { return schedule && schedule->merged; }
  template <class Stages>
  const Stages& as() const {
    return std::any_cast<const Stages&>(stages);
  }
};

}  // namespace relay::lower
