// Strings of an import. Relay has no tensors of strings: their elements are int64, places in one list of all strings of
// the model. Equal strings have one place, so that moving and comparing strings works on their places.
//
// The list is part of the module (`strings` of @main's attributes, with the names of the inputs and outputs that are
// strings), so that callers can convert strings to numbers. A string that is not in the list gets any number beyond its
// end, equal strings the same.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "relay/tensor/tensor.h"

namespace relay::onnx {

// The way that an operator handles an input of strings: refuses it, moves its elements without looking at them, or
// knows them.
enum class StringUse : uint8_t { Refuses, Moves, Knows };
StringUse string_use(std::string_view op);

class Strings {
 public:
  // The place of a string, which is appended to the list if it is new.
  int64_t code(std::string_view text) {
    auto [it, is_new] = places_.try_emplace(std::string(text), static_cast<int64_t>(list_.size()));
    if (is_new) list_.emplace_back(text);
    return it->second;
  }
  // The places of several strings, as a tensor of rank 1.
  Tensor codes(const std::vector<std::string_view>& strings) {
    std::vector<int64_t> all;
    for (std::string_view text : strings) all.push_back(code(text));
    return Tensor::from_ints({static_cast<int64_t>(all.size())}, DType::int64(), all);
  }
  const std::vector<std::string>& list() const { return list_; }

 private:
  std::vector<std::string> list_;
  std::map<std::string, int64_t, std::less<>> places_;
};

}  // namespace relay::onnx
