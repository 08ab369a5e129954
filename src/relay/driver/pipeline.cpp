// The pipelines of a compilation, as lists of passes. Before the first pass the program has been read (frontend/ or
// text/); run_passes() infers types before the first pass and after each. After the last one, lower/ makes kernels of
// the groups, codegen/ makes machine code of the kernels, exec/ makes a program that calls them.
#include "relay/driver/pipeline.h"

#include <algorithm>

namespace relay::driver {

// Computes the model as written: norms have separate kernels, and results are rounded where the model does.
static std::map<std::string, ir::AttrValue> usual_options(std::map<std::string, ir::AttrValue> more = {}) {
  more.insert({{"simplify_inference.norms", int64_t{0}}, {"simplify_expr.rounding", int64_t{0}}});
  return more;
}

static Pipeline o0() {
  return {{
              "remove_unused_functions",
              "infer_type",            // all passes below need types
              "expand_composites",     // attention becomes products and a softmax, ...
              "simplify_inference",    // batch_norm and dropout have no kernels, unlike their inference forms
              "to_graph_normal_form",  // let-bound values become shared nodes: the dataflow that lowering reads
              "limit_width",           // kernels of thousands of operands become trees of small ones
              "size_results",          // sizes that depend on values are computed first
              "fuse_ops",              // each operator alone
          },
          usual_options({{"fuse_ops.max_group", int64_t{1}}})};
}

static Pipeline o1() {
  return {{
              "remove_unused_functions",
              "infer_type",
              "expand_composites",
              "simplify_inference",
              "to_graph_normal_form",
              "propagate_constants",  // weights that functions pass on are constants at their uses
              "plain_layouts",        // drops requested layouts: lowering chooses them
              "fold_constant",        // work that depends on weights only is done now
              "limit_width",          // kernels of thousands of operands become trees of small ones
              "dead_code",            // removes unused values
              "size_results",         // sizes that depend on values are computed first
              "fuse_ops",             // chains of operators become one kernel each
          },
          usual_options()};
}

static Pipeline o2() {
  return {{
              "remove_unused_functions",  // keeps only what @main reaches
              "infer_type",               // all passes below need types
              "expand_composites",        // attention becomes products and a softmax, ...
              "simplify_inference",       // batch_norm becomes multiply and add, dropout its input
              "to_graph_normal_form",     // let-bound values become shared nodes: the passes below see dataflow
              "propagate_constants",      // weights that functions pass on are constants at their uses
              "plain_layouts",            // drops requested layouts: lowering chooses them
              "fold_constant",            // work that depends on weights only is done now
              "simplify_expr",            // x * 1, transpose of transpose, a reshape of a reshape, ...
              // Scales of outputs are folded into weights. Those of data are not: forward_fold_scale_axis made
              // ResNetV2-18 a fifth slower (Intel Xeon, one thread, 7.4 to 8.9 ms) and DenseNet-121 no faster.
              "backward_fold_scale_axis",
              "transposed_to_conv2d",  // transposed convolutions with a stride become ordinary ones
              "fold_constant",         // arithmetic on weights left by the rewrites above is computed now
              "combine_added_matmul",  // a gradient summed over the uses of a weight is one product
              "limit_width",           // kernels of thousands of operands become trees of small ones
              "common_subexpr",        // repeated computations are done once
              "dead_code",             // removes unused values
              "size_results",          // sizes that depend on values are computed first
              "fuse_ops",              // chains of operators become one kernel each
          },
          usual_options()};
}

static Pipeline o3() {
  Pipeline longer = o2();
  longer.options["fold_constant.max_elements"] = int64_t{1} << 20;  // folds larger weights too
  return longer;
}

const std::vector<std::string>& program_passes() {
  static const std::vector<std::string> passes = {
      "to_a_normal_form",  // values get names and an order
      "lambda_lift",       // nested functions become global ones that take their captured values
      "form_segments",     // runs of kernel calls become segments: only code over values remains
  };
  return passes;
}

const char* name(Mode mode) { return mode == Mode::Training ? "training" : "inference"; }

Result<Mode> find_mode(const std::string& text) {
  for (Mode mode : {Mode::Inference, Mode::Training})
    if (text == name(mode)) return mode;
  return Diagnostic{DiagnosticKind::bad_option, format("there is no mode '{}'", text), {}, {}, {},
                    "inference or training"};
}

static Pipeline of_level(int level) {
  switch (level) {
    case 0: return o0();
    case 1: return o1();
    case 2: return o2();
    default: return o3();
  }
}

Pipeline pipeline(int level, Mode mode) {
  Pipeline out = of_level(level);
  // Must precede simplify_inference, which then finds nothing.
  if (mode == Mode::Training)
    out.passes.insert(std::find(out.passes.begin(), out.passes.end(), "simplify_inference"), "training_forms");
  return out;
}

}  // namespace relay::driver
