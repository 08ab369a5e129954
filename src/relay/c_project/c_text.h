// Pieces of C text: names, types, array literals.
#pragma once

#include <set>
#include <string>

#include "relay/tensor/tensor.h"

namespace relay::c_project {

// C identifiers for any names, each once.
class Identifiers {
 public:
  Identifiers();  // keywords of C and C++ are taken
  void reserve(const std::string& name) { taken_.insert(name); }
  // "input.1" becomes input_1, or input_1_2 if that is taken.
  std::string add(const std::string& name);

 private:
  std::set<std::string> taken_;
};
std::string upper_case(std::string name);

// "float32[1, 3, 224, 224]"
std::string type_text(DType dtype, const Shape& shape);
// "1 * 3 * 224 * 224"; "1" for a scalar and for an array without elements, since C has no empty arrays.
std::string extent_text(const Shape& shape);

// The elements as initialisers, without braces: decimal numbers that round to the same bits. One 0 if there are none.
std::string literal(const Tensor& values);

// The bytes with the bytes of each element reversed, for a machine of the other byte order.
std::string reversed_elements(const Tensor& values);

}  // namespace relay::c_project
