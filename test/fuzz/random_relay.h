// Random well-typed Relay programs over all kinds of nodes, for the fuzzer of the language.
//
//   Module m = RelayGenerator(seed).generate();     @main takes a tensor and an integer, and always returns a value
//
// The generator makes a random expression of a requested type. Programs terminate: a global function calls only earlier
// ones, or itself with a decreasing counter; functions that are written to references capture nothing. Numbers are
// small integers, floats too, so that all executors compute the same values.
#pragma once

#include <map>
#include <random>
#include <set>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/text/text.h"

namespace relay::fuzz {

using namespace ir;

class RelayGenerator {
 public:
  explicit RelayGenerator(uint64_t seed) : random_(seed) {}

  Module generate() {
    module_ = *text::parse(R"(#[version = "0.0.5"]
import "list"
type Pair[A, B] { Both(A, B), }
type Path { End, Left(Path), Step(int32, Path) }
def @swap[A, B](%a: A, %b: B) -> (B, A) { (%b, %a) }
def @twice(%x: Tensor[(n), float32]) -> Tensor[(2 * n), float32] { concatenate((%x, %x)) }
def @sum_of(%x: Tensor[(n), float32], %y: Tensor[(n), float32]) -> Tensor[(n), float32] { add(%x, %y) }
)");
    for (const auto& [name, def] : module_.types)
      for (const Ref<const Constructor>& c : def.constructors) constructors_[c->name] = c;
    int functions = in(1, 3);
    for (int i = 0; i < functions; ++i) add_function(format("f{}", i));
    Scope scope;
    shared_.clear();
    std::vector<VarRef> params = {var("x", tensor({2, 3})), var("n", integer())};
    for (const VarRef& p : params) scope.push_back(p);
    Type result = any_type(2);
    while (has_function(result)) result = any_type(2);
    module_.functions["main"] = function(params, expr(result, 6, scope), chance(2) ? result : Type());
    return module_;
  }

  // A program that may be invalid: one node is replaced, removed or added. `surely` is true if it must be refused.
  Module mutate(const Module& module, bool* surely) {
    *surely = false;
    Module out = module;
    FunctionRef main = out.functions["main"];
    std::vector<Expr> nodes;
    ir::visit(main->body, [&](const Expr& e) { nodes.push_back(e); });
    Expr victim = nodes[below(nodes.size())];
    Expr made = mutant(victim, surely);
    Expr body =
        ir::rewrite(main->body, [&](const Expr& before, const Expr& now) { return before == victim ? made : now; });
    out.functions["main"] = function(main->params, body, main->result_type, main->type_params, main->attrs);
    return out;
  }

 private:
  using Scope = std::vector<VarRef>;  // with annotations: the visible variables, innermost last

  int in(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }
  size_t below(size_t n) { return static_cast<size_t>(in(0, static_cast<int>(n) - 1)); }
  bool chance(int one_in) { return in(1, one_in) == 1; }

  // --- types ---------------------------------------------------------------------------------------------------------
  static Type integer() { return scalar_type(DType::int32()); }
  static Type boolean() { return scalar_type(DType::boolean()); }
  static Type tensor(std::initializer_list<int64_t> shape) { return tensor_type(shape, DType::float32()); }
  static Type data(const char* name, Types args = {}) {
    Type callee = make<DataTypeName>(name);
    return args.empty() ? callee : Type(make<TypeCall>(callee, std::move(args)));
  }
  // A vector of unknown size, which has at least one element and at most max_open.
  static Type open() { return tensor_type(Dims{scalar::any_dim()}, DType::float32()); }
  static bool is_open(const Type& type) { return equal(type, open()); }
  static constexpr int64_t max_open = 5;
  Type narrow() {
    static const DType types[] = {DType::int8(), DType::uint8(), DType::int16(), DType::int64()};
    return scalar_type(types[below(std::size(types))]);
  }
  Type first_order() {
    switch (in(pure_ ? 2 : 0, 7)) {
      case 0: return open();
      case 1: return narrow();
      case 2: return tensor({2, 3});
      case 3: return tensor({3});
      case 4: return tensor({});
      case 5: return boolean();
      default: return integer();
    }
  }
  Type any_type(int depth) {
    if (depth == 0 || pure_) return first_order();
    switch (in(0, 11)) {
      case 0: return tuple_type({any_type(depth - 1), any_type(depth - 1)});
      case 1: return chance(2) ? tuple_type({any_type(depth - 1)}) : tuple_type({});
      case 2: return func_type({any_type(depth - 1)}, any_type(depth - 1));
      case 3: return make<RefType>(any_type(depth - 1));
      case 4: return data("List", {any_type(depth - 1)});
      case 5: return data("Option", {any_type(depth - 1)});
      case 6: return data("Pair", {any_type(depth - 1), any_type(depth - 1)});
      case 7: return data("Path");
      case 8: return func_type({data("Path")}, data("Path"));  // that of a constructor
      case 9:
        if (const Global* g = some_global()) return func_type(g->params, g->result);
        [[fallthrough]];
      default: return first_order();
    }
  }
  static bool has_function(const Type& t) {
    if (as<FuncType>(t) || as<TypeVar>(t)) return true;
    auto any = [](const Types& types) { return std::any_of(types.begin(), types.end(), has_function); };
    if (const TupleType* tuple = as<TupleType>(t)) return any(tuple->fields);
    if (const TypeCall* call = as<TypeCall>(t)) return any(call->args);
    if (const RefType* ref = as<RefType>(t)) return has_function(ref->value);
    return false;
  }

  // --- functions -----------------------------------------------------------------------------------------------------
  struct Global {
    std::string name;
    Types params;
    Type result;
  };

  // A global function that does not count down, or null if there is none.
  const Global* some_global() {
    for (const Global& g : globals_)
      if (recursive_.count(g.name) == 0) return &g;
    return nullptr;
  }

  void add_function(const std::string& name) {
    shared_.clear();
    Global g{name, {}, any_type(1)};
    Scope scope;
    std::vector<VarRef> params;
    for (int i = in(0, 2); i >= 0; --i) {
      g.params.push_back(any_type(1));
      params.push_back(var(format("p{}", i), g.params.back()));
      scope.push_back(params.back());
    }
    Expr body;
    if (chance(2)) {  // counts down
      g.params.push_back(integer());
      VarRef n = var("n", integer());
      params.push_back(n);
      Exprs args;
      Expr base = expr(g.result, 3, scope);
      scope.push_back(n);
      for (size_t i = 0; i + 1 < params.size(); ++i) args.push_back(expr(g.params[i], 2, scope));
      args.push_back(op("subtract", {n, number(1)}));
      Expr again = call(global(name), args);
      body = if_(op("less_equal", {n, number(0)}), base, combined(g.result, again, scope));
      recursive_.insert(name);
    } else {
      body = expr(g.result, 4, scope);
    }
    module_.functions[name] = function(params, body, g.result);
    globals_.push_back(g);
  }
  Expr combined(const Type& type, const Expr& value, Scope& scope) {
    if (!chance(2)) return value;
    VarRef v = var("again", type);
    scope.push_back(v);
    Expr body = expr(type, 2, scope);
    scope.pop_back();
    return let(v, value, body);
  }
  Expr lambda(const FuncType* f, int depth, Scope& scope) {
    std::vector<VarRef> params;
    size_t before = scope.size();
    for (const Type& arg : f->args) {
      params.push_back(var("a", arg));
      scope.push_back(params.back());
    }
    Expr body = expr(f->result, depth - 1, scope);
    scope.resize(before);
    return function(params, body, chance(2) ? f->result : Type());
  }

  // --- expressions ---------------------------------------------------------------------------------------------------
  static Expr op(const char* name, Exprs args) { return op::make(name, std::move(args)); }
  Expr number(int value) { return constant(Tensor::scalar(value, DType::int32())); }
  Expr constructor(const char* name) { return constructors_.at(name); }
  Expr tensor_constant(const TensorType* t) {
    Shape shape;
    for (const Dim& d : t->shape) shape.push_back(scalar::is_any(d) ? in(1, max_open) : d->ivalue);
    Tensor value = Tensor::empty(shape, t->dtype);
    const int least = t->dtype.is_bool() || t->dtype == DType::uint8() ? 0 : -2, most = t->dtype.is_bool() ? 1 : 2;
    for (int64_t i = 0; i < value.elements(); ++i) value.set(i, in(least, most));
    return constant(value);
  }

  // The variables of the type in scope.
  Exprs variables(const Type& type, const Scope& scope) {
    Exprs out;
    for (const VarRef& v : scope)
      if (equal(v->annotation, type)) out.push_back(v);
    return out;
  }

  // The smallest expression of the type.
  Expr leaf(const Type& type, Scope& scope) {
    Exprs vars = variables(type, scope);
    if (!vars.empty() && (as<TypeVar>(type) || !chance(3))) return vars[below(vars.size())];
    switch (type->kind) {
      case TypeKind::Tensor: {
        const Expr value = tensor_constant(as<TensorType>(type));
        return is_open(type) ? bound_to(type, value) : value;
      }
      case TypeKind::Tuple: {
        Exprs fields;
        for (const Type& f : as<TupleType>(type)->fields) fields.push_back(leaf(f, scope));
        return tuple(std::move(fields));
      }
      case TypeKind::Func: return lambda(as<FuncType>(type), 1, scope);
      case TypeKind::Ref: return make<RefCreate>(leaf(as<RefType>(type)->value, scope));
      case TypeKind::Data: return call(constructor("End"), {});
      case TypeKind::Call: {
        const TypeCall* t = as<TypeCall>(type);
        const std::string& name = as<DataTypeName>(t->callee)->name;
        if (name == "List" || name == "Option") {  // the annotation determines the element type
          VarRef v = var("none", type);
          return let(v, call(constructor(name == "List" ? "Nil" : "None"), {}), v);
        }
        return call(constructor("Both"), {leaf(t->args[0], scope), leaf(t->args[1], scope)});
      }
      default: break;
    }
    RELAY_CHECK(false, "no value of type {}", str(type));
    return {};
  }

  Expr expr(const Type& type, int depth, Scope& scope) {
    if (depth <= 0) return leaf(type, scope);
    if (!pure_ && chance(8)) {  // a node used more than once
      for (const Shared& s : shared_)
        if (equal(s.type, type)) return s.expr;
      if (as<TensorType>(type) && !is_open(type)) {
        Scope closed;
        pure_ = true;
        shared_.push_back({type, expr(type, depth, closed)});
        pure_ = false;
        return shared_.back().expr;
      }
    }
    switch (pure_ ? in(9, 15) : in(0, 15)) {
      case 0: return leaf(type, scope);
      case 1:
      case 2: return let_in(type, depth, scope);
      case 3: return if_(expr(boolean(), depth - 2, scope), expr(type, depth - 1, scope), expr(type, depth - 1, scope));
      case 4: {  // a field of a tuple
        Types fields;
        for (int i = in(0, 1); i >= 0; --i) fields.push_back(any_type(1));
        size_t at = below(fields.size() + 1);
        fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(at), type);
        return get(expr(tuple_type(fields), depth - 1, scope), static_cast<int64_t>(at));
      }
      case 5:
      case 6: return match_of(type, depth, scope);
      case 7: {  // a call of a value: a variable, a literal, any expression that yields a function
        Type arg = any_type(1);
        return call(expr(func_type({arg}, type), depth - 1, scope), {expr(arg, depth - 1, scope)});
      }
      case 8: return make<RefRead>(expr(make<RefType>(type), depth - 1, scope));
      case 9: return pure_ ? made(type, depth, scope) : write_in(type, depth, scope);
      case 10: return global_call(type, depth, scope);
      case 11: return generic_call(type, depth, scope);
      default: return made(type, depth, scope);
    }
  }

  // Constructs a value of the type: by operators, constructors, tuples, functions, references.
  Expr made(const Type& type, int depth, Scope& scope) {
    switch (type->kind) {
      case TypeKind::Tensor: return operator_call(as<TensorType>(type), type, depth, scope);
      case TypeKind::Tuple: {
        const Types& types = as<TupleType>(type)->fields;
        if (types.empty()) {  // the result of a write
          Type value = first_order();
          return make<RefWrite>(expr(make<RefType>(value), depth - 1, scope), expr(value, depth - 1, scope));
        }
        Exprs fields;
        for (const Type& f : types) fields.push_back(expr(f, depth - 1, scope));
        return tuple(std::move(fields));
      }
      case TypeKind::Func: return function_value(as<FuncType>(type), type, depth, scope);
      case TypeKind::Ref: return make<RefCreate>(expr(as<RefType>(type)->value, depth - 1, scope));
      case TypeKind::Data:
        if (chance(2)) return call(constructor("Left"), {expr(type, depth - 1, scope)});
        return call(constructor("Step"), {expr(integer(), depth - 1, scope), expr(type, depth - 1, scope)});
      case TypeKind::Call: {
        const TypeCall* t = as<TypeCall>(type);
        const std::string& name = as<DataTypeName>(t->callee)->name;
        if (name == "List")
          return call(constructor("Cons"), {expr(t->args[0], depth - 1, scope), expr(type, depth - 1, scope)});
        if (name == "Option") return call(constructor("Some"), {expr(t->args[0], depth - 1, scope)});
        return call(constructor("Both"), {expr(t->args[0], depth - 1, scope), expr(t->args[1], depth - 1, scope)});
      }
      default: return leaf(type, scope);
    }
  }

  Expr operator_call(const TensorType* t, const Type& type, int depth, Scope& scope) {
    auto some = [&](const Type& of) { return expr(of, depth - 1, scope); };
    if (t->dtype.is_bool()) {
      Type of = chance(2) ? integer() : chance(2) || pure_ ? tensor({}) : narrow();
      static const char* const names[] = {"less", "equal", "greater_equal"};
      return op(names[in(0, 2)], {some(of), some(of)});
    }
    static const char* const names[] = {"add", "subtract", "maximum", "minimum", "multiply"};
    const char* binary = names[in(0, chance(4) ? 4 : 3)];
    if (!t->dtype.is_float()) {
      if (!pure_ && chance(4))
        return op::make("cast", {some(equal(type, integer()) ? narrow() : integer())}, {{"dtype", t->dtype}});
      return op(binary, {some(type), some(type)});
    }
    if (is_open(type)) return open_vector(depth, scope);
    if (!pure_ && chance(6)) {
      if (t->shape.empty()) return op::make("sum", {some(open())});
      if (t->shape.size() == 1) return sized_call(some(type), some(type));
    }
    switch (in(0, 4)) {
      case 0: return op("nn.relu", {some(type)});
      case 1: return op("negative", {some(type)});
      case 2:
        if (t->shape.empty()) return op::make("sum", {some(tensor({3}))}, {{"axis", Ints{0}}});
        if (t->shape.size() == 1) return op::make("sum", {some(tensor({2, 3}))}, {{"axis", Ints{0}}});
        return op(binary, {some(type), some(tensor({3}))});
      case 3:
        if (t->shape.size() == 1) {
          Expr rows =
              op::make("split", {some(tensor({2, 3}))}, {{"indices_or_sections", int64_t{2}}, {"axis", int64_t{0}}});
          return op::make("reshape", {get(rows, in(0, 1))}, {{"newshape", Ints{-1}}});
        }
        [[fallthrough]];
      default: return op(binary, {some(type), some(type)});
    }
  }

  Expr open_vector(int depth, Scope& scope) {
    auto some = [&](const Type& of) { return expr(of, depth - 1, scope); };
    auto first = [](Expr x) {
      return op::make("strided_slice", {std::move(x)}, {{"begin", Ints{0}}, {"end", Ints{max_open}}});
    };
    switch (in(0, 5)) {
      case 0: return bound_to(open(), some(tensor({3})));
      case 1: return first(op("concatenate", {tuple({some(open()), some(chance(2) ? open() : tensor({3}))})}));
      case 2: return first(call(global("twice"), {some(open())}));
      case 3: {
        const VarRef x = var("o", open());
        return let(x, some(open()), call(global("sum_of"), {x, x}));
      }
      default: return op(chance(2) ? "nn.relu" : "negative", {some(open())});
    }
  }
  // A call of a function whose parameters have a size that is a variable.
  Expr sized_call(const Expr& a, const Expr& b) {
    if (chance(2)) return call(global("sum_of"), {a, b});
    return op::make("strided_slice", {call(global("twice"), {a})}, {{"begin", Ints{1}}, {"end", Ints{4}}});
  }

  Expr function_value(const FuncType* f, const Type& type, int depth, Scope& scope) {
    // A constructor, a global, or a global generic function if one fits.
    if (chance(2) && f->args.size() == 1) {
      const TypeCall* result = as<TypeCall>(f->result);
      if (result && as<DataTypeName>(result->callee)->name == "Option" && equal(result->args[0], f->args[0]))
        return bound_to(type, constructor("Some"));
      if (as<DataTypeName>(f->result) && as<DataTypeName>(f->args[0])) return constructor("Left");
    }
    if (chance(2))
      for (const Global& g : globals_)
        if (recursive_.count(g.name) == 0 && equal(func_type(g.params, g.result), type)) return global(g.name);
    if (chance(2) && f->args.size() == 1 && as<TypeCall>(f->args[0]) && equal(f->args[0], f->result) &&
        as<DataTypeName>(as<TypeCall>(f->result)->callee)->name == "List")
      return bound_to(type, global("rev"));
    return lambda(f, depth, scope);
  }

  Expr let_in(const Type& type, int depth, Scope& scope) {
    // The function that it names may be generic, or may count down itself.
    if (chance(6)) {
      VarRef loop = var("loop", func_type({integer()}, type)), n = var("n", integer());
      scope.push_back(n);
      Expr base = expr(type, depth - 2, scope);
      scope.pop_back();
      Expr again = call(loop, {op("subtract", {n, number(1)})});
      Expr f = function({n}, if_(op("less_equal", {n, number(0)}), base, again), type);
      return let(loop, f, call(loop, {number(in(0, 3))}));
    }
    if (chance(6)) {
      Type a = make<TypeVar>("A");
      VarRef param = var("g", a), id = var("id");
      Scope inner{param};
      Expr f = function({param}, expr(a, depth - 2, inner), a, {a});
      Expr use = call(id, {expr(type, depth - 2, scope)});
      return let(id, f, use);
    }
    Type value_type = any_type(2);
    VarRef v = var("v", value_type);
    Expr value = expr(value_type, depth - 1, scope);
    scope.push_back(v);
    Expr body = expr(type, depth - 1, scope);
    scope.pop_back();
    return let(v, value, body);
  }

  Expr write_in(const Type& type, int depth, Scope& scope) {
    Type value_type = chance(3) ? any_type(1) : first_order();
    Exprs refs = variables(make<RefType>(value_type), scope);
    Expr ref = refs.empty() || chance(3) ? expr(make<RefType>(value_type), depth - 1, scope) : refs[below(refs.size())];
    Scope closed;
    Expr value = expr(value_type, depth - 1, has_function(value_type) ? closed : scope);
    return let(var("_", Type()), make<RefWrite>(ref, value), expr(type, depth - 1, scope));
  }

  Expr match_of(const Type& type, int depth, Scope& scope) {
    Type of = any_type(2);
    Expr value = expr(of, depth - 1, scope);
    std::vector<Clause> clauses;
    auto clause = [&](const Pattern& pattern) {
      size_t before = scope.size();
      for_each_bound(pattern, [&](const VarRef& v) { scope.push_back(v); });
      clauses.push_back({pattern, expr(type, depth - 2, scope)});
      scope.resize(before);
    };
    bool complete = false;
    for (int i = in(0, 2); i > 0; --i) clause(pattern(of, 2));
    if (chance(2)) {
      complete = all_constructors(of, clause);
    }
    if (!complete) clause(pattern(of, 0));
    return make<Match>(value, std::move(clauses), !chance(4));
  }
  void for_each_bound(const Pattern& p, function_ref<void(const VarRef&)> f) {
    if (p->var) f(p->var);
    for (const Pattern& inner : p->patterns) for_each_bound(inner, f);
  }

  static Pattern pattern_of(PatternKind kind, Expr constructor, std::vector<Pattern> parts, VarRef v = {}) {
    PatternNode* node = new PatternNode;
    Pattern owner(node);
    node->kind = kind;
    node->constructor = std::move(constructor);
    node->patterns = std::move(parts);
    node->var = std::move(v);
    return owner;
  }
  // The constructors of a type with the types of their fields.
  std::vector<std::pair<const char*, Types>> cases(const Type& type) {
    if (as<DataTypeName>(type)) return {{"End", {}}, {"Left", {type}}, {"Step", {integer(), type}}};
    const TypeCall* t = as<TypeCall>(type);
    if (!t) return {};
    const std::string& name = as<DataTypeName>(t->callee)->name;
    if (name == "List") return {{"Cons", {t->args[0], type}}, {"Nil", {}}};
    if (name == "Option") return {{"Some", {t->args[0]}}, {"None", {}}};
    return {{"Both", {t->args[0], t->args[1]}}};
  }
  // With depth 0 the pattern matches everything.
  Pattern pattern(const Type& type, int depth) {
    if (depth > 0) {
      if (const TupleType* t = as<TupleType>(type)) {
        std::vector<Pattern> parts;
        for (const Type& f : t->fields) parts.push_back(pattern(f, depth - 1));
        return pattern_of(PatternKind::Tuple, {}, std::move(parts));
      }
      std::vector<std::pair<const char*, Types>> all = cases(type);
      if (!all.empty()) {
        const auto& [name, fields] = all[below(all.size())];
        std::vector<Pattern> parts;
        for (const Type& f : fields) parts.push_back(pattern(f, depth - 1));
        return pattern_of(PatternKind::Constructor, constructor(name), std::move(parts));
      }
    }
    if (chance(3)) return pattern_of(PatternKind::Wildcard, {}, {});
    return pattern_of(PatternKind::Var, {}, {}, var("m", type));
  }
  // Makes a clause for each constructor; returns false if the type has none.
  bool all_constructors(const Type& type, function_ref<void(const Pattern&)> clause) {
    for (const auto& [name, fields] : cases(type)) {
      std::vector<Pattern> parts;
      for (const Type& f : fields) parts.push_back(pattern(f, 0));
      clause(pattern_of(PatternKind::Constructor, constructor(name), std::move(parts)));
    }
    return !cases(type).empty();
  }

  Expr global_call(const Type& type, int depth, Scope& scope) {
    std::vector<const Global*> fitting;
    for (const Global& g : globals_)
      if (equal(g.result, type)) fitting.push_back(&g);
    if (fitting.empty()) return made(type, depth, scope);
    const Global& g = *fitting[below(fitting.size())];
    Exprs args;
    for (size_t i = 0; i < g.params.size(); ++i)
      args.push_back(i + 1 == g.params.size() && recursive_.count(g.name) ? number(in(0, 3))
                                                                          : expr(g.params[i], depth - 2, scope));
    return call(global(g.name), args);
  }

  // A call of a generic function of the prelude, at types that yield the result.
  Expr generic_call(const Type& type, int depth, Scope& scope) {
    auto some = [&](const Type& of) { return expr(of, depth - 2, scope); };
    const TypeCall* t = as<TypeCall>(type);
    if (t && as<DataTypeName>(t->callee)->name == "List") {
      Type of = any_type(1);
      switch (in(0, 4)) {
        case 0: return call(global("map"), {some(func_type({of}, t->args[0])), some(data("List", {of}))});
        case 1: return call(global("concat"), {some(type), some(type)});
        case 2: return call(global("filter"), {some(func_type({t->args[0]}, boolean())), some(type)});
        case 3: return call(global("rev"), {some(type)});
        default: break;
      }
    }
    if (equal(type, integer())) return call(global("length"), {bound(data("List", {first_order()}), depth - 1, scope)});
    if (const TupleType* tuple = as<TupleType>(type); tuple && tuple->fields.size() == 2)
      return call(global("swap"), {some(tuple->fields[1]), some(tuple->fields[0])});
    Type of = any_type(1);
    return call(global("foldl"),
                {some(func_type({type, of}, type)), some(type), bound(data("List", {of}), depth - 1, scope)});
  }
  // A value with an explicit type: that of Nil alone would be unknown.
  Expr bound(const Type& type, int depth, Scope& scope) { return bound_to(type, expr(type, depth - 1, scope)); }
  static Expr bound_to(const Type& type, const Expr& value) {
    VarRef v = var("b", type);
    return let(v, value, v);
  }

  // --- mutants -------------------------------------------------------------------------------------------------------
  Expr mutant(const Expr& e, bool* surely) {
    if (const TupleGetItem* item = as<TupleGetItem>(e)) {
      *surely = true;
      return get(item->tuple, item->index + 10);
    }
    if (const If* branch = as<If>(e)) {
      *surely = true;
      return if_(tuple({}), branch->then_branch, branch->else_branch);
    }
    if (const Call* c = as<Call>(e)) {
      *surely = true;
      Exprs args = c->args;
      if (args.empty() || chance(2)) {
        args.push_back(number(1));
      } else {
        args.pop_back();
      }
      return call(c->callee, args, c->attrs);
    }
    if (const RefRead* read = as<RefRead>(e)) {
      *surely = true;
      return make<RefRead>(tuple({read->ref}));
    }
    if (const Match* m = as<Match>(e)) {
      *surely = true;
      std::vector<Clause> clauses = m->clauses;
      clauses.insert(clauses.begin(), {pattern_of(PatternKind::Tuple, {},
                                                  std::vector<Pattern>(7, pattern_of(PatternKind::Wildcard, {}, {}))),
                                       clauses[0].body});
      return make<Match>(m->data, clauses, m->complete);
    }
    switch (in(0, 3)) {
      case 0: return number(7);
      case 1: return tuple({e, e});
      case 2: return make<RefCreate>(e);
      default: *surely = true; return var("nobody");
    }
  }

  std::mt19937_64 random_;
  Module module_;
  std::map<std::string, Ref<const Constructor>> constructors_;
  std::vector<Global> globals_;
  std::set<std::string> recursive_;
  struct Shared {
    Type type;
    Expr expr;
  };
  std::vector<Shared> shared_;  // closed and without effects
  bool pure_ = false;           // no references
};

}  // namespace relay::fuzz
