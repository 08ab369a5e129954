#include "relay/frontend/tflite/operators.h"

#include <map>

#include "relay/base/text.h"

namespace relay::tflite {

#define RELAY_TFLITE(name, ...) frontend::Values name(Convert& c);
#define RELAY_TFLITE_NAME(name, number)
namespace convert {
#include "relay/frontend/tflite/operators.def"
}
#undef RELAY_TFLITE
#undef RELAY_TFLITE_NAME

static const std::map<int64_t, Operator>& table() {
  constexpr size_t any = Operator::any;
  using enum Quantised;
#define RELAY_TFLITE(name, number, options, min_inputs, max_inputs, min_outputs, quantised)                   \
  {number,                                                                                                    \
   {number, #name, std::string_view(#options) == "None" ? "" : #options, min_inputs, max_inputs, min_outputs, \
    quantised, convert::name}},
#define RELAY_TFLITE_NAME(name, number)
  static const std::map<int64_t, Operator> operators = {
#include "relay/frontend/tflite/operators.def"
  };
#undef RELAY_TFLITE
#undef RELAY_TFLITE_NAME
  return operators;
}

std::string operator_name(int64_t code) {
#define RELAY_TFLITE(name, number, ...) {number, #name},
#define RELAY_TFLITE_NAME(name, number) {number, #name},
  static const std::map<int64_t, const char*> names = {
#include "relay/frontend/tflite/operators.def"
  };
#undef RELAY_TFLITE
#undef RELAY_TFLITE_NAME
  auto found = names.find(code);
  return found == names.end() ? format("operator {}", code) : found->second;
}

const Operator* find_operator(int64_t code) {
  auto found = table().find(code);
  return found == table().end() ? nullptr : &found->second;
}

std::vector<std::string> operator_names() {
  std::vector<std::string> names;
  for (const auto& [code, op] : table()) names.emplace_back(op.name);
  return names;
}

}  // namespace relay::tflite
