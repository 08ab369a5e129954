// Passes: free functions from a module to a module, and the loop that runs them.
//
//   PassContext context;
//   Result<ir::Module> better = run_passes(module, {"simplify_inference", "fold_constant", "fuse_ops"}, context);
//
// Every pass is one file and one line in passes.def. A pass gets a typed module, keeps the types of unchanged nodes and
// may leave new nodes untyped: run_passes() infers their types.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "relay/ir/expr.h"
#include "relay/pattern/pattern.h"

namespace relay::transform {

struct PassInfo;

// The operators that external compilers accept, for merge_composite, annotate_target and partition_graph.
struct Partitioning {
  struct Composite {
    std::string name;  // "dnnl.conv_relu": for the compiler dnnl
    pattern::Pattern pattern;
    std::function<bool(const ir::Expr&)> check;  // called on a match; null accepts all matches
  };
  struct Compiler {
    std::string name;
    std::function<bool(const ir::Call&)> takes;  // calls of operators that it accepts
  };
  std::vector<Composite> composites;  // in order of priority
  std::vector<Compiler> compilers;    // in order of priority
  std::string module_name = "default";
  bool bind_constants = true;  // constants are part of the functions, not arguments
};

// The number of applications of each of a pass's rules.
using Applied = std::map<std::string, int64_t>;

// The record of a pass that has run, for `--trace`, the explorer and timing tables.
struct PassTrace {
  const PassInfo& pass;
  double seconds;  // of the pass alone, without inference and verification
  const ir::Module& before;
  const ir::Module& after;
  const Applied& applied;
};

// The precision in which to_mixed_precision computes a call of an operator.
struct Precision {
  enum Category : uint8_t {
    Always,  // in the short type, whatever the cost
    Follow,  // in the short type if a float among the arguments has it and the others are constants
    Never,
  };
  Category category;
  DType accumulation, output;  // Always: the operator's out_dtype, if it has one, and the type of the result
};

// User decisions in a pass, per call. If unset, the pass decides alone.
struct Hooks {
  std::function<bool(const ir::Expr&)> skip;                           // common_subexpr: leaves the call unchanged
  std::function<std::optional<Precision>(const ir::Call&)> precision;  // to_mixed_precision; nullopt: by its table
  // legalize: the replacement of a call, or null
  std::function<ir::Expr(const ir::Call&)> legalize;
  // alter_op_layout: layouts of data and weights
  std::function<std::vector<std::string>(const ir::Call&)> alter_layout;
};

struct PassContext {
  DiagnosticSink warnings;
  // "fuse_ops.max_group": 256; "convert_layout.layouts": "nn.conv2d NHWC". A name that is not in options.def is a
  // diagnostic (bad_option).
  std::map<std::string, ir::AttrValue> options;
  Partitioning partitioning;
  Hooks hooks;
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;  // after every pass: checks that the module is well-formed, and infers all types from scratch
#endif
  std::function<void(const PassTrace&)> trace;
  Applied applied;  // by the running pass; run_passes() clears it before each pass

  // The value that is set, or the default in options.def, which must have the option.
  int64_t count(std::string_view name) const;
  bool flag(std::string_view name) const { return count(name) != 0; }
  std::string text(std::string_view name) const;
};

struct OptionInfo {
  enum Type : uint8_t { Count, Flag, Text };
  const char* name;  // "fuse_ops.max_group"
  Type type;
  ir::AttrValue otherwise;
  const char* doc;
};
const std::vector<OptionInfo>& all_options();  // sorted by name
// "fuse_ops.max_group=8", "dead_code.inline_once=true": the value in the option's type, for PassContext::options.
Result<std::pair<std::string, ir::AttrValue>> parse_option(std::string_view text);

struct PassInfo {
  const char* name;  // "fuse_ops"
  const char* doc;
  Result<ir::Module> (*run)(const ir::Module&, PassContext&);
  bool is_optimization = false;  // leaves functions marked SkipOptimization=1 unchanged
};
const std::vector<PassInfo>& all_passes();  // sorted by name
const PassInfo* find_pass(std::string_view name);

// Runs the passes in order on the module, which may be untyped; the result is typed.
Result<ir::Module> run_passes(const ir::Module& module, const std::vector<std::string>& names, PassContext& context);
// The same with passes that need not be in the list.
Result<ir::Module> run_these(const ir::Module& module, const std::vector<PassInfo>& passes, PassContext& context);

// A name for entries of context.applied: the operator of a call, else the kind of the expression: "nn.relu", "a tuple".
std::string name_of(const ir::Expr& e);
// ir::rewrite of a function. Counts each change in context.applied: "nn.batch_norm becomes add".
ir::FunctionRef rewrite_function(const ir::FunctionRef& f, PassContext& context,
                                 function_ref<ir::Expr(const ir::Expr& before, const ir::Expr& now)> rule);

// Applies a change to each function independently.
Result<ir::Module> for_each_function(const ir::Module& module,
                                     function_ref<ir::FunctionRef(const ir::FunctionRef&)> change);

}  // namespace relay::transform
