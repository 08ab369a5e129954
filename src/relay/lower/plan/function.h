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
#include "relay/lower/schedule/layout.h"
#include "relay/lower/schedule/schedule_rule.h"
#include "relay/op/conditions.h"
#include "relay/te/te.h"

namespace relay::lower {

// Of a function that is lowered for many calls at once (batch.h): whether an array has a row for each call, and how.
enum class Rows : uint8_t {
  None,   // it is the same for all calls
  First,  // in the place of a first dimension of one element
  Added,  // as a dimension in front
};

// An array that lies in another, a temporary or an output: `offset` elements into its dimension `dim`.
struct ArrayView {
  int base = -1;
  size_t dim = 0;
  int64_t offset = 0;
};

// An output that may lie in the storage of an input (in_place.h).
struct InPlace {
  int input = -1;        // an array
  bool updates = false;  // its steps write only what changes: it begins with the input's elements
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
  // Inputs and outputs are row-major. An output may also be an input, a constant or another output returned as it is:
  // then `alias` is that array and no kernel writes this one.
  int alias = -1;
  // It has no storage of its own. What lies behind its elements in its base is a halo in its layout (views.h).
  std::optional<ArrayView> view{};
  std::optional<InPlace> in_place{};  // Output
};

// The operations of a stage with symbolic sizes: so many times a product of extents over shape variables.
struct SymbolicFlops {
  double each = 0;
  Expr times;
};

// Steps that follow each other and have the same number are called again and again, one after the other. Each takes the
// number of the time as its first size.
struct StepRepeat {
  int number = 0;
  Expr times;
};

// One kernel call, or a check.
struct Step {
  int kernel = -1;                 // of LoweredFunction::kernels; -1: a check
  std::vector<int> args;           // arrays, in the order of the kernel's params
  std::vector<int> reads, writes;  // which of them, or what stores them
  std::vector<Expr> shape_values;  // for each of the kernel's shape_vars: over the function's shape variables
  int group = -1;                  // of LoweredFunction::groups
  int when = -1;                   // an array: the call happens only if it has a byte that is not zero
  double flops = 0;                // as of Group, of the stages that this kernel computes
  std::vector<SymbolicFlops> symbolic_flops{};     // of its other stages
  std::optional<IndexCheck> check{};               // of args[0]
  std::shared_ptr<const ExternalCode> external{};  // no kernel: it is called with args, those that it reads first
  bool recurrence = false;                         // it is of one
  std::optional<StepRepeat> repeat{};
  bool constant = false;  // depends on constants only: run once when the program is built
};

// One fused group, for --emit and for people.
struct LoweredGroup {
  std::string name;      // "fused_nn_conv2d_add_nn_relu"
  te::Tensors stages;    // topological, placeholders included
  std::string schedule;  // text, as the rule made it or as given
  std::string rule;      // the rule that made it, and why
  // Multiply-adds count two, exp and its kind as their polynomials; of the stages whose sizes are all known.
  double flops = 0;
  std::optional<Rule> algorithm{};  // that gave the group its form, and what its cost model expects of it
  Gain gain{};
  std::vector<Span> sources{};  // places of the calls that it computes, each once; of a copy, those that it is for
};

// A schedule of the rules that could not be built. The group, or all that took the same form, is computed without them.
struct Refusal {
  std::string group;
  RuleSet without;
  std::string reason;
};
std::string names(const RuleSet& rules);  // 'prefetch', 'rows'
std::string str(const Refusal& refusal);  // a sentence for people

struct LoweredFunction {
  std::string name;
  Exprs shape_vars;  // in order of first use in the inputs' shapes
  std::vector<ir::Type> input_types;
  std::vector<std::string> input_names;
  ir::Type output_type;
  std::vector<Array> arrays;
  std::vector<loop::Kernel> kernels;  // equal ones once
  std::vector<Step> steps;            // in execution order
  std::vector<LoweredGroup> groups;
  std::vector<Refusal> refusals{};
  std::map<int, std::string> not_in_place{};  // by input: why no output lies in its storage
  // What is to be checked of the shape variables before it runs: nothing of a function for many calls, whose sizes are
  // known.
  std::vector<op::Condition> conditions{};
};

}  // namespace relay::lower
