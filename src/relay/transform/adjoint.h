// Programs that carry gradients with their values, for control flow, closures, data types and references (Roesch et
// al., "Relay: A High-Level Compiler for Deep Learning", 2019, section 4.3; the tape is that of Pearlmutter and
// Siskind, 2008):
//
//   Tensor[s, float32]     becomes  (Tensor[s, float32], Ref[Tensor[s, float32]])    a value and its gradient so far
//   fn (T) -> R            becomes  fn (T') -> R'
//   List[Tensor[..]]       becomes  List[(Tensor[..], Ref[Tensor[..]])]
//   type Tree { .. }       becomes  Tree_adjoint where tensors of floats stand in its definition
//
// Everything else stays, integers among it. A straight piece of the program (reverse_mode.h) computes as before, and
// then puts one function in front of the tape, a reference to a function: it reads the gradients of what the piece
// made, adds to those of what it used, and calls the function that was there before. Global functions get the tape as
// their first parameter.
#pragma once

#include <map>

#include "relay/transform/reverse_mode.h"

namespace relay::transform {

class AdjointModule {
 public:
  // `module` is typed. Adds to it what is needed.
  explicit AdjointModule(ir::Module& module) : module_(module) { find_active_types(); }

  ir::Type lifted(const ir::Type& type) const;
  // The scope with gradients, the tape being what `tape` says; free variables become what lifted_variable() gives.
  // Global functions that it calls are added.
  ir::Expr lifted_body(const ir::Expr& body, const ir::Expr& tape);
  ir::VarRef lifted_variable(const ir::VarRef& v);

  // Values of a type and back. `span`: of whom it is said that it cannot be.
  enum class To { Adjoint, Value, Gradient };
  ir::Expr converted(To to, const ir::Expr& value, const ir::Type& type, const Span& span);
  // Adds `gradient`, of the data type `type`, to that of a lifted value.
  static void add_gradient(Lets& out, const ir::Expr& lifted, const ir::Expr& gradient, const ir::Type& type);
  static ir::Type tape_type();

  // Adds the functions that were asked for. Call it last.
  void finish();

  Diagnostics errors;

 private:
  friend class AdjointScope;
  void find_active_types();
  ir::Expr lifted_constructor(const ir::Expr& constructor);
  std::string function_name(const std::string& name);
  ir::Expr conversion_function(To to, const ir::Type& type, const Span& span);

  ir::Module& module_;
  std::map<std::string, std::string> types_;      // names of definitions that have tensors of floats in them
  std::map<std::string, std::string> functions_;  // lifted global functions by those they were
  std::vector<std::string> wanted_;               // not made yet
  struct Conversion {
    To to;
    ir::Type type;
    std::string name;
  };
  std::vector<Conversion> conversions_;
  ir::NodeMap<ir::VarRef> variables_;
  std::vector<Scope> scopes_;  // these two for as long as their variables are keys
  std::vector<ir::FunctionRef> functions_kept_;
  ir::NodeSet demanded_;  // variables of which a scope inside, or a later piece, needs the lifted form
};

}  // namespace relay::transform
