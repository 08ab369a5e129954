// Queries on expressions and types.
#include <pthread.h>

#include <algorithm>
#include <functional>
#include <unordered_set>

#include "convert.h"
#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/well_formed.h"
#include "relay/typing/typing.h"

namespace relay::python {

using namespace ir;

// The parts of a program in the order of its text, each shared node once: nodes other than variables before their
// parts, variables at their bindings and uses.
static void read(const Expr& root, const std::function<void(const Expr&)>& node,
                 const std::function<void(const VarRef&)>& variable) {
  struct Part {
    const Expr* e;
    VarRef binder;
  };
  std::vector<Part> stack{{&root, {}}};
  NodeSet seen;
  while (!stack.empty()) {
    Part part = std::move(stack.back());
    stack.pop_back();
    if (part.binder) {
      variable(part.binder);
      continue;
    }
    const Expr& e = *part.e;
    if (e->kind == ExprKind::Var) {
      variable(VarRef(as<Var>(e)));
      continue;
    }
    if (!seen.insert(e.get())) continue;
    node(e);
    size_t begin = stack.size();
    if (const Match* match = as<Match>(e)) {
      stack.push_back({&match->data, {}});
      for (const Clause& clause : match->clauses) {
        for_each_var(clause.pattern, [&](const VarRef& v) { stack.push_back({nullptr, v}); });
        stack.push_back({&clause.body, {}});
      }
    } else {
      for_each_binder(e, [&](const VarRef& v) { stack.push_back({nullptr, v}); });
      for_each_child(e, [&](const Expr& child) { stack.push_back({&child, {}}); });
    }
    std::reverse(stack.begin() + static_cast<ptrdiff_t>(begin), stack.end());
  }
}

// Without duplicates.
static std::vector<VarRef> all_vars(const Expr& e) {
  std::vector<VarRef> out;
  NodeSet seen;
  read(
      e, [](const Expr&) {},
      [&](const VarRef& v) {
        if (seen.insert(v.get())) out.push_back(v);
      });
  return out;
}

static std::vector<VarRef> bound_in_order(const Expr& e) {
  NodeSet bound;
  for (const VarRef& v : bound_vars(e)) bound.insert(v.get());
  std::vector<VarRef> out;
  for (const VarRef& v : all_vars(e))
    if (bound.contains(v.get())) out.push_back(v);
  return out;
}

// --- type variables --------------------------------------------------------------------------------------------------
struct TypeVars {
  Types bound, all;
  std::unordered_set<const TypeNode*> seen_bound, seen;

  void add(const Type& var) {
    if (seen.insert(var.get()).second) all.push_back(var);
  }
  void bind(const Types& vars) {
    for (const Type& var : vars) {
      add(var);
      if (seen_bound.insert(var.get()).second) bound.push_back(var);
    }
  }
  void type(const Type& root) {
    Types stack{root};
    while (!stack.empty()) {
      Type t = stack.back();
      stack.pop_back();
      if (!t) continue;
      if (as<TypeVar>(t)) add(t);
      if (const TupleType* tuple = as<TupleType>(t))
        stack.insert(stack.end(), tuple->fields.rbegin(), tuple->fields.rend());
      if (const RefType* ref = as<RefType>(t)) stack.push_back(ref->value);
      if (const TypeCall* call = as<TypeCall>(t)) stack.insert(stack.end(), call->args.rbegin(), call->args.rend());
      if (const FuncType* f = as<FuncType>(t)) {
        bind(f->type_vars);
        stack.push_back(f->result);
        stack.insert(stack.end(), f->args.rbegin(), f->args.rend());
      }
    }
  }
  void expr(const Expr& root) {
    read(
        root,
        [&](const Expr& e) {
          if (const Function* f = as<Function>(e)) bind(f->type_params);
          if (const Call* call = as<Call>(e))
            for (const Type& t : call->type_args) type(t);
        },
        [&](const VarRef& v) { type(v->annotation); });
    visit(root, [&](const Expr& e) {
      if (const Function* f = as<Function>(e)) type(f->result_type);
    });
  }
  Types free() const {
    Types out;
    for (const Type& var : all)
      if (!seen_bound.count(var.get())) out.push_back(var);
    return out;
  }
};

static TypeVars type_vars(nb::handle of) {
  TypeVars out;
  if (nb::isinstance<TypeNode>(of)) {
    out.type(nb::cast<Type>(of));
  } else {
    out.expr(nb::cast<Expr>(of));
  }
  return out;
}

// --- for expressions, types, modules, lists of these, and plain values -----------------------------------------------
static bool structural_equal(nb::handle a, nb::handle b, bool map_free) {
  if (nb::isinstance<TypeNode>(a) && nb::isinstance<TypeNode>(b)) return equal(nb::cast<Type>(a), nb::cast<Type>(b));
  if (nb::isinstance<PyModule>(a) && nb::isinstance<PyModule>(b))
    return equal(nb::cast<const PyModule&>(a).module, nb::cast<const PyModule&>(b).module);
  if (nb::isinstance<TypeDef>(a) && nb::isinstance<TypeDef>(b)) {
    auto defines = [](nb::handle d) { return Module{{}, {{"", nb::cast<TypeDef>(d)}}, {}}; };
    return equal(defines(a), defines(b));
  }
  Expr x, y;
  if (nb::try_cast(a, x) && nb::try_cast(b, y)) return equal(x, y, map_free);
  auto is_list = [](nb::handle h) { return nb::isinstance<nb::list>(h) || nb::isinstance<nb::tuple>(h); };
  if (!is_list(a) || !is_list(b)) return a.equal(b);
  size_t count = nb::len(a);
  for (size_t i = 0; i < count; ++i)
    if (nb::len(b) != count || !structural_equal(a[i], b[i], map_free)) return false;
  return nb::len(b) == count;
}

static uint64_t structural_hash(nb::handle a) {
  if (nb::isinstance<TypeNode>(a)) return hash(nb::cast<Type>(a));
  if (nb::isinstance<PyModule>(a)) return hash(nb::cast<const PyModule&>(a).module);
  return hash(nb::cast<Expr>(a));
}

static Diagnostics problems(nb::handle of, const PyModule* module) {
  if (nb::isinstance<PyModule>(of)) return transform::well_formed(nb::cast<const PyModule&>(of).module);
  return transform::well_formed(nb::cast<Expr>(of), module ? &module->module : nullptr, true);
}

// Bytes between here and the end of this thread's stack.
static size_t stack_left() {
  static thread_local const char* const lowest = [] {
    pthread_attr_t attributes;
    void* address = nullptr;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0) return static_cast<const char*>(nullptr);
    pthread_attr_getstack(&attributes, &address, &size);
    pthread_attr_destroy(&attributes);
    return static_cast<const char*>(address);
  }();
  const char here = 0;
  return lowest ? static_cast<size_t>(&here - lowest) : SIZE_MAX;
}

void add_analysis(nb::module_& m) {
  m.def("free_vars", free_vars, nb::arg("expr"), "The variables that are not bound in it, in order of first use.");
  m.def("bound_vars", bound_in_order, nb::arg("expr"), "The variables that are bound in it, in the order of its text.");
  m.def("all_vars", all_vars, nb::arg("expr"), "Free and bound variables, in the order of its text.");
  m.def("free_type_vars", [](nb::handle of) { return type_vars(of).free(); }, nb::arg("of"));
  m.def("bound_type_vars", [](nb::handle of) { return type_vars(of).bound; }, nb::arg("of"));
  m.def("all_type_vars", [](nb::handle of) { return type_vars(of).all; }, nb::arg("of"));
  m.def(
      "post_order_visit", [](const Expr& root, const nb::callable& f) { visit(root, [&](const Expr& e) { f(e); }); },
      nb::arg("expr"), nb::arg("fvisit"),
      "Calls fvisit(node) for each node once, children first, however deep the program is.");
  m.def(
      "children",
      [](const Expr& e) {
        Exprs out;
        for_each_child(e, [&](const Expr& child) { out.push_back(child); });
        return out;
      },
      nb::arg("expr"), "The direct children in evaluation order.");
  m.def("structural_equal", structural_equal, nb::arg("lhs"), nb::arg("rhs"), nb::arg("map_free_vars") = false,
        "Equal up to the names of bound variables: expressions, types or modules.");
  m.def("structural_hash", structural_hash, nb::arg("value"),
        "A hash that is equal for values that structural_equal() considers equal.");
  m.def(
      "problems",
      [](nb::handle of, const PyModule* module) {
        std::vector<std::string> out;
        for (const Diagnostic& d : problems(of, module)) out.push_back(render(d));
        return out;
      },
      nb::arg("of"), nb::arg("module") = nb::none(),
      "The problems of a malformed expression or module; empty if it is well formed.");
  m.def(
      "infer_expr",
      [](const Expr& e, const PyModule* module) {
        value_or_throw(typing::infer_expr(e, module ? &module->module : nullptr));
        return e;
      },
      nb::arg("expr"), nb::arg("module") = nb::none(), "The same expression, with types.");
  m.def(
      "substitute",
      [](const Expr& e, nb::dict values) {
        VarMap map;
        for (auto [var, value] : values) map[nb::cast<VarRef>(var).get()] = nb::cast<Expr>(value);
        return substitute(e, map);
      },
      nb::arg("expr"), nb::arg("values"), "The expression with free variables replaced.");
  m.def(
      "unmatched_case",
      [](const Ref<const Match>& match, const PyModule& module) {
        return typing::unmatched_case(*match, module.module);
      },
      nb::arg("match"), nb::arg("module"),
      "A value that no clause matches, as a pattern in text; None if every value matches.");
  m.def("stack_left", stack_left);
}

}  // namespace relay::python
