// Passes: free functions from a module to a module, and the one loop that runs them.
//
//   PassContext context;
//   Result<ir::Module> better = run_passes(module, {"simplify_inference", "fold_constant", "fuse_ops"}, context);
//
// Every pass is one file and one line in passes.def. A pass gets a typed module, keeps the types of what it did not
// change and may leave new nodes untyped: run_passes() infers them.
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

// What compilers of others take, for merge_composite, annotate_target and partition_graph.
struct Partitioning {
  struct Composite {
    std::string name;  // "dnnl.conv_relu": for the compiler dnnl
    pattern::Pattern pattern;
    std::function<bool(const ir::Expr&)> check;  // asked about a match; null: all are good
  };
  struct Compiler {
    std::string name;
    std::function<bool(const ir::Call&)> takes;  // calls of operators
  };
  std::vector<Composite> composites;  // those in front go first
  std::vector<Compiler> compilers;    // the same
  std::string module_name = "default";
  bool bind_constants = true;  // constants are part of the functions, not arguments
};

// How often a pass applied each of its rules.
using Applied = std::map<std::string, int64_t>;

// One pass that has run, for `--trace`, the explorer and timing tables.
struct PassTrace {
  const PassInfo& pass;
  double seconds;  // of the pass alone; inference and verification are not in it
  const ir::Module& before;
  const ir::Module& after;
  const Applied& applied;
};

// In which precision to_mixed_precision computes a call of an operator.
struct Precision {
  enum Category : uint8_t {
    Always,  // in the short type, whatever that costs
    Follow,  // in the short type where a float among the arguments has it and the others are constants
    Never,
  };
  Category category;
  DType accumulation, output;  // Always: of the operator's out_dtype, if it has one, and of the result
};

// What the user of a pass decides, call by call. Null: the pass decides alone.
struct Hooks {
  std::function<bool(const ir::Expr&)> skip;                              // common_subexpr: leaves the call alone
  std::function<std::optional<Precision>(const ir::Call&)> precision;     // to_mixed_precision; none: by its table
  std::function<ir::Expr(const ir::Call&)> legalize;                      // legalize: of what a call becomes, or null
  std::function<std::vector<std::string>(const ir::Call&)> alter_layout;  // alter_op_layout: of data and weights
};

struct PassContext {
  DiagnosticSink warnings;
  // "fuse_ops.max_group": 256; "convert_layout.layouts": "nn.conv2d NHWC". A name that options.def does not have is a
  // diagnostic (bad_option).
  std::map<std::string, ir::AttrValue> options;
  Partitioning partitioning;
  Hooks hooks;
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;  // after every pass: well-formed, and all types inferred anew
#endif
  std::function<void(const PassTrace&)> trace;
  Applied applied;  // by the pass that runs; run_passes() clears it before each

  // What is given, or the default of options.def, which must have the option.
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
  bool is_optimization = false;  // leaves functions alone that are marked SkipOptimization=1
};
const std::vector<PassInfo>& all_passes();  // sorted by name
const PassInfo* find_pass(std::string_view name);

// Runs the passes in order on the module, which need not be typed yet; the result is.
Result<ir::Module> run_passes(const ir::Module& module, const std::vector<std::string>& names, PassContext& context);
// The same with passes that need not be in the list.
Result<ir::Module> run_these(const ir::Module& module, const std::vector<PassInfo>& passes, PassContext& context);

// For context.applied: the operator of a call, else the kind of the expression: "nn.relu", "a tuple".
std::string name_of(const ir::Expr& e);
// ir::rewrite of a function. Counts each change in context.applied: "nn.batch_norm becomes add".
ir::FunctionRef rewrite_function(const ir::FunctionRef& f, PassContext& context,
                                 function_ref<ir::Expr(const ir::Expr& before, const ir::Expr& now)> rule);

// A pass that treats every function on its own.
Result<ir::Module> for_each_function(const ir::Module& module,
                                     function_ref<ir::FunctionRef(const ir::FunctionRef&)> change);

}  // namespace relay::transform
