// Whole-function planning: the function's groups, and for every array between them its storage order and border.
//
//   - activations around convolutions and pooling are stored channels-last, whatever the model's attributes say;
//   - of few channels, behind a network's input, they stay as they are given, or are copied so (planar.h);
//   - a convolution or product that takes fewer multiplications in another form is rewritten (winograd.h, strassen.h);
//     where its data holds a value that this form would spread, the direct form runs instead;
//   - groups whose results would not stay in cache become one kernel with the groups behind them (sliding.h);
//   - groups between which the scores of attention would go through memory become one (join_attention.h);
//   - what a concatenation reads is computed where its result lies, and what is made element by element in the place
//     of its data (parts.h);
//   - an array read through padding gets a border as wide as its readers need, if they agree on what it holds;
//   - of a function for many calls at once (LowerOptions::calls) attention and products keep their form, so that no
//     call sees which others it came with;
//   - inputs and outputs stay row-major; a copy stands between when the producer prefers another order.
#pragma once

#include "relay/lower/algorithms/attention.h"
#include "relay/lower/algorithms/strassen.h"
#include "relay/lower/algorithms/winograd.h"
#include "relay/lower/group/group.h"
#include "relay/lower/plan/function.h"
#include "relay/lower/plan/options.h"

namespace relay::lower {

struct PlannedGroup {
  GroupTe te;
  std::vector<int> params;             // arrays, one a parameter of te
  std::vector<int> constants;          // arrays, one a constant of te
  std::vector<int> outputs;            // arrays
  std::optional<Winograd> winograd;    // if its convolution was rewritten
  std::optional<Attention> attention;  // if it is attention, put together of several groups
  std::optional<Strassen> strassen;    // if its product was rewritten
  std::set<std::string> from_border;   // padding stages that read the border of their input
  std::optional<IndexCheck> check;     // no kernel: params[0], te.params[0] are checked; it has no outputs
  int when = -1;                       // an array: the group is computed only if it has a byte that is not zero
  bool on_images = false;              // has a window, or reduces whole images
  bool prefers_channels_last = false;  // to have its arrays in another order than they have by themselves
  bool planar = false;                 // a convolution over images that stay stored by channels (planar.h)
  bool slides = false;                 // joined of several (sliding.h)
};

struct GraphPlan {
  std::vector<Array> arrays;
  std::vector<PlannedGroup> groups;  // in execution order
};

Result<GraphPlan> plan_graph(const ir::FunctionRef& function, const LowerOptions& options);

}  // namespace relay::lower
