// The plan of a whole function as data: its groups, and the arrays between them.
#pragma once

#include <map>

#include "relay/lower/group/group.h"
#include "relay/lower/plan/function.h"
#include "relay/lower/plan/options.h"
#include "relay/lower/rules/form.h"

namespace relay::lower {

// The steps of a recurrence. The last parameters of their group are the states before a step, its outputs those after
// it. The arrays of both hold all values of a state (te.h).
struct GroupSteps {
  Expr step, count;          // the step's variable, and the number of steps
  std::vector<int> initial;  // arrays, by state
};

// A copy between devices, which are indices in LowerOptions::devices.
struct Transfer {
  int from = 0, to = 0;
};

struct Group {
  GroupTe te;
  std::vector<int> params;                         // arrays, one per parameter of te
  std::vector<int> constants;                      // arrays, one per constant of te
  std::vector<int> outputs;                        // arrays
  GroupForm form;                                  // data for the schedule
  std::optional<IndexCheck> check;                 // set if the group is a check of params[0], te.params[0], without a
                                                   // kernel or outputs
  std::shared_ptr<const ExternalCode> external{};  // set if the group calls this instead of a kernel, with params, then
                                                   // outputs
  std::optional<Transfer> transfer{};              // set if the group copies params[0] to outputs[0], without a kernel
  std::optional<GroupSteps> steps{};               // set if the group is one step of a recurrence
  int when = -1;                       // an array: the group is computed only if one of its bytes is not zero; -1 if
                                       // always
  bool on_images = false;              // has a window, or reduces whole images
  bool prefers_channels_last = false;  // prefers its arrays in another order than their default

  // Its stages do not define how its results are computed, and its arrays are dense.
  bool is_opaque() const { return external || transfer; }
};

struct FunctionPlan {
  std::vector<Array> arrays;
  std::vector<Group> groups;                // in execution order
  std::map<int, std::string> not_in_place;  // by input: the reason why no output shares its storage (in_place.h)
  std::set<int> by_channels;                // arrays of images that stay stored by channels
  // Results of groups that several others read (shared() in join.h), by their inputs and the text of their computation.
  std::map<std::pair<std::vector<int>, std::string>, std::vector<int>> shared;
};

}  // namespace relay::lower
