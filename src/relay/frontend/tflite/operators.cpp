#include "relay/frontend/tflite/operators.h"

#include <map>

#include "relay/base/text.h"

namespace relay::tflite {

#define RELAY_TFLITE(name, ...) frontend::Values name(Convert& c);
#define RELAY_TFLITE_NAME(name, number)
#define RELAY_TFLITE_CUSTOM(name, ...) frontend::Values name(Convert& c);
namespace convert {
#include "relay/frontend/tflite/operators.def"
}
#undef RELAY_TFLITE
#undef RELAY_TFLITE_NAME
#undef RELAY_TFLITE_CUSTOM

static const std::map<int64_t, Operator>& table() {
  constexpr size_t any = Operator::any;
  using enum Quantised;
#define RELAY_TFLITE(name, number, options, min_inputs, max_inputs, min_outputs, quantised)                   \
  {number,                                                                                                    \
   {number, #name, std::string_view(#options) == "None" ? "" : #options, min_inputs, max_inputs, min_outputs, \
    quantised, convert::name}},
#define RELAY_TFLITE_NAME(name, number)
#define RELAY_TFLITE_CUSTOM(name, ...)
  static const std::map<int64_t, Operator> operators = {
#include "relay/frontend/tflite/operators.def"
  };
#undef RELAY_TFLITE
#undef RELAY_TFLITE_CUSTOM
  return operators;
}

static const std::map<std::string_view, Operator>& customs() {
#define RELAY_TFLITE(...)
#define RELAY_TFLITE_CUSTOM(name, min_inputs, max_inputs, min_outputs) \
  {#name, {custom_operator, #name, "", min_inputs, max_inputs, min_outputs, Quantised::Own, convert::name}},
  static const std::map<std::string_view, Operator> operators = {
#include "relay/frontend/tflite/operators.def"
  };
#undef RELAY_TFLITE
#undef RELAY_TFLITE_NAME
#undef RELAY_TFLITE_CUSTOM
  return operators;
}

std::string operator_name(int64_t code) {
#define RELAY_TFLITE(name, number, ...) {number, #name},
#define RELAY_TFLITE_NAME(name, number) {number, #name},
#define RELAY_TFLITE_CUSTOM(name, ...)
  static const std::map<int64_t, const char*> names = {
#include "relay/frontend/tflite/operators.def"
  };
#undef RELAY_TFLITE
#undef RELAY_TFLITE_NAME
#undef RELAY_TFLITE_CUSTOM
  auto found = names.find(code);
  return found == names.end() ? format("operator {}", code) : found->second;
}

const Operator* find_operator(int64_t code, std::string_view custom) {
  if (!custom.empty()) {
    auto found = customs().find(custom);
    return found == customs().end() ? nullptr : &found->second;
  }
  auto found = table().find(code);
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace relay::tflite
