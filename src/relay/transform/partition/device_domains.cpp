#include "relay/transform/partition/device_domains.h"

#include <algorithm>
#include <utility>

#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/partition/devices.h"

namespace relay::transform {

using namespace ir;

Result<DeviceDomains> DeviceDomains::of(const Module& module, DeviceName otherwise) {
  DeviceDomains made(module, std::move(otherwise));
  for (const auto& [name, f] : module.functions)
    if (!is_closed(f)) {
      made.read_attributes(f);
      visit(f, [&](const Expr& e) { made.constrain(e); });
    }
  if (!made.errors_.empty()) return made.errors_;
  return made;
}

DeviceName DeviceDomains::device(const Expr& e) const { return devices(e)[0]; }

std::vector<DeviceName> DeviceDomains::devices(const Expr& e) const {
  const int* cell = cell_of_.find(e.get());
  if (!cell) return {otherwise_};
  std::vector<int> all;
  leaves(*cell - 1, all);
  std::vector<DeviceName> out;
  for (int leaf : all) out.push_back(cells_[static_cast<size_t>(leaf)].device.value_or(otherwise_));
  if (out.empty()) out.push_back(otherwise_);
  return out;
}

// --- cells -----------------------------------------------------------------------------------------------------------

int DeviceDomains::find(int cell) const {
  int root = cell;
  while (cells_[static_cast<size_t>(root)].parent >= 0) root = cells_[static_cast<size_t>(root)].parent;
  while (cell != root) cell = std::exchange(cells_[static_cast<size_t>(cell)].parent, root);
  return root;
}

// The domain of values of a type, as yet on no device.
int DeviceDomains::make(const Type& type) {
  std::vector<int> parts;
  if (const TupleType* t = as<TupleType>(type))
    for (const Type& field : t->fields) parts.push_back(make(field));
  if (const RefType* r = as<RefType>(type)) parts.push_back(make(r->value));
  if (const FuncType* f = as<FuncType>(type)) {
    for (const Type& param : f->args) parts.push_back(make(param));
    parts.push_back(make(f->result));
  }
  cells_.push_back({.parts = std::move(parts)});
  return static_cast<int>(cells_.size()) - 1;
}

int DeviceDomains::of(const Expr& e) {
  int& known = cell_of_[e.get()];
  if (known > 0) return known - 1;
  const Var* var = as<Var>(e);
  const int made = make(e->type || !var ? e->type : var->annotation);
  cell_of_[e.get()] = made + 1;
  return made;
}

void DeviceDomains::leaves(int cell, std::vector<int>& out) const {
  cell = find(cell);
  if (cells_[static_cast<size_t>(cell)].parts.empty()) return out.push_back(cell);
  for (int part : cells_[static_cast<size_t>(cell)].parts) leaves(part, out);
}

void DeviceDomains::conflict(const Cell& a, const Cell& b, const Span& span) {
  Diagnostic d{DiagnosticKind::not_supported,
               format("a value is placed on {} and on {}", str(*a.device), str(*b.device)),
               span     ? span
               : a.span ? a.span
                        : b.span};
  for (const Cell* side : {&a, &b}) {
    if (side->span)
      d.labels.push_back({side->span, side->reason});
    else
      d.notes.push_back(side->reason);
  }
  d.help = "wrap it in on_device(.., constrain_result=False) where it may be copied";
  errors_.push_back(std::move(d));
}

// `span`: the place that requires both to be on the same devices.
void DeviceDomains::unify(int a, int b, const Span& span) {
  a = find(a), b = find(b);
  if (a == b) return;
  // Cells may move when others are made, but none is made here.
  Cell &x = cells_[static_cast<size_t>(a)], &y = cells_[static_cast<size_t>(b)];
  if (x.parts.empty() && y.parts.empty()) {
    if (x.device && y.device && *x.device != *y.device) return conflict(x, y, span);
    if (!x.device) x.device = y.device, x.span = y.span, x.reason = y.reason;
    y.parent = a;
    return;
  }
  if (x.parts.size() != y.parts.size()) return join_leaves(a, b, span);
  const std::vector<int> left = x.parts, right = y.parts;
  y.parent = a;
  for (size_t i = 0; i < left.size(); ++i) unify(left[i], right[i], span);
}

// Puts everything in both on one device.
void DeviceDomains::join_leaves(int a, int b, const Span& span) {
  std::vector<int> all;
  leaves(a, all), leaves(b, all);
  for (int leaf : all) unify(all[0], leaf, span);
}

void DeviceDomains::join(const Expr& a, const Expr& b) {
  if (a->kind == ExprKind::Constant || b->kind == ExprKind::Constant) return;
  const int x = of(a), y = of(b);
  unify(x, y, a->span ? a->span : b->span);
}

void DeviceDomains::place(int cell, const DeviceName& device, const Span& span, const std::string& reason) {
  std::vector<int> all;
  leaves(cell, all);
  for (int leaf : all) {
    Cell& known = cells_[static_cast<size_t>(leaf)];
    if (known.device && *known.device != device)
      conflict(known, {.device = device, .span = span, .reason = reason}, span);
    else if (!known.device)
      known.device = device, known.span = span, known.reason = reason;
  }
}

void DeviceDomains::place(const Expr& e, const std::string& name, const Span& span, const std::string& what) {
  Result<std::optional<DeviceName>> device = device_of(name, span);
  if (!device) {
    errors_.insert(errors_.end(), device.errors().begin(), device.errors().end());
    return;
  }
  if (*device) place(of(e), **device, span, format("{} is on {}", what, str(**device)));
}

// Functions that become kernels, and functions of other compilers. Segments are like any other function.
static bool is_work(const Function* f) {
  return is_closed(Expr(FunctionRef(f))) && f->attrs.count(attribute::segment) == 0;
}

// --- constraints -----------------------------------------------------------------------------------------------------

void DeviceDomains::read_attributes(const FunctionRef& f) {
  if (auto at = f->attrs.find("param_virtual_devices"); at != f->attrs.end()) {
    Strings names;
    if (!AttrConvert<Strings>::from(at->second, &names) || names.size() != f->params.size()) {
      errors_.push_back(
          {DiagnosticKind::bad_attribute,
           format("param_virtual_devices is {}, but there are {} parameters", str(at->second), f->params.size()),
           f->span,
           {},
           {},
           "give a list with the device of each parameter"});
      return;
    }
    for (size_t i = 0; i < names.size(); ++i)
      place(Expr(f->params[i]), names[i], f->params[i]->span ? f->params[i]->span : f->span,
            format("the parameter %{}", f->params[i]->name));
  }
  for (const char* key : {"result_virtual_device", "virtual_device"})
    if (auto at = f->attrs.find(key); at != f->attrs.end())
      if (const std::string* name = std::get_if<std::string>(&at->second))
        place(f->body, *name, f->span, "the result of the function");
}

void DeviceDomains::constrain_pattern(const Pattern& pattern, int domain, const Span& span) {
  if (pattern->kind == PatternKind::Var) unify(domain, of(Expr(pattern->var)), span);
  for (size_t i = 0; i < pattern->patterns.size(); ++i) {
    const std::vector<int>& parts = cells_[static_cast<size_t>(find(domain))].parts;
    const bool by_field = pattern->kind == PatternKind::Tuple && parts.size() == pattern->patterns.size();
    constrain_pattern(pattern->patterns[i], by_field ? parts[i] : domain, span);
  }
}

void DeviceDomains::constrain(const Expr& e) {
  // The part of a structure; the whole if it has no parts. Makes the cell of `whole` first: cells may move.
  auto part = [&](const Expr& whole, size_t i) {
    const int cell = of(whole);
    const std::vector<int>& parts = cells_[static_cast<size_t>(find(cell))].parts;
    return i < parts.size() ? parts[i] : cell;
  };
  auto join_part = [&](const Expr& whole, size_t i, const Expr& value) {
    if (value->kind == ExprKind::Constant) return;
    const int cell = of(value);
    unify(part(whole, i), cell, e->span);
  };
  switch (e->kind) {
    case ExprKind::Call: return constrain_call(*as<Call>(e), e);
    case ExprKind::Function: {
      const Function* f = as<Function>(e);
      if (is_work(f)) return;
      for (size_t i = 0; i < f->params.size(); ++i) join_part(e, i, Expr(f->params[i]));
      return join_part(e, f->params.size(), f->body);
    }
    case ExprKind::GlobalVar: {
      const auto found = module_->functions.find(as<GlobalVar>(e)->name);
      if (found != module_->functions.end() && !is_closed(found->second)) join(e, found->second);
      return;
    }
    case ExprKind::Let: {
      const Let* l = as<Let>(e);
      join(Expr(l->var), l->value);
      return join(e, l->body);
    }
    case ExprKind::If: {
      const If* i = as<If>(e);
      if (i->condition->kind != ExprKind::Constant)
        place(of(i->condition), {}, i->condition->span, "the host reads the condition of an `if`, which is on cpu:0");
      join(e, i->then_branch);
      return join(e, i->else_branch);
    }
    case ExprKind::Match: {
      const Match* m = as<Match>(e);
      for (const Clause& c : m->clauses) {
        if (m->data->kind != ExprKind::Constant) constrain_pattern(c.pattern, of(m->data), e->span);
        join(e, c.body);
      }
      return;
    }
    case ExprKind::Tuple:
      for (size_t i = 0; i < as<Tuple>(e)->elements.size(); ++i) join_part(e, i, as<Tuple>(e)->elements[i]);
      return;
    case ExprKind::TupleGetItem: {
      const int cell = of(e);
      return unify(cell, part(as<TupleGetItem>(e)->tuple, static_cast<size_t>(as<TupleGetItem>(e)->index)), e->span);
    }
    case ExprKind::RefCreate: return join_part(e, 0, as<RefCreate>(e)->value);
    case ExprKind::RefRead: {
      const int cell = of(e);
      return unify(cell, part(as<RefRead>(e)->ref, 0), e->span);
    }
    case ExprKind::RefWrite: return join_part(as<RefWrite>(e)->ref, 0, as<RefWrite>(e)->value);
    default: return;
  }
}

void DeviceDomains::constrain_call(const Call& call, const Expr& e) {
  if (const Call* on = call_of(e, "on_device")) {
    const std::string name = attribute<std::string>(*on, "virtual_device", "");
    if (attribute<bool>(*on, "constrain_body", true) && on->args[0]->kind != ExprKind::Constant)
      place(on->args[0], name, e->span, "the argument of on_device");
    if (attribute<bool>(*on, "constrain_result", false)) place(e, name, e->span, "the result of on_device");
    return;
  }
  if (const Call* copy = device_copy_of(call)) {
    if (call.args[0]->kind != ExprKind::Constant)
      place(call.args[0], attribute<std::string>(*copy, "src_virtual_device", ""), e->span,
            "the argument of device_copy");
    return place(e, attribute<std::string>(*copy, "dst_virtual_device", ""), e->span, "the result of device_copy");
  }
  for (const char* name : {"vm.shape_of", "shape_of", "ndarray_size"})
    if (call_of(e, name)) return;
  // Operators, functions that become kernels, functions of other compilers, and constructors: one device for all.
  const Function* f = as<Function>(call.callee);
  const GlobalVar* global = as<GlobalVar>(call.callee);
  if (global) {
    const auto found = module_->functions.find(global->name);
    f = found == module_->functions.end() ? nullptr : found->second.get();
  }
  if (f ? is_work(f) : call.callee->kind == ExprKind::Op || call.callee->kind == ExprKind::Constructor) {
    const int result = of(e);
    join_leaves(result, result, e->span);
    for (const Expr& arg : call.args) {
      if (arg->kind == ExprKind::Constant) continue;
      const int cell = of(arg);
      join_leaves(result, cell, arg->span ? arg->span : e->span);
    }
    return;
  }
  const Expr callee = f ? Expr(FunctionRef(f)) : call.callee;
  const int domain = of(callee), result = of(e);
  const std::vector<int> parts = cells_[static_cast<size_t>(find(domain))].parts;
  for (size_t i = 0; i < call.args.size(); ++i) {
    if (call.args[i]->kind == ExprKind::Constant) continue;
    const int cell = of(call.args[i]);
    unify(i < parts.size() ? parts[i] : domain, cell, call.args[i]->span ? call.args[i]->span : e->span);
  }
  unify(parts.empty() ? domain : parts.back(), result, e->span);
}

}  // namespace relay::transform
