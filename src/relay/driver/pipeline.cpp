// The pipelines of a compilation: one list of passes. Before the first pass the program has been read (frontend/ or
// text/); run_passes() infers types before the first pass and after each. After the last one, lower/ makes kernels of
// the groups, codegen/ makes machine code of the kernels, exec/ makes a program that calls them.
#include "relay/driver/pipeline.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace relay::driver {

namespace {
// A pass, and the lowest level that runs it.
struct LevelledPass {
  const char* pass;
  int level;
  std::optional<Mode> mode{};              // the only mode that runs it; unset: both
  std::vector<Precision> precisions = {};  // that run it; empty: all
};
}  // namespace

// The order of passes, for every level and mode.
static const LevelledPass steps[] = {
    {"remove_unused_functions", 0},  // keeps only what @main reaches
    {"infer_type", 0},               // all passes below need types
    {"expand_composites", 0},        // attention becomes products and a softmax, ...
    {"training_forms", 0, Mode::Training},
    {"simplify_inference", 0},    // batch_norm becomes multiply and add, dropout its input; finds none in training
    {"to_graph_normal_form", 0},  // let-bound values become shared nodes: the passes below see dataflow
    {"propagate_constants", 1},   // weights that functions pass on are constants at their uses
    {"plain_layouts", 1},         // drops requested layouts: lowering chooses them
    // Padding before a convolution becomes its own, and the data are not copied: a face detector of TFLite with 43 such
    // copies takes 0.83 to 0.92 of the time, ResNet50V2 of Keras 1.00 (Intel Xeon, CPU time of one thread).
    {"fold_explicit_padding", 2},
    {"recognise_norms", 2},        // normalisations are one kernel, before their sums may become short
    {"remove_dense_reshapes", 2},  // so are dense layers of several axes with what follows them
    {"to_mixed_precision", 0, Mode::Inference, {Precision::BFloat16, Precision::Float16}},
    {"rows_of_pixels", 1, Mode::Inference},                // the first convolution of a network in bfloat16
    {"fake_quantization_to_integer", 2, Mode::Inference},  // dequantise, convolve, quantise becomes integer work
    {"fold_constant", 1},                                  // work that depends on weights only is done now
    {"simplify_expr", 2},                                  // x * 1, transpose of transpose, a reshape of a reshape, ...
    // Scales of outputs are folded into weights. Those of data are not: forward_fold_scale_axis made ResNetV2-18 a
    // fifth slower (Intel Xeon, one thread, 7.4 to 8.9 ms) and DenseNet-121 no faster.
    {"backward_fold_scale_axis", 2},
    {"transposed_to_conv2d", 2},  // transposed convolutions with a stride become ordinary ones
    {"fold_constant", 2},         // arithmetic on weights left by the rewrites above is computed now
    {"shorten_weights", 0, Mode::Inference, {Precision::Auto}},
    {"round_inputs", 0, Mode::Inference, {Precision::ShortInputs}},
    {"split_contractions", 0, Mode::Inference, {Precision::TwoParts, Precision::ThreeParts}},
    {"combine_added_matmul", 2},  // a gradient summed over the uses of a weight is one product
    {"limit_width", 0},           // kernels of thousands of operands become trees of small ones
    {"common_subexpr", 2},        // repeated computations are done once
    {"dead_code", 1},             // removes unused values
    {"size_results", 0},          // sizes that depend on values are computed first
    {"fuse_ops", 0},              // chains of operators become one kernel each; at level 0 each operator alone
    // Values inside of a kernel are float32 in any case; those between kernels are short.
    {"round_once", 1, Mode::Inference, {Precision::BFloat16, Precision::Float16}},
};

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

const char* name(Precision precision) {
  switch (precision) {
    case Precision::AsWritten: return "as_written";
    case Precision::BFloat16: return "bf16";
    case Precision::Float16: return "f16";
    case Precision::Auto: return "auto";
    case Precision::TwoParts: return "bf16x2";
    case Precision::ThreeParts: return "bf16x3";
    case Precision::ShortInputs: return "int8_inputs";
  }
  return "?";
}

Result<Precision> find_precision(const std::string& text) {
  for (Precision p : {Precision::AsWritten, Precision::BFloat16, Precision::Float16, Precision::Auto,
                      Precision::TwoParts, Precision::ThreeParts, Precision::ShortInputs})
    if (text == name(p)) return p;
  return Diagnostic{DiagnosticKind::bad_option,
                    format("there is no precision '{}'", text),
                    {},
                    {},
                    {},
                    "as_written, bf16, f16, auto, bf16x2, bf16x3 or int8_inputs"};
}

Pipeline pipeline(int level, Mode mode, Precision precision) {
  Pipeline out;
  for (const LevelledPass& step : steps)
    if (step.level <= level && step.mode.value_or(mode) == mode &&
        (step.precisions.empty() || std::ranges::count(step.precisions, precision)))
      out.passes.emplace_back(step.pass);
  // Computes the model as written: norms have separate kernels, and results are rounded where the model does.
  out.options = {{"simplify_inference.norms", int64_t{0}},
                 {"simplify_expr.rounding", int64_t{0}},
                 {"fold_explicit_padding.finite", int64_t{0}},
                 {"fake_quantization_to_integer.exact", int64_t{1}}};
  if (precision == Precision::BFloat16 || precision == Precision::Float16) {
    out.options["to_mixed_precision.dtype"] = std::string(precision == Precision::Float16 ? "float16" : "bfloat16");
    out.options["to_mixed_precision.keep_output"] = int64_t{1};
    out.options["to_mixed_precision.missing"] = int64_t{2};
    out.options["to_mixed_precision.least_channels"] = int64_t{4};  // two pairs
  }
  if (precision == Precision::TwoParts) out.options["split_contractions.parts"] = int64_t{2};
  if (level == 0) out.options["fuse_ops.max_group"] = int64_t{1};
  if (level == 3) out.options["fold_constant.max_elements"] = int64_t{1} << 20;  // folds larger weights too
  return out;
}

}  // namespace relay::driver
