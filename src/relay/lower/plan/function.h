// A lowered function: arrays, kernels and the steps that call them.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "relay/ir/expr.h"
#include "relay/loop/loop.h"
#include "relay/lower/group/index_check.h"
#include "relay/lower/plan/external_code.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/candidates.h"
#include "relay/lower/schedule/layout.h"
#include "relay/lower/schedule/schedule_rule.h"
#include "relay/op/conditions.h"
#include "relay/te/te.h"
#include "relay/tensor/placement.h"

namespace relay::lower {

// An array that is a part of another, a temporary or an output: it begins `offset` elements into dimension `dim`.
struct ArrayView {
  int base = -1;
  size_t dim = 0;
  int64_t offset = 0;
};

// An output that may share the storage of an input (in_place.h).
struct InPlace {
  int input = -1;        // an array
  bool updates = false;  // its steps write only the changes: it starts with the input's elements
};

// An array of the lowered function. `shape` is the logical shape, over shape variables.
struct Array {
  enum class Kind : uint8_t { Input, Output, Constant, Temporary };
  Kind kind = Kind::Temporary;
  std::string name;
  Exprs shape;
  DType dtype;
  Layout layout;
  int index = -1;  // Input: of the parameter; Output: of the result
  Rows rows = Rows::None;
  Tensor value;  // Constant: the logical value (exec packs it into `layout`)
  // Inputs and outputs are row-major. If an output is an input, a constant or another output returned unchanged,
  // `alias` is that array and no kernel writes this one.
  int alias = -1;
  // Set if the array has no storage of its own. The rest of its base behind its elements is a halo in its layout
  // (views.h).
  std::optional<ArrayView> view{};
  std::optional<InPlace> in_place{};  // Output
  MemorySpace memory = host_memory;
};

// The operations of a stage with symbolic sizes: `each` times a product of extents over shape variables.
struct SymbolicFlops {
  double each = 0;
  Expr times;
};

// Consecutive steps with the same number are called `times` times in turn. Each takes the iteration number as its first
// size.
struct StepRepeat {
  int number = 0;
  Expr times;
};

// A kernel call, a check, or a copy of args[0] to args[1], which is in the memory of another device.
struct Step {
  int kernel = -1;                 // of LoweredFunction::kernels; -1: a check
  std::vector<int> args;           // arrays, in the order of the kernel's params
  std::vector<int> reads, writes;  // arrays of args, or the arrays that store them
  std::vector<Expr> shape_values;  // one per shape_var of the kernel: over the function's shape variables
  int group = -1;                  // of LoweredFunction::groups
  int when = -1;                   // an array: the call happens only if one of its bytes is not zero; -1 if always
  double flops = 0;                // see LoweredGroup::flops; of the stages that this kernel computes
  std::vector<SymbolicFlops> symbolic_flops{};     // of its stages with symbolic sizes
  std::optional<IndexCheck> check{};               // of args[0]
  std::shared_ptr<const ExternalCode> external{};  // set if the step calls this instead of a kernel, with args: first
                                                   // the arrays that it reads
  bool transfer = false;                           // a copy between devices
  bool recurrence = false;                         // part of a recurrence
  std::optional<StepRepeat> repeat{};
  bool constant = false;  // depends on constants only: run once when the program is built
};

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
  std::vector<Step> steps;            // in execution order
  std::vector<LoweredGroup> groups;
  std::vector<Refusal> refusals{};
  std::map<int, std::string> not_in_place{};  // by input: the reason why no output shares its storage
  // Constraints on the shape variables that are checked before it runs. Empty for a function for many calls, whose
  // sizes are known.
  std::vector<op::Condition> conditions{};
};

}  // namespace relay::lower
