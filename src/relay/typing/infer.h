// A run of inference, shared by its files: infer.cpp (the walk over expressions), calls.cpp (calls and operators'
// relations), match.cpp (patterns and exhaustiveness), module.cpp (globals in order of dependency, the entry points).
//
// The walk writes types with holes into node->type as it goes; the end of the run replaces holes by their types, or,
// after errors, removes all types that it wrote.
#pragma once

#include <map>
#include <unordered_set>

#include "relay/ir/rewrite.h"
#include "relay/op/conditions.h"
#include "relay/typing/typing.h"
#include "relay/typing/unify.h"

namespace relay::typing {

class Inference {
 public:
  explicit Inference(const ir::Module* module) : module_(module) {}

  // The functions of the module, or those that are reachable from `root`.
  void infer_globals(const ir::Expr& root = nullptr);
  Type infer_root(const ir::Expr& root);
  // Replaces holes by their types. After errors, removes every type written, unless they are kept, and returns false.
  bool finish(bool keep_types = false);
  Diagnostics messages() const;  // errors and warnings, by place

  // Two sizes of a global function that an operator in it requires to be equal: `var` must be `value`.
  struct Agreement {
    const ir::Function* function;
    scalar::Binding binding;
    Diagnostic warning;
  };
  const std::vector<Agreement>& agreements() const { return agreements_; }

 private:
  struct Frame {
    const ir::ExprNode* e;
    uint32_t step = 0;
  };

  // --- the walk ----------------------------------------------------------------------------------------------------
  void walk(const ir::Expr& root);
  bool need(const ir::Expr& child);  // true if it must be typed first (and is now on the stack)
  bool visit(Frame& frame);          // true if the node is done
  bool visit_let(const ir::Let* let, uint32_t& step);
  bool visit_function(const ir::Function* f, uint32_t& step);
  bool visit_if(const ir::If* e, uint32_t& step);
  bool visit_match(const ir::Match* match, uint32_t& step);
  void visit_free_var(const ir::Var* var);
  bool finish_projection(const ir::TupleGetItem* item);
  void finish_ref_read(const ir::RefRead* read);
  void finish_ref_write(const ir::RefWrite* write);
  Type signature(const ir::Function* f);
  void bind_let(const ir::Let* let);
  Type type_of(const ir::Expr& e);
  void set(const ir::ExprNode* e, Type type);
  void check_annotation(const Type& type, const Span& span);
  Type checked_size(Type type, const Span& span);

  // --- calls -------------------------------------------------------------------------------------------------------
  void finish_call(const ir::Call* call);
  void call_function(const ir::Call* call, const Type& callee);
  Type instance_for(const ir::Call* call, const Type& callee, bool closed);
  void start_operator(const ir::Call* call, const ir::Op* op);
  bool complete_inputs(const ir::Call* call, const ir::Op* op, Types& inputs);
  bool try_operator(const ir::Call* call, const ir::Op* op, const Type& result);  // false: inputs not known yet
  void retry_pending();
  void assume_parameters();
  void note_agreements(const ir::Call* call, const ir::Op* op, const std::vector<op::Condition>& assumed);
  Type global_type(const ir::GlobalVar* global);
  Type constructor_type(const ir::Constructor* constructor);

  // --- match -------------------------------------------------------------------------------------------------------
  void type_pattern(const ir::Pattern& pattern, const Type& type, int depth);
  void check_clauses(const ir::Match* match);

  // --- messages ----------------------------------------------------------------------------------------------------
  void report(DiagnosticKind kind, std::string message, Span span, std::string help,
              std::vector<std::string> notes = {}, std::vector<Label> labels = {});
  // "`what` has type ..., but ... is expected", for the last failed unify().
  void mismatch(const std::string& what, const Type& expected, const Type& found, const Span& span,
                std::vector<Label> labels = {}, bool advise = true);
  void check_promise(const std::string& what, const Type& promised, const Type& both, const Span& span);
  // The place of a part of `whole`: its own if that is inside of `whole`, else (a variable, a shared node) that of
  // `whole`.
  static Span place(const ir::Expr& part, const ir::ExprNode* whole);
  bool concerns_error(const Type& type);
  std::string show(const Type& type);

  // The values of a generic callee's type variables in a call.
  struct Instance {
    const ir::Call* call;
    Types type_args;
  };

  const ir::Module* module_;
  Unifier unifier_;
  DiagnosticSink sink_;
  std::vector<Frame> stack_;
  std::vector<const ir::ExprNode*> touched_;
  std::map<std::string, Type, std::less<>> globals_;  // their types, possibly with holes
  std::map<std::string, bool, std::less<>> closed_;   // true if the type is known before the body is inferred
  std::unordered_map<const ir::ExprNode*, Type> signatures_;
  std::unordered_map<const ir::ExprNode*, Type> results_;  // of if and match, while their branches are walked
  std::unordered_set<const ir::ExprNode*> cleared_;
  bool reported_too_large_ = false;
  struct Pending {
    const ir::ExprNode* e;  // a call of an operator, or a projection
    Type result;
  };
  std::vector<Pending> pending_;
  std::vector<Instance> instances_;
  const ir::Function* global_ = nullptr;  // the function whose body is walked
  Dims entry_dims_;                       // the shape variables of its parameters that are tensors
  std::vector<Agreement> agreements_;
  Label matched_;  // the value that the patterns are matched with
};

}  // namespace relay::typing
