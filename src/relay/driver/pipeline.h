// The default pipelines: the passes of each optimisation level.
//
//   O0  as written, one kernel per operator: the first thing to compare with when an answer looks wrong
//   O1  fused, without rewrites
//   O2  the default: every rewrite that keeps the answer within rounding
//   O3  O2, and passes that take more time to compile
#pragma once

#include "relay/transform/pass.h"

namespace relay::driver {

constexpr int default_opt_level = 2, max_opt_level = 3;

// The meaning of batch_norm and dropout.
enum class Mode : uint8_t {
  Inference,  // stored statistics; nothing is dropped
  Training,   // statistics and masks of the batch (training_forms)
};
const char* name(Mode mode);  // "inference", "training"
Result<Mode> find_mode(const std::string& name);

// The types of floats that the model has in float32. Sums of products are in float32 in all of them.
enum class Precision : uint8_t {
  AsWritten,
  BFloat16,  // those of contractions and of operators that follow them (to_mixed_precision)
  Float16,
  Auto,  // constant weights of products in float16 or bfloat16, all other values in float32 (shorten_weights)
  // Contractions from two or three bfloat16 parts of each float32, three or six products (split_contractions).
  TwoParts,
  ThreeParts,
  ShortInputs,  // inputs of products with weights of four bits rounded to 8 bits by blocks (round_inputs)
};
const char* name(Precision precision);  // "as_written", "bf16", "f16", "auto", "bf16x2", "bf16x3", "int8_inputs"
Result<Precision> find_precision(const std::string& name);

struct Pipeline {
  std::vector<std::string> passes;
  std::map<std::string, ir::AttrValue> options;  // of passes
};
// 0 <= level <= max_opt_level
Pipeline pipeline(int level, Mode mode = Mode::Inference, Precision precision = Precision::AsWritten);

// The passes that a program with control flow, functions or data goes through afterwards: from Relay to the form from
// which exec/ makes code.
const std::vector<std::string>& program_passes();

}  // namespace relay::driver
