// TypeMatcher: equality of types, dimensions and attributes up to a renaming of variables.
//
//   fn [A](List[A]) -> Tensor[(n, n + 1), float32]   equals   fn [B](List[B]) -> Tensor[(m, m + 1), float32]
//
// Bound type variables are paired where they are bound. Shape variables have no binder in the text; with `match_dims`
// they are paired where they first meet and must stay paired; without it they equal only themselves.
#pragma once

#include <set>
#include <unordered_map>

#include "relay/ir/attrs.h"
#include "relay/ir/type.h"

namespace relay::ir {

class TypeMatcher {
 public:
  explicit TypeMatcher(bool match_dims = false) : match_dims_(match_dims) {}

  bool equal(const Type& a, const Type& b);
  bool equal(const Types& a, const Types& b);
  bool equal(const Dim& a, const Dim& b);
  bool equal(const Dims& a, const Dims& b);
  bool equal(const AttrValue& a, const AttrValue& b);
  bool equal(const Attrs& a, const Attrs& b);
  bool equal(const DictAttrs& a, const DictAttrs& b);
  // Pairs type variables; returns false if their numbers differ.
  bool bind(const Types& a, const Types& b);

 private:
  bool pair_dims(const Dim& a, const Dim& b);

  bool match_dims_;
  std::unordered_map<const TypeNode*, const TypeNode*> vars_, reverse_vars_;
  std::unordered_map<const scalar::Node*, Dim> dims_, reverse_dims_;  // a's to b's, and back
  // pairs of compound types already proved equal: types are DAGs
  std::set<std::pair<const TypeNode*, const TypeNode*>> proven_;
};

}  // namespace relay::ir
