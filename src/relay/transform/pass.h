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

struct PassContext {
  DiagnosticSink warnings;
  // "fuse_ops.max_group": 256; "convert_layout.layouts": "nn.conv2d NHWC". A name that no pass knows is a diagnostic
  // (bad_option).
  std::map<std::string, ir::AttrValue> options;
  Partitioning partitioning;
  std::function<bool(const ir::Expr&)> skip{};  // of common_subexpr: calls that it leaves alone; null: none
#ifdef NDEBUG
  bool verify = false;
#else
  bool verify = true;  // after every pass: well-formed, and all types inferred anew
#endif
  std::function<void(const PassTrace&)> trace;
  Applied applied;  // by the pass that runs; run_passes() clears it before each

  int64_t int_option(const std::string& name, int64_t otherwise) const;
  bool bool_option(const std::string& name, bool otherwise) const;
  std::string text_option(const std::string& name) const;  // empty: it is not given
};

struct PassInfo {
  const char* name;  // "fuse_ops"
  const char* doc;
  Result<ir::Module> (*run)(const ir::Module&, PassContext&);
};
const std::vector<PassInfo>& all_passes();  // sorted by name

// Runs the passes in order on the module, which need not be typed yet; the result is.
Result<ir::Module> run_passes(const ir::Module& module, const std::vector<std::string>& names, PassContext& context);
// The same with passes that need not be in the list.
Result<ir::Module> run_these(const ir::Module& module, const std::vector<PassInfo>& passes, PassContext& context);

// A pass that treats every function on its own.
Result<ir::Module> for_each_function(const ir::Module& module,
                                     function_ref<ir::FunctionRef(const ir::FunctionRef&)> change);

}  // namespace relay::transform
