#include "relay/transform/well_formed.h"

#include <algorithm>

#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"

namespace relay::transform {

using namespace ir;

namespace {

// Walks each node once, at its first use, and maintains the set of variables in scope there: bindings are opened and
// closed by work items between the children.
class Checker {
 public:
  Checker(const Module* module, bool allow_free) : module_(module), allow_free_(allow_free) {}

  void run(const Expr& root) {
    work_.push_back({Work::Node, &root, {}});
    while (!work_.empty()) {
      Work item = std::move(work_.back());
      work_.pop_back();
      switch (item.kind) {
        case Work::Node: node(*item.e); break;
        case Work::Open: open(item.var); break;
        case Work::Close: state_[item.var.get()] = State::Closed; break;
      }
    }
  }

  Diagnostics errors;

 private:
  struct Work {
    enum Kind { Node, Open, Close } kind;
    const Expr* e;
    VarRef var;
  };
  enum class State : uint8_t { Free, Open, Closed };

  void fail(DiagnosticKind kind, std::string message, const Span& span, std::string help) {
    if (errors.size() < 100) errors.push_back({kind, std::move(message), span, {}, {}, std::move(help)});
  }

  void open(const VarRef& v) {
    State& state = state_[v.get()];
    if (state != State::Free)
      fail(DiagnosticKind::duplicate_definition, format("variable %{} is bound twice", v->name), v->span,
           "use a different variable for each binding");
    state = State::Open;
  }

  // Pushed in reverse: the last one pushed runs first.
  void push(const Expr& e) { work_.push_back({Work::Node, &e, {}}); }
  void push_scope(const std::vector<VarRef>& vars, const Expr& body) {
    for (const VarRef& v : vars) work_.push_back({Work::Close, nullptr, v});
    push(body);
    for (size_t i = vars.size(); i-- > 0;) work_.push_back({Work::Open, nullptr, vars[i]});
  }

  void node(const Expr& e) {
    if (const Var* v = as<Var>(e)) return use(*v);
    if (!seen_.insert(e.get())) return;
    switch (e->kind) {
      case ExprKind::Constant:
        if (!as<Constant>(e)->value)
          fail(DiagnosticKind::bad_metadata, "a constant has no value", e->span, "create constants from arrays");
        return;
      case ExprKind::GlobalVar:
        if (module_ && module_->functions.count(as<GlobalVar>(e)->name) == 0) unknown_global(*as<GlobalVar>(e));
        return;
      case ExprKind::Constructor: return constructor(e);
      case ExprKind::Function: {
        const Function* f = as<Function>(e);
        return push_scope(f->params, f->body);
      }
      case ExprKind::Let: {
        const Let* let = as<Let>(e);
        work_.push_back({Work::Close, nullptr, let->var});
        push(let->body);
        bool recursive = let->value->kind == ExprKind::Function;  // may refer to itself
        if (!recursive) work_.push_back({Work::Open, nullptr, let->var});
        push(let->value);
        if (recursive) work_.push_back({Work::Open, nullptr, let->var});
        return;
      }
      case ExprKind::Match: {
        const Match* match = as<Match>(e);
        for (size_t i = match->clauses.size(); i-- > 0;) {
          std::vector<VarRef> vars;
          for_each_var(match->clauses[i].pattern, [&](const VarRef& v) { vars.push_back(v); });
          push_scope(vars, match->clauses[i].body);
          constructors(match->clauses[i].pattern);
        }
        return push(match->data);
      }
      default: break;
    }
    if (const TupleGetItem* item = as<TupleGetItem>(e); item && item->index < 0)
      fail(DiagnosticKind::type_mismatch, format("a tuple has no field {}", item->index), e->span,
           "fields are numbered from .0");
    size_t begin = work_.size();
    for_each_child(e, [&](const Expr& child) { push(child); });
    std::reverse(work_.begin() + static_cast<ptrdiff_t>(begin), work_.end());
  }

  void use(const Var& v) {
    State state = state_[&v];
    if (state == State::Closed || (state == State::Free && !allow_free_))
      fail(DiagnosticKind::unknown_variable, format("variable %{} is used out of its scope", v.name), v.span,
           "make it a parameter of the function, or bind it with let around its use");
  }

  void unknown_global(const GlobalVar& g) {
    std::vector<std::string> names;
    for (const auto& [name, function] : module_->functions) names.push_back(name);
    fail(DiagnosticKind::unknown_global, format("the module does not define the function @{}", g.name), g.span,
         "define it in the module");
    if (std::optional<std::string> near = nearest(g.name, names); near && !errors.empty())
      errors.back().help = format("did you mean @{}?", *near);
  }

  void constructor(const Expr& e) {
    const Constructor* c = as<Constructor>(e);
    if (!module_) return;
    std::map<std::string, TypeDef>::const_iterator found = module_->types.find(c->data_type);
    bool known = found != module_->types.end() && c->tag >= 0 &&
                 static_cast<size_t>(c->tag) < found->second.constructors.size() &&
                 found->second.constructors[static_cast<size_t>(c->tag)]->name == c->name;
    if (!known)
      fail(DiagnosticKind::unknown_type,
           format("the module has no type {} with a constructor {}", c->data_type, c->name), e->span,
           "define the type in the module, or import it");
  }
  void constructors(const Pattern& p) {
    if (p->constructor && as<Constructor>(p->constructor)) constructor(p->constructor);
    for (const Pattern& inner : p->patterns) constructors(inner);
  }

  const Module* module_;
  bool allow_free_;
  std::vector<Work> work_;
  NodeSet seen_;
  NodeMap<State> state_;
};

}  // namespace

Diagnostics well_formed(const Expr& expr, const Module* module, bool allow_free) {
  Checker checker(module, allow_free);
  checker.run(expr);
  return std::move(checker.errors);
}

Diagnostics well_formed(const Module& module) {
  Diagnostics errors;
  for (const auto& [name, function] : module.functions)
    for (Diagnostic& d : well_formed(function, &module)) errors.push_back(std::move(d));
  return errors;
}

}  // namespace relay::transform
