// Programs that carry gradients with their values, for control flow, closures, data types and references (Roesch et
// al., "Relay: A High-Level Compiler for Deep Learning", 2019, section 4.3; the tape is that of Pearlmutter and
// Siskind, 2008):
//
//   Tensor[s, float32]     becomes  (Tensor[s, float32], Ref[Tensor[s, float32]])    a value and its gradient so far
//   fn (T) -> R            becomes  fn (T') -> R'
//   List[Tensor[..]]       becomes  List[(Tensor[..], Ref[Tensor[..]])]
//   type Tree { .. }       becomes  Tree_adjoint if its definition contains tensors of floats
//
// Everything else is unchanged, including integers. A straight-line piece of the program (reverse_mode.h) computes as
// before, and then prepends a function to the tape, which is a reference to a function. That function reads the
// gradients of the piece's results, adds to those of its operands, and calls the previous function of the tape. Global
// functions get the tape as their first parameter.
#pragma once

#include <map>

#include "relay/transform/gradient/reverse_mode.h"

namespace relay::transform {

class AdjointModule {
 public:
  // `module` is typed. Adds the definitions that are needed to it.
  explicit AdjointModule(ir::Module& module) : module_(module) { find_active_types(); }

  ir::Type lifted(const ir::Type& type) const;
  // The scope with gradients. `tape` is the tape's expression; free variables are replaced by lifted_variable(). Adds
  // the global functions that it calls.
  ir::Expr lifted_body(const ir::Expr& body, const ir::Expr& tape);
  ir::VarRef lifted_variable(const ir::VarRef& v);

  // Converts values of a type. `span`: the place for errors.
  enum class To { Adjoint, Value, Gradient };
  ir::Expr converted(To to, const ir::Expr& value, const ir::Type& type, const Span& span);
  // Adds `gradient`, of the data type `type`, to that of a lifted value.
  static void add_gradient(Lets& out, const ir::Expr& lifted, const ir::Expr& gradient, const ir::Type& type);
  static ir::Type tape_type();

  // Adds the requested functions. Must be called last.
  void finish();

  Diagnostics errors;

 private:
  friend class AdjointScope;
  void find_active_types();
  ir::Expr lifted_constructor(const ir::Expr& constructor);
  std::string function_name(const std::string& name);
  ir::Expr conversion_function(To to, const ir::Type& type, const Span& span);

  ir::Module& module_;
  std::map<std::string, std::string> types_;      // names of definitions that contain tensors of floats
  std::map<std::string, std::string> functions_;  // original global functions to lifted ones
  std::vector<std::string> wanted_;               // not yet made
  struct Conversion {
    To to;
    ir::Type type;
    std::string name;
  };
  std::vector<Conversion> conversions_;
  ir::NodeMap<ir::VarRef> variables_;
  std::vector<Scope> scopes_;  // kept for as long as their variables are keys
  std::vector<ir::FunctionRef> functions_kept_;
  ir::NodeSet demanded_;  // variables whose lifted form an inner scope, or a later piece, needs
};

}  // namespace relay::transform
