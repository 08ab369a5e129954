// The language: expressions and modules.
//
// Nodes are immutable and shared: a node used twice is computed once, and the printer gives it a name (%0). Each struct
// names its fields once, in `fields`; children, equality, hashing and rebuilding derive from that list (ir/fields.h).
// No function over expressions recurses natively: use rewrite() and visit() of ir/rewrite.h.
#pragma once

#include <map>

#include "relay/ir/attrs.h"
#include "relay/ir/type.h"
#include "relay/tensor/tensor.h"

namespace relay::op {
struct OpDef;
}

namespace relay::ir {

enum class ExprKind : uint8_t {
#define RELAY_EXPR(kind) kind,
#include "relay/ir/exprs.def"
#undef RELAY_EXPR
};
const char* name(ExprKind kind);

struct ExprNode : Counted {
  explicit ExprNode(ExprKind k) : kind(k) {}
  ExprKind kind;
  Span span;
  // the inferred type ("checked type"); null before inference. Passes keep it on nodes they do not change
  mutable Type type;
};
using Expr = Ref<const ExprNode>;
using Exprs = std::vector<Expr>;

// A tensor value.
struct Constant : ExprNode {
  explicit Constant(Tensor v) : ExprNode(ExprKind::Constant), value(std::move(v)) {}
  Tensor value;
  static constexpr auto fields = std::tuple{&Constant::value};
};

// (a, b)
struct Tuple : ExprNode {
  explicit Tuple(Exprs f) : ExprNode(ExprKind::Tuple), elements(std::move(f)) {}
  Exprs elements;
  static constexpr auto fields = std::tuple{&Tuple::elements};
};

// %x. Identity is the node; the name is a hint.
struct Var : ExprNode {
  Var(std::string n, Type a) : ExprNode(ExprKind::Var), name(std::move(n)), annotation(std::move(a)) {}
  std::string name;
  Type annotation;                                              // null if absent
  static constexpr auto fields = std::tuple{&Var::annotation};  // compared as a binder or by identity, never by name
};
using VarRef = Ref<const Var>;

// @f. Identity is the name.
struct GlobalVar : ExprNode {
  explicit GlobalVar(std::string n) : ExprNode(ExprKind::GlobalVar), name(std::move(n)) {}
  std::string name;
  static constexpr auto fields = std::tuple{&GlobalVar::name};
};

// fn [A](%x: T, attr=1) -> R { body }
struct Function : ExprNode {
  Function(std::vector<VarRef> p, Expr b, Type r = {}, Types t = {}, DictAttrs a = {})
      : ExprNode(ExprKind::Function),
        type_params(std::move(t)),
        params(std::move(p)),
        result_type(std::move(r)),
        body(std::move(b)),
        attrs(std::move(a)) {}
  Types type_params;  // TypeVar
  std::vector<VarRef> params;
  Type result_type;  // null: to be inferred
  Expr body;
  DictAttrs attrs;
  static constexpr auto fields =
      std::tuple{&Function::type_params, &Function::params, &Function::result_type, &Function::body, &Function::attrs};
  bool is_primitive() const { return attrs.count("Primitive") != 0; }
};
using FunctionRef = Ref<const Function>;

// callee(args, attributes)
struct Call : ExprNode {
  Call(Expr c, Exprs a, Attrs at = {})
      : ExprNode(ExprKind::Call), callee(std::move(c)), args(std::move(a)), attrs(std::move(at)) {}
  Expr callee;
  Exprs args;
  Attrs attrs;              // null unless the callee is an operator with attributes
  mutable Types type_args;  // for a generic callee: the inferred type arguments; a cache like `type`
  static constexpr auto fields = std::tuple{&Call::callee, &Call::args, &Call::attrs};
};

// let %x = value; body. If the value is a function, it may refer to %x.
struct Let : ExprNode {
  Let(VarRef v, Expr x, Expr b) : ExprNode(ExprKind::Let), var(std::move(v)), value(std::move(x)), body(std::move(b)) {}
  VarRef var;
  Expr value, body;
  static constexpr auto fields = std::tuple{&Let::var, &Let::value, &Let::body};
};

// if (c) { a } else { b }; c is a bool scalar
struct If : ExprNode {
  If(Expr c, Expr t, Expr e)
      : ExprNode(ExprKind::If), condition(std::move(c)), then_branch(std::move(t)), else_branch(std::move(e)) {}
  Expr condition, then_branch, else_branch;
  static constexpr auto fields = std::tuple{&If::condition, &If::then_branch, &If::else_branch};
};

// tuple.index
struct TupleGetItem : ExprNode {
  TupleGetItem(Expr t, int64_t i) : ExprNode(ExprKind::TupleGetItem), tuple(std::move(t)), index(i) {}
  Expr tuple;
  int64_t index;
  static constexpr auto fields = std::tuple{&TupleGetItem::tuple, &TupleGetItem::index};
};

// ref(value), ref_read(r), ref_write(r, value); a write returns ()
struct RefCreate : ExprNode {
  explicit RefCreate(Expr v) : ExprNode(ExprKind::RefCreate), value(std::move(v)) {}
  Expr value;
  static constexpr auto fields = std::tuple{&RefCreate::value};
};
struct RefRead : ExprNode {
  explicit RefRead(Expr r) : ExprNode(ExprKind::RefRead), ref(std::move(r)) {}
  Expr ref;
  static constexpr auto fields = std::tuple{&RefRead::ref};
};
struct RefWrite : ExprNode {
  RefWrite(Expr r, Expr v) : ExprNode(ExprKind::RefWrite), ref(std::move(r)), value(std::move(v)) {}
  Expr ref, value;
  static constexpr auto fields = std::tuple{&RefWrite::ref, &RefWrite::value};
};

// A pattern of a match clause.
struct PatternNode;
using Pattern = Ref<const PatternNode>;
enum class PatternKind : uint8_t { Wildcard, Var, Constructor, Tuple };
struct PatternNode : Counted {
  PatternKind kind = PatternKind::Wildcard;
  VarRef var;                     // Var
  Expr constructor;               // Constructor
  std::vector<Pattern> patterns;  // Constructor, Tuple
  Span span;
};

struct Clause {
  Pattern pattern;
  Expr body;
};

// match (data) { pattern => body, ... }; `match?` when not complete
struct Match : ExprNode {
  Match(Expr d, std::vector<Clause> c, bool complete_)
      : ExprNode(ExprKind::Match), data(std::move(d)), clauses(std::move(c)), complete(complete_) {}
  Expr data;
  std::vector<Clause> clauses;
  bool complete;
  static constexpr auto fields = std::tuple{&Match::data, &Match::clauses, &Match::complete};
};

// A constructor of a type definition; callable. Identity is (type, name).
struct Constructor : ExprNode {
  Constructor(std::string n, Types i, std::string of, int64_t t)
      : ExprNode(ExprKind::Constructor), name(std::move(n)), inputs(std::move(i)), data_type(std::move(of)), tag(t) {}
  std::string name;
  Types inputs;
  std::string data_type;
  int64_t tag;  // its index in the definition
  static constexpr auto fields = std::tuple{&Constructor::name, &Constructor::data_type};
};

// A primitive operator: one node per operator in the whole process, made by the registry (op/registry.h).
struct Op : ExprNode {
  Op(std::string n, const op::OpDef* d) : ExprNode(ExprKind::Op), name(std::move(n)), def(d) {}
  std::string name;
  const op::OpDef* def;
  static constexpr auto fields = std::tuple{&Op::name};
};

template <class T>
inline constexpr ExprKind kind_of{};
#define RELAY_EXPR(kind) \
  template <>            \
  inline constexpr ExprKind kind_of<kind> = ExprKind::kind;
#include "relay/ir/exprs.def"
#undef RELAY_EXPR

// The node as a T, or null if it is of another kind.
template <class T>
const T* as(const Expr& e) {
  return e && e->kind == kind_of<T> ? static_cast<const T*>(e.get()) : nullptr;
}
inline VarRef as_var(const Expr& e) { return VarRef(as<Var>(e)); }

// type List[A] { Cons(A, List[A]), Nil }
struct TypeDef {
  std::string name;
  Types type_params;
  std::vector<Ref<const Constructor>> constructors;
  bool is_extern = false;
  Span span;
};

// Functions and type definitions by name. A value: copying is cheap enough (maps of pointers) and passes return new
// ones.
struct Module {
  std::map<std::string, FunctionRef> functions;
  std::map<std::string, TypeDef> types;
  DictAttrs attrs;
};

// --- constructors (a span can be passed; by default it is that of the first child)
// ------------------------------------
Expr constant(Tensor value, Span span = {});
Expr constant(double value, DType dtype = DType::float32());  // a scalar
VarRef var(std::string name, Type annotation = {}, Span span = {});
Expr tuple(Exprs elements, Span span = {});
Expr get(Expr tuple, int64_t index, Span span = {});
Expr call(Expr callee, Exprs args, Attrs attrs = {}, Span span = {});
Expr let(VarRef var, Expr value, Expr body, Span span = {});
Expr if_(Expr condition, Expr then_branch, Expr else_branch, Span span = {});
FunctionRef function(std::vector<VarRef> params, Expr body, Type result = {}, Types type_params = {},
                     DictAttrs attrs = {}, Span span = {});
Expr global(std::string name, Span span = {});

}  // namespace relay::ir
