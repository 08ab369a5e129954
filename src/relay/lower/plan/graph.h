// The plan of a whole function as data: its groups, and the arrays between them.
#pragma once

#include <map>

#include "relay/lower/group/group.h"
#include "relay/lower/plan/function.h"
#include "relay/lower/plan/options.h"
#include "relay/lower/rules/form.h"

namespace relay::lower {

// The steps of a recurrence. Of their group the last parameters are the states before a step and the outputs those
// after it; the arrays of both are of all values of a state (te.h).
struct GroupSteps {
  Expr step, count;          // a variable, and how many steps there are
  std::vector<int> initial;  // arrays, by state
};

struct Group {
  GroupTe te;
  std::vector<int> params;                         // arrays, one a parameter of te
  std::vector<int> constants;                      // arrays, one a constant of te
  std::vector<int> outputs;                        // arrays
  GroupForm form;                                  // what the schedule has to know
  std::optional<IndexCheck> check;                 // no kernel: params[0], te.params[0] are checked; it has no outputs
  std::shared_ptr<const ExternalCode> external{};  // no kernel: this is called with params, then outputs
  std::optional<GroupSteps> steps{};               // the group is one step of a recurrence
  int when = -1;                       // an array: the group is computed only if it has a byte that is not zero
  bool on_images = false;              // has a window, or reduces whole images
  bool prefers_channels_last = false;  // to have its arrays in another order than they have by themselves
};

struct FunctionPlan {
  std::vector<Array> arrays;
  std::vector<Group> groups;                // in execution order
  std::map<int, std::string> not_in_place;  // by input: why no output lies in its storage (in_place.h)
  std::set<int> by_channels;                // arrays of images that stay stored by channels
  // Results of groups that several others read (shared() in join.h): by what they read, and what they compute as text.
  std::map<std::pair<std::vector<int>, std::string>, std::vector<int>> shared;
};

}  // namespace relay::lower
