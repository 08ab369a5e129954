// Data types of a program, and the kinds of its values (runtime/functions/value.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace relay::runtime {

struct Constructor {
  std::string name;
  uint32_t arity = 0;
  bool operator==(const Constructor&) const = default;
};
struct DataType {
  std::string name;
  std::vector<Constructor> constructors;  // by tag
  bool operator==(const DataType&) const = default;
};

enum class ObjectKind : uint8_t { Tensor, Tuple, Data, Closure, Reference };
constexpr int object_kind_count = 5;

}  // namespace relay::runtime
