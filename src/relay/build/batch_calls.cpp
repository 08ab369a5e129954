#include "relay/build/batch_calls.h"

#include <algorithm>
#include <map>
#include <set>

#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/lower/plan_function.h"

namespace relay::build {

using runtime::Batching;

namespace {

// The call graph. A closure may be any function that becomes a closure: a separate node calls all of them.
class CallGraph {
 public:
  explicit CallGraph(const ir::Module& module) {
    for (const auto& [name, f] : module.functions)
      number_[name] = static_cast<int>(functions_.size()), functions_.push_back(f);
    closure_ = static_cast<int>(functions_.size());
    calls_.resize(functions_.size() + 1);
    for (size_t i = 0; i < functions_.size(); ++i)
      ir::visit(functions_[i]->body, [&](const ir::Expr& e) {
        if (int to = callee(e); to >= 0) calls_[i].insert(to);
        const ir::Call* call = ir::as<ir::Call>(e);
        ir::for_each_child(e, [&](const ir::Expr& child) {
          const ir::GlobalVar* g = ir::as<ir::GlobalVar>(child);
          if (g && !(call && call->callee == child)) calls_[static_cast<size_t>(closure_)].insert(number_.at(g->name));
        });
        // fn (%y) { @f(%captured, %y) }
        const ir::Function* f = ir::as<ir::Function>(e);
        if (int to = f ? callee(f->body) : -1; to >= 0) calls_[static_cast<size_t>(closure_)].insert(to);
      });
    find_components();
  }

  // The functions that may be active many times independently: those that reach themselves by two calls on one path,
  // and those that they reach.
  std::vector<ir::FunctionRef> repeated() const {
    std::vector<bool> branching(calls_.size()), reached(calls_.size());
    for (size_t i = 0; i < functions_.size(); ++i) branching[i] = calls_inside(i) > 1;
    std::vector<int> work;
    for (size_t i = 0; i < functions_.size(); ++i)
      if (branching[i]) work.push_back(static_cast<int>(i));
    while (!work.empty()) {
      size_t at = static_cast<size_t>(work.back());
      work.pop_back();
      if (reached[at]) continue;
      reached[at] = true;
      work.insert(work.end(), calls_[at].begin(), calls_[at].end());
    }
    std::vector<ir::FunctionRef> out;
    for (size_t i = 0; i < functions_.size(); ++i)
      if (reached[i]) out.push_back(functions_[i]);
    return out;
  }

 private:
  int callee(const ir::Expr& e) const {
    const ir::Call* call = ir::as<ir::Call>(e);
    if (!call) return -1;
    if (const ir::GlobalVar* g = ir::as<ir::GlobalVar>(call->callee)) return number_.at(g->name);
    return call->callee->kind == ir::ExprKind::Var ? closure_ : -1;
  }

  // Functions that reach each other share a component: depth-first, then along reversed calls in order of leaving.
  void find_components() {
    std::vector<std::vector<int>> callers(calls_.size());
    std::vector<int> left, work;
    std::vector<bool> seen(calls_.size());
    for (size_t i = 0; i < calls_.size(); ++i) {
      for (int to : calls_[i]) callers[static_cast<size_t>(to)].push_back(static_cast<int>(i));
      work.push_back(static_cast<int>(i));
      while (!work.empty()) {
        int at = work.back();
        work.pop_back();
        if (at < 0) {
          left.push_back(~at);
        } else if (!seen[static_cast<size_t>(at)]) {
          seen[static_cast<size_t>(at)] = true;
          work.push_back(~at);
          work.insert(work.end(), calls_[static_cast<size_t>(at)].begin(), calls_[static_cast<size_t>(at)].end());
        }
      }
    }
    component_.assign(calls_.size(), -1);
    for (size_t i = left.size(); i-- > 0;)
      for (work.assign(1, left[i]); !work.empty();) {
        size_t at = static_cast<size_t>(work.back());
        work.pop_back();
        if (component_[at] >= 0) continue;
        component_[at] = left[i];
        work.insert(work.end(), callers[at].begin(), callers[at].end());
      }
  }

  // The largest number of calls of functions of its own component on one path through it.
  int64_t calls_inside(size_t function) const {
    ir::NodeMap<int64_t> most;
    ir::visit(functions_[function]->body, [&](const ir::Expr& e) {
      int to = callee(e);
      int64_t own = to >= 0 && component_[static_cast<size_t>(to)] == component_[function], sum = 0, best = 0;
      const ir::Expr* first = nullptr;  // the operand of a branching node that is evaluated on all paths
      if (const ir::If* i = ir::as<ir::If>(e)) first = &i->condition;
      if (const ir::Match* m = ir::as<ir::Match>(e)) first = &m->data;
      ir::for_each_child(e, [&](const ir::Expr& child) {
        int64_t n = *most.find(child.get());
        if (first && child != *first)
          best = std::max(best, n);
        else
          sum += n;
      });
      most[e.get()] = e->kind == ir::ExprKind::Function ? 0 : std::min<int64_t>(own + sum + best, 2);
    });
    return *most.find(functions_[function]->body.get());
  }

  std::map<std::string, int> number_;
  std::vector<ir::FunctionRef> functions_;
  int closure_ = 0;
  std::vector<std::set<int>> calls_;  // by function, and of closures
  std::vector<int> component_;
};

// Unset if its sizes are not constants.
std::optional<int64_t> bytes_of(const lower::Array& a) {
  int64_t bytes = a.dtype.bytes();
  for (const scalar::Expr& e : a.shape) {
    if (!scalar::is_int(e)) return std::nullopt;
    bytes *= e->ivalue;
  }
  return bytes;
}

// The bytes of constants that the group reads, if it uses each element once or a few times. `constant`: arrays, those
// already counted are left out.
int64_t constant_bytes(const lower::FunctionPlan& plan, const lower::Group& g, const std::set<int>& constant,
                       std::set<int>& counted, const TargetDesc& target) {
  std::set<int> read;
  int64_t bytes = 0, fresh = 0;
  for (const std::vector<int>* arrays : {&g.params, &g.constants})
    for (int a : *arrays)
      if (constant.contains(a) && read.insert(a).second) bytes += bytes_of(plan.arrays[a]).value_or(0);
  // A multiply-add is 2 operations. A table lookup uses few elements, a convolution each of its weights many times.
  constexpr double least = 0.25, most = 4;  // operations per byte
  const double a_byte = lower::flops_of(g, target) / static_cast<double>(std::max<int64_t>(bytes, 1));
  if (a_byte < least || a_byte > most) return 0;
  for (int a : read)
    if (counted.insert(a).second) fresh += bytes_of(plan.arrays[a]).value_or(0);
  return fresh;
}

CallCost cost_of(const lower::FunctionPlan& plan, const TargetDesc& target) {
  using Kind = lower::Array::Kind;
  CallCost cost;
  bool takes = false;
  std::set<int> constant, counted;
  for (size_t i = 0; i < plan.arrays.size(); ++i) {
    const lower::Array& a = plan.arrays[i];
    if (a.kind == Kind::Constant) constant.insert(static_cast<int>(i));
    if (a.kind != Kind::Input && a.kind != Kind::Output) continue;
    takes |= a.kind == Kind::Input;
    const std::optional<int64_t> bytes = bytes_of(a);
    if (!bytes) return {"sizes are not constants"};
    if (a.kind == Kind::Output && runtime::is_read_by_code(a.dtype, a.shape.size()))
      return {"a result is a condition or a shape"};
    cost.bytes += *bytes;
  }
  if (!takes) cost.illegal = "it has no inputs";
  for (const lower::Group& g : plan.groups) {
    if (g.check) continue;
    if (g.transfer) return {"it copies between devices"};
    if (g.external) return {"it calls an external function"};
    if (g.steps) cost.illegal = "it contains the steps of a recurrence";
    const auto is_constant = [&](int a) { return constant.contains(a); };
    // Computed when the program is built.
    if (std::all_of(g.params.begin(), g.params.end(), is_constant) && !g.steps)
      constant.insert(g.outputs.begin(), g.outputs.end());
    else
      cost.constant_bytes += constant_bytes(plan, g, constant, counted, target);
  }
  return cost;
}

std::string kilobytes(int64_t bytes) { return format("{:.1f} kB", static_cast<double>(bytes) / 1000); }

}  // namespace

ir::NodeSet repeated_segments(const ir::Module& module) {
  ir::NodeSet out;
  for (const ir::FunctionRef& f : CallGraph(module).repeated())
    ir::visit(f->body, [&](const ir::Expr& e) {
      if (const ir::Function* s = ir::as<ir::Function>(e); s && s->attrs.count(ir::attribute::segment)) out.insert(s);
    });
  return out;
}

bool CallCost::pays() const {
  constexpr int64_t worth_waiting = 32 << 10;  // bytes of constants: more than L1 keeps while a call does other work
  return illegal.empty() && constant_bytes >= worth_waiting && bytes <= constant_bytes / 4;
}

bool CallCost::may_wait() const {
  constexpr int64_t max_copied = 16 << 10;  // bytes of a call that only joins others
  return pays() || (illegal.empty() && bytes <= max_copied);
}

Result<CallCost> cost_of_call(const ir::FunctionRef& segment, const lower::LowerOptions& lowering) {
  lower::LowerOptions trial = lowering;
  trial.trace_plan = {};
  RELAY_ASSIGN(const lower::FunctionPlan plan, lower::plan_function(segment, trial));
  return cost_of(plan, trial.target);
}

Result<std::vector<BatchChoice>> choose_batching(const ir::Module& module, const std::vector<ir::FunctionRef>& segments,
                                                 BatchCalls batch, const lower::LowerOptions& lowering) {
  std::vector<BatchChoice> choices(segments.size());
  if (batch == BatchCalls::Never) {
    for (BatchChoice& c : choices) c.reason = "calls are not to be batched";
    return choices;
  }
  ir::NodeSet repeated = repeated_segments(module);
  bool any = false;
  for (size_t i = 0; i < segments.size(); ++i) {
    BatchChoice& c = choices[i];
    if (batch == BatchCalls::Automatic && !repeated.contains(segments[i].get())) {
      c.reason = "its calls follow each other";
      continue;
    }
    RELAY_ASSIGN(CallCost cost, cost_of_call(segments[i], lowering));
    if (!cost.illegal.empty())
      c.reason = cost.illegal;
    else if (cost.pays() || batch == BatchCalls::WhereverLegal)
      c = {Batching::Begins, format("a call reads {} of constants", kilobytes(cost.constant_bytes))}, any = true;
    else if (!cost.may_wait())
      c.reason = format("a call would copy {}", kilobytes(cost.bytes));
    else
      c = {Batching::Joins, format("a call copies {}", kilobytes(cost.bytes))};
  }
  for (BatchChoice& c : choices)
    if (!any && c.batching == Batching::Joins) c = {Batching::None, "no other call is waiting"};
  return choices;
}

}  // namespace relay::build
