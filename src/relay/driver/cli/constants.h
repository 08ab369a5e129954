// The constants that a program keeps of a model's weights: their forms, their readers and the reason for a second form.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "relay/runtime/program/program.h"

namespace relay::cli {

struct ConstantRow {
  uint32_t index = 0;
  std::string name, type;
  std::string form;  // "as in the model", "packed 0/32,2,3,1,0%32", "computed when loaded"
  int64_t bytes = 0;
  bool stored = true;                // in the file; if false, a preparation computes it
  std::vector<std::string> readers;  // "step 3 fused_nn_conv2d"
  std::string reason;                // the reason for another form of the same weights; empty if there is none
};

// `program`: not linked yet.
std::vector<ConstantRow> constants_of(const runtime::Program& program);
// `model_bytes`: of the model's own weights; 0 if unknown. `each`: also prints a line for each constant.
void print_constants(const std::vector<ConstantRow>& rows, int64_t model_bytes, bool each);
nlohmann::ordered_json as_json(const std::vector<ConstantRow>& rows);

}  // namespace relay::cli
