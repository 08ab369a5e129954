// Names in a text: variables, type variables and shape variables get names that are unique where they are visible, so
// that reading the text resolves them to the same variables.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/ir/expr.h"

namespace relay::text {

// The names of one definition. A hint that is already used gets a number: %x, %x1.
class Names {
 public:
  const std::string& var(const ir::ExprNode* var, const std::string& hint);  // as in text: %x, %"input.1"
  const std::string& type_var(const ir::TypeVar* var);
  // Shape variables belong to the innermost function that is open at their first use.
  void open_function() { frames_.emplace_back(); }
  void close_function() { frames_.pop_back(); }
  const std::string& dim(const scalar::Node* var);

  std::string type(const ir::Type& type);
  std::string shape(const ir::Dims& dims);  // "(1, m)"
  std::string dim(const ir::Dim& dim);
  std::string value(const ir::AttrValue& value);
  std::string attrs(const ir::Attrs& attrs);  // "strides=[2, 2], groups=2": attributes that differ from the defaults
  std::string attrs(const ir::DictAttrs& attrs);

 private:
  std::string unique(std::unordered_set<std::string>& used, const std::string& hint);
  void print_dim(const ir::Dim& dim, int outer, int depth, std::string* out);

  struct Frame {
    std::unordered_map<const scalar::Node*, std::string> dims;
    std::unordered_set<std::string> used;
  };
  std::unordered_map<const void*, std::string> names_;
  std::unordered_set<std::string> used_vars_, used_types_;
  std::unordered_map<std::string, size_t> next_number_;
  std::vector<Frame> frames_{1};
};

// The name after % or @: unchanged, or quoted if it is not an identifier.
std::string written_name(const std::string& name);

}  // namespace relay::text
