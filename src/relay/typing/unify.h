// Unification: makes two types equal by assigning values to their unknowns.
//
//   (_, Tensor[(4), float32])  with  (int32, Tensor[(k), float32]), k unknown     gives _ = int32, k = 4
//
// Unknown types are HoleType nodes, unknown dimensions are variables made by fresh_dim(). Known dimensions agree if
// they are proved equal; `?` agrees with everything, and the result is `?`. Types are walked recursively, with limits
// on depth and size: a program can build a type of exponential size, which is a diagnostic.
#pragma once

#include <unordered_map>
#include <unordered_set>

#include "relay/ir/node_map.h"
#include "relay/ir/type.h"

namespace relay::typing {

using ir::Dim;
using ir::Dims;
using ir::Type;
using ir::Types;

class Unifier {
 public:
  Type fresh() const { return ir::hole(); }
  Dim fresh_dim(const std::string& name);
  // A hole for a type that has already been reported; further errors about it are suppressed.
  Type error_type();
  bool is_error(const Type& hole) const { return errors_.count(hole.get()) != 0; }
  void mark_error(const Type& hole) { kept_.push_back(hole), errors_.insert(hole.get()); }

  // The type assigned to a hole, or the hole itself; other types unchanged.
  Type resolve(const Type& type);
  // The type with all known values substituted. Null if it is too large (see too_large()).
  Type deep(const Type& type);
  Type close(const Type& type);  // deep(), with `?` for every dimension that is still unknown
  Dim dim(const Dim& d);
  bool is_complete(const Type& type);  // for a type from deep(): no hole, no unknown dimension
  Type first_hole(const Type& type);   // in a type from deep(); null if there is none

  // The common type, or null: then conflict() is the difference, and too_large() is true if a limit was the reason.
  Type unify(const Type& expected, const Type& found);
  // The same for two types of which neither is expected (the branches of an if). If only one is generic, it is
  // instantiated.
  Type join(const Type& a, const Type& b);
  static constexpr const char* contains_itself = "a type would contain itself";  // a conflict
  // True if a dimension of `wanted` is `?` in `known`; both from deep().
  static bool loses_size(const Type& wanted, const Type& known);
  const std::string& conflict() const { return conflict_; }
  bool too_large() const { return too_large_; }
  // Solves equations between dimensions that were undecided. Returns false if one cannot hold.
  bool settle();

  // Shape variables of the functions around the current place: fixed, but unknown.
  void enter_function(const Types& params);
  void leave_function();
  // The function type with its type variables and its own shape variables replaced by unknowns. `closed`: all shape
  // variables are its own (it is a global). `type_args`: receives the unknowns for the type variables.
  Type instantiate(const Type& function, bool closed, Types* type_args = nullptr);

  // Limits: deeper or larger types are refused.
  static constexpr int depth_limit = 200;
  static constexpr int64_t size_limit = 1 << 18;
  // The help of a diagnostic about a type beyond the limits.
  static std::string limits() {
    return format("types may be nested {} levels deep, and have {} parts", depth_limit, size_limit);
  }

 private:
  struct Budget {
    int depth = 0;
    int64_t steps = 0;
  };
  bool step(Budget& budget);
  Type deep(const Type& type, Budget& budget);
  Type unify(const Type& a, const Type& b, Budget& budget);
  Type unify_functions(const Type& a, const Type& b, Budget& budget);
  Type bind(const Type& hole, const Type& value, Budget& budget);
  void widen(const Type& hole, const Type& value);  // no effect if `hole` is not a hole
  bool occurs(const Type& hole, const Type& in, Budget& budget);
  Dim unify_dims(const Dim& a, const Dim& b, size_t axis);
  bool bind_dim(const Dim& unknown, const Dim& value);
  bool solve(const Dim& a, const Dim& b);
  bool has_unknown(const Dim& d);
  Type fail(std::string conflict);

  std::unordered_map<const ir::TypeNode*, Type> values_;
  std::unordered_map<const scalar::Node*, Dim> dim_values_;
  std::unordered_set<const scalar::Node*> unknown_dims_;
  std::unordered_set<const ir::TypeNode*> errors_;
  std::vector<Type> kept_;  // keeps nodes alive whose addresses are keys above
  Dims kept_dims_;
  std::vector<std::pair<Dim, Dim>> equations_;
  std::vector<std::vector<const scalar::Node*>> fixed_;
  std::unordered_map<const scalar::Node*, int> fixed_count_;
  std::string conflict_;
  bool too_large_ = false;
  bool symmetric_ = false;  // during join()
};

// The shape variables of a type, each once in order of first use. `inside_functions`: include those in function types.
Dims shape_vars(const Type& type, bool inside_functions);

}  // namespace relay::typing
