// A lowered function: a segment over symbolic sizes, with kernels in the loop language, and facts about both that only
// the compiler needs. Arrays, steps and repeats are those of programs (runtime/program/segment.h).
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "relay/ir/expr.h"
#include "relay/loop/loop.h"
#include "relay/lower/group/flops.h"
#include "relay/lower/plan/external_code.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/candidates.h"
#include "relay/lower/schedule/layout.h"
#include "relay/lower/schedule/schedule_rule.h"
#include "relay/op/conditions.h"
#include "relay/runtime/program/segment.h"
#include "relay/te/te.h"
#include "relay/tensor/tensor.h"

namespace relay::lower {

// The form of segments while they are lowered. Sizes are over the function's shape variables.
struct Symbolic {
  using Size = Expr;
  using Arrays = std::vector<int>;
  using Sizes = Exprs;
  using OneSize = Expr;
};

// The place of an array that is a part of another, a temporary or an output: it begins `offset` elements into dimension
// `dim`.
struct ArrayView {
  int base = -1;
  size_t dim = 0;
  int64_t offset = 0;
};

// An array. `bytes`, and the kind View with its `index` and `offset`, are set when the function is lowered (views.h:
// set_storage).
struct Array : runtime::ArrayOf<Symbolic> {
  Layout layout;
  Tensor value;  // Constant: the logical value (exec packs it into `layout`)
  // Inputs and outputs are row-major. If an output is an input, a constant or another output returned unchanged,
  // `alias` is that array and no kernel writes this one.
  int alias = -1;
  // Set if the array has no storage of its own. The rest of its base behind its elements is a halo in its layout
  // (views.h).
  std::optional<ArrayView> view{};
};

// A step. `kernel` is an index in LoweredFunction: in `kernels`, `index_checks` or `externals`.
struct Step : runtime::StepOf<Symbolic> {
  std::vector<int> reads, writes;               // arrays of args, or the arrays that store them
  int group = -1;                               // of LoweredFunction::groups
  double flops = 0;                             // see LoweredGroup::flops; of the stages that this kernel computes
  std::vector<SymbolicFlops> symbolic_flops{};  // of its stages with symbolic sizes
  bool recurrence = false;                      // part of a recurrence
  bool constant = false;                        // depends on constants only: run once when the program is built
};
using Repeat = runtime::RepeatOf<Symbolic>;

// A fused group, for --emit and for readers.
struct LoweredGroup {
  std::string name;      // "fused_nn_conv2d_add_nn_relu"
  te::Tensors stages;    // topological, placeholders included
  std::string schedule;  // text, as the rule made it or as specified
  std::string rule;      // the rule that made it, and why
  // Operations of the stages whose sizes are all known. A multiply-add counts as two; exp and similar functions count
  // as their polynomials.
  double flops = 0;
  std::optional<Rule> algorithm{};  // the algorithm that gave the group its form, with the expected gain
  Gain gain{};
  std::string key{};                      // group_key(): identifies the computation
  std::vector<ScheduleChoice> choices{};  // of the rules, with the options that they considered
  bool tuned = false;                     // true if measured decisions made the schedule
  std::vector<Span> sources{};  // places of the calls that it computes, without duplicates; for a copy, of those that
                                // need it
};

// A schedule of the rules that could not be built. The group, or all groups of the same form, are computed without
// these rules.
struct Refusal {
  std::string group;
  RuleSet without;
  std::string reason;
};
std::string names(const RuleSet& rules);  // 'prefetch', 'rows'
std::string str(const Refusal& refusal);  // a sentence for the user

struct LoweredFunction {
  std::string name;
  Exprs shape_vars;  // in order of first use in the inputs' shapes
  std::vector<ir::Type> input_types;
  std::vector<std::string> input_names;
  ir::Type output_type;
  std::vector<Array> arrays;
  std::vector<loop::Kernel> kernels;  // without duplicates
  std::vector<runtime::IndexCheck> index_checks{};
  std::vector<std::shared_ptr<const ExternalCode>> externals{};
  std::vector<Step> steps;        // in execution order
  std::vector<Repeat> repeats{};  // in the order of their steps
  std::vector<LoweredGroup> groups;
  std::vector<Refusal> refusals{};
  std::map<int, std::string> not_in_place{};  // by input: the reason why no output shares its storage
  // Constraints on the shape variables that are checked before it runs. Empty for a function for many calls, whose
  // sizes are known.
  std::vector<op::Condition> conditions{};
};

}  // namespace relay::lower
