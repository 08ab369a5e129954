#include "relay/exec/value_code.h"

#include <algorithm>

#include "relay/exec/code.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/fields.h"
#include "relay/ir/main_function.h"
#include "relay/ir/node_map.h"
#include "relay/op/op.h"
#include "relay/tensor/shape_check.h"

namespace relay::exec {

using namespace ir;
using runtime::Op;

// --- numbers ---------------------------------------------------------------------------------------------------------

Numbers::Numbers(const Module& module, const std::vector<LoweredSegment>& segments, Parts& parts)
    : module_(module), parts_(parts) {
  uint32_t next = 1;
  for (const auto& [name, f] : module.functions) functions_[name] = name == ir::main_function ? 0 : next++;
  for (const auto& [name, definition] : module.types) type(name);  // values of all types may come from outside
  for (const LoweredSegment& s : segments) segments_[s.function.get()] = static_cast<uint32_t>(segments_.size());
}

uint32_t Numbers::type(const std::string& name) {
  auto [it, fresh] = type_numbers_.try_emplace(name, static_cast<uint32_t>(parts_.program.types.size()));
  if (fresh) {
    runtime::DataType type{name, {}};
    for (const Ref<const Constructor>& c : module_.types.at(name).constructors)
      type.constructors.push_back({c->name, static_cast<uint32_t>(c->inputs.size())});
    parts_.program.types.push_back(std::move(type));
  }
  return it->second;
}

// --- code ------------------------------------------------------------------------------------------------------------

namespace {

Diagnostic unexpected(const Expr& e, const std::string& what) {
  return {DiagnosticKind::not_supported,        format("{} cannot be compiled to code here", what), e->span, {}, {},
          "run the passes in the default order"};
}

class Writer {
 public:
  Writer(const FunctionRef& f, Numbers& numbers)
      : f_(f), numbers_(numbers), code_(static_cast<uint32_t>(f->params.size())) {}

  Result<runtime::Function> run(const std::string& name) {
    for (size_t i = 0; i < f_->params.size(); ++i) registers_[f_->params[i].get()] = static_cast<uint32_t>(i);
    work_.push_back(Task{.kind = Task::Scope, .body = f_->body});
    while (!work_.empty()) {
      Task task = std::move(work_.back());
      work_.pop_back();
      switch (task.kind) {
        case Task::Scope: RELAY_RETURN_IF_ERROR(scope(task.body, task.to)); break;
        case Task::Place: code_.place(task.label); break;
        case Task::Decide: decide(task); break;
      }
    }
    return code_.finish(name);
  }

 private:
  // The destination of a scope's value: it is returned, or moved to a register before a jump.
  struct To {
    bool returned = true;
    uint32_t reg = 0;
    Code::Label join{};
  };
  // A match whose decision tree is being written.
  struct Deciding {
    DecisionTree tree;
    const Match* match = nullptr;
    To to;
    std::vector<Code::Label> clauses;  // of clauses that several decisions choose
  };
  using Places = std::map<int, uint32_t>;  // the register that holds a place
  struct Task {
    enum Kind { Scope, Place, Decide } kind;
    Expr body{};          // Scope
    To to{};              // Scope
    Code::Label label{};  // Place
    std::shared_ptr<Deciding> deciding{};
    int decision = 0;
    Places places{};
  };

  uint32_t operand(const Expr& e) {
    switch (e->kind) {
      case ExprKind::Var: {
        const uint32_t* r = registers_.find(e.get());
        RELAY_CHECK(r, "%{} has no register", as<Var>(e)->name);
        return *r;
      }
      case ExprKind::Constant: return code_.constant(numbers_.constant(as<Constant>(e)->value));
      case ExprKind::GlobalVar: return code_.closure(numbers_.function(as<GlobalVar>(e)->name), {});
      default: RELAY_CHECK(false, "an operand is a {}", name(e->kind));
    }
    return 0;
  }
  Code::Registers operands(const Exprs& list) {
    Code::Registers out;
    for (const Expr& e : list) out.push_back(operand(e));
    return out;
  }
  static bool is_operand(const Expr& e) {
    return e->kind == ExprKind::Var || e->kind == ExprKind::Constant || e->kind == ExprKind::GlobalVar;
  }

  void give(uint32_t value, const To& to) {
    if (to.returned) return code_.ret(value);
    code_.move(value, to.reg);
    code_.jump(to.join);
  }

  // A chain of lets with its final value. A branching value ends this walk: the rest of the scope is left as work.
  Status scope(Expr body, const To& to) {
    for (; const Let* let = as<Let>(body); body = let->body) {
      const Expr& value = let->value;
      if (value->kind == ExprKind::If || value->kind == ExprKind::Match) {
        To join{.returned = false, .reg = code_.reg(), .join = code_.label()};
        registers_[let->var.get()] = join.reg;
        work_.push_back(Task{.kind = Task::Scope, .body = let->body, .to = to});
        work_.push_back(Task{.kind = Task::Place, .label = join.join});
        return branch(value, join);
      }
      RELAY_RETURN_IF_ERROR(bind(let->var.get(), value));
    }
    if (body->kind == ExprKind::If || body->kind == ExprKind::Match) return branch(body, to);
    if (to.returned && tail_call(body)) return ok();
    if (is_operand(body)) return give(operand(body), to), ok();
    RELAY_ASSIGN(uint32_t r, value(body, nullptr));
    return give(r, to), ok();
  }

  Status bind(const Var* var, const Expr& value) {
    if (is_operand(value)) {
      registers_[var] = operand(value);
      return ok();
    }
    RELAY_ASSIGN(registers_[var], this->value(value, var));
    return ok();
  }

  bool tail_call(const Expr& e) {
    const Call* call = as<Call>(e);
    if (!call) return false;
    if (const GlobalVar* g = as<GlobalVar>(call->callee)) {
      code_.tail_call(numbers_.function(g->name), operands(call->args));
      return true;
    }
    if (call->callee->kind != ExprKind::Var) return false;
    code_.tail_call_closure(with_callee(*call));
    return true;
  }
  Code::Registers with_callee(const Call& call) {
    Code::Registers args{operand(call.callee)};
    for (const Expr& a : call.args) args.push_back(operand(a));
    return args;
  }

  // A value that does not branch. `var`: the variable that it is bound to, or null.
  Result<uint32_t> value(const Expr& e, const Var* var) {
    switch (e->kind) {
      case ExprKind::Tuple: return tuple(operands(as<Tuple>(e)->elements), var);
      case ExprKind::TupleGetItem: {
        const TupleGetItem* item = as<TupleGetItem>(e);
        size_t index = static_cast<size_t>(item->index);
        if (const Code::Registers* known = fields_.find(item->tuple.get())) return (*known)[index];
        return code_.field(operand(item->tuple), static_cast<uint32_t>(index));
      }
      case ExprKind::RefCreate: return code_.reference(operand(as<RefCreate>(e)->value));
      case ExprKind::RefRead: return code_.read(operand(as<RefRead>(e)->ref));
      case ExprKind::RefWrite: {
        uint32_t ref = operand(as<RefWrite>(e)->ref);
        code_.write(ref, operand(as<RefWrite>(e)->value));
        return code_.tuple({});
      }
      case ExprKind::Function: return closure(*as<Function>(e));
      case ExprKind::Call: return call(*as<Call>(e), var);
      default: return unexpected(e, format("a {}", name(e->kind)));
    }
  }

  // The fields are known separately; the tuple is created too, and dropped if unused.
  uint32_t tuple(Code::Registers fields, const Var* var) {
    if (var) fields_[var] = fields;
    return code_.tuple(std::move(fields));
  }

  // fn (%y) { @f(%captured, %y) }
  Result<uint32_t> closure(const Function& f) {
    const Call* call = as<Call>(f.body);
    const GlobalVar* callee = call ? as<GlobalVar>(call->callee) : nullptr;
    size_t captured = callee && call->args.size() >= f.params.size() ? call->args.size() - f.params.size() : 0;
    bool is_wrapper = callee && call->args.size() == captured + f.params.size();
    for (size_t i = 0; is_wrapper && i < f.params.size(); ++i) is_wrapper = call->args[captured + i] == f.params[i];
    if (!is_wrapper) return unexpected(Expr(&f), "a function inside of another");
    Exprs captures(call->args.begin(), call->args.begin() + static_cast<ptrdiff_t>(captured));
    return code_.closure(numbers_.function(callee->name), operands(captures));
  }

  Result<uint32_t> call(const Call& call, const Var* var) {
    switch (call.callee->kind) {
      case ExprKind::GlobalVar:
        return code_.call(numbers_.function(as<GlobalVar>(call.callee)->name), operands(call.args));
      case ExprKind::Var: return code_.call_closure(with_callee(call));
      case ExprKind::Constructor: {
        const Constructor* c = as<Constructor>(call.callee);
        return code_.data(numbers_.type(c->data_type), static_cast<uint32_t>(c->tag), operands(call.args));
      }
      case ExprKind::Op:
        if (const op::OpDef* def = as<ir::Op>(call.callee)->def; def && def->by_executor)
          return tensor_of_shape(call, def->part_of);
        break;
      case ExprKind::Function: {
        FunctionRef f(as<Function>(call.callee));
        if (f->attrs.count(ir::attribute::segment) == 0) break;
        const TupleType* results = as<TupleType>(f->body->type);
        Code::Registers out =
            code_.segment(numbers_.segment(f.get()), operands(call.args), results ? results->fields.size() : 1);
        return results ? tuple(std::move(out), var) : out[0];
      }
      default: break;
    }
    return unexpected(Expr(&call), format("a call of a {}", name(call.callee->kind)));
  }

  // `user`: the operator whose result has the shape, or null if unknown; the other arguments are its inputs.
  uint32_t tensor_of_shape(const Call& call, const op::OpDef* user) {
    Code::Registers args{operand(call.args[0])};
    if (!user) return code_.tensor_of_shape(std::move(args), {});
    std::vector<std::string> about{user->name, place_text(call.span)};
    for (size_t i = 1; i < call.args.size(); ++i) {
      // A large constant would only be stored for messages.
      const Constant* constant = as<Constant>(call.args[i]);
      if (!as<TensorType>(call.args[i]->type) || (constant && constant->value.elements() > max_listed_elements))
        continue;
      args.push_back(operand(call.args[i]));
      const op::Input& input = user->inputs[i - 1];
      about.insert(about.end(), {input.name, input.doc});
    }
    return code_.tensor_of_shape(std::move(args), std::move(about));
  }

  Status branch(const Expr& e, const To& to) {
    if (const If* i = as<If>(e)) {
      Code::Label otherwise = code_.label();
      code_.branch_if_false(operand(i->condition), otherwise);
      work_.push_back(Task{.kind = Task::Scope, .body = i->else_branch, .to = to});
      work_.push_back(Task{.kind = Task::Place, .label = otherwise});
      work_.push_back(Task{.kind = Task::Scope, .body = i->then_branch, .to = to});
      return ok();
    }
    const Match* match = as<Match>(e);
    std::shared_ptr<Deciding> d = std::make_shared<Deciding>();
    RELAY_ASSIGN(d->tree, exec::decide(*match, numbers_.module().types));
    d->match = match, d->to = to;
    // A clause that one decision chooses is placed there. The others come after the tree, and their variables get
    // registers that each decision fills.
    d->clauses.resize(match->clauses.size());
    for (size_t c = match->clauses.size(); c-- > 0;) {
      if (d->tree.uses[c] <= 1) continue;
      d->clauses[c] = code_.label();
      work_.push_back(Task{.kind = Task::Scope, .body = match->clauses[c].body, .to = to});
      work_.push_back(Task{.kind = Task::Place, .label = d->clauses[c]});
      for_each_var(match->clauses[c].pattern, [&](const VarRef& v) { registers_[v.get()] = code_.reg(); });
    }
    Places places{{0, operand(match->data)}};
    work_.push_back(Task{.kind = Task::Decide, .deciding = d, .places = std::move(places)});
    return ok();
  }

  // The register of a place of the value, which is extracted at its first use on this path.
  uint32_t reach(const DecisionTree& tree, int place, Places* places) {
    std::vector<int> path;
    for (; !places->count(place); place = tree.places[static_cast<size_t>(place)].of) path.push_back(place);
    uint32_t r = places->at(place);
    for (size_t i = path.size(); i-- > 0;)
      r = (*places)[path[i]] = code_.field(r, tree.places[static_cast<size_t>(path[i])].field);
    return r;
  }

  void decide(Task& task) {
    const Deciding& d = *task.deciding;
    const Decision& decision = d.tree.decisions[static_cast<size_t>(task.decision)];
    switch (decision.kind) {
      case Decision::Kind::Fail: {
        const std::string place = place_text(d.match->span);
        code_.fail(format("no clause of the match at {} matches", place.empty() ? "the program" : place));
        return;
      }
      case Decision::Kind::Clause: {
        size_t c = static_cast<size_t>(decision.clause);
        bool shared = d.tree.uses[c] > 1;
        for (const auto& [v, place] : decision.variables) {
          uint32_t r = reach(d.tree, place, &task.places);
          if (shared)
            code_.move(r, *registers_.find(v.get()));
          else
            registers_[v.get()] = r;
        }
        if (shared)
          code_.jump(d.clauses[c]);
        else
          work_.push_back(Task{.kind = Task::Scope, .body = d.match->clauses[c].body, .to = d.to});
        return;
      }
      case Decision::Kind::Switch: {
        uint32_t of = reach(d.tree, decision.place, &task.places);
        std::map<int, Code::Label> labels;
        std::vector<Code::Label> targets;
        for (int t : decision.targets) {
          if (!labels.count(t)) labels[t] = code_.label();
          targets.push_back(labels[t]);
        }
        code_.switch_tag(of, numbers_.type(decision.type), targets);
        for (std::map<int, Code::Label>::reverse_iterator l = labels.rbegin(); l != labels.rend(); ++l) {
          work_.push_back(
              Task{.kind = Task::Decide, .deciding = task.deciding, .decision = l->first, .places = task.places});
          work_.push_back(Task{.kind = Task::Place, .label = l->second});
        }
        return;
      }
    }
  }

  FunctionRef f_;
  Numbers& numbers_;
  Code code_;
  NodeMap<uint32_t> registers_;
  NodeMap<Code::Registers> fields_;  // of variables that hold tuples made here
  std::vector<Task> work_;
};

}  // namespace

Result<runtime::Function> value_code(const std::string& name, const FunctionRef& function, Numbers& numbers) {
  return Writer(function, numbers).run(name);
}

}  // namespace relay::exec
