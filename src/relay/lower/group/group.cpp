#include "relay/lower/group/group.h"

#include <algorithm>
#include <unordered_map>

#include "relay/ir/rewrite.h"
#include "relay/op/index/checks.h"
#include "relay/op/op.h"
#include "relay/te/axis_names.h"
#include "relay/te/recurrence.h"

namespace relay::lower {

static std::string identifier(std::string_view name) {
  std::string out;
  for (char c : name) out += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  return out;
}

// The tensors in a type, left to right.
static void flatten(const ir::Type& type, std::vector<const ir::TensorType*>& out) {
  if (const ir::TensorType* t = ir::as<ir::TensorType>(type))
    out.push_back(t);
  else if (const ir::TupleType* t = ir::as<ir::TupleType>(type))
    for (const ir::Type& f : t->fields) flatten(f, out);
}

static te::Tensors placeholders(const ir::Type& type, const std::string& name) {
  std::vector<const ir::TensorType*> tensors;
  flatten(type, tensors);
  te::Tensors out;
  for (const ir::TensorType* t : tensors) out.push_back(te::placeholder(name, t->shape, t->dtype));
  return out;
}

static te::Tensors constant_tensors(const ir::Constant& c, GroupTe& group) {
  const Tensor& v = c.value;
  Exprs shape;
  for (int64_t e : v.shape()) shape.push_back(scalar::imm(e));
  if (v.elements() == 1) {
    Expr value = v.dtype().is_float() ? scalar::fimm(v.at(0), v.dtype()) : scalar::imm(v.int_at(0), v.dtype());
    return {te::compute("constant", shape, [&](const Exprs&) { return value; })};
  }
  te::Tensor p = te::placeholder("constant", shape, v.dtype());
  group.constants.push_back({p, v});
  return {p};
}

static te::Tensor renamed_placeholder(const te::Tensor& p, const std::string& name) {
  return te::placeholder(name, p->shape, p->dtype);
}

// The value, with its products rounded before a sum of another operator adds them. Half precisions are rounded by their
// conversions already. A select rounds each of its sides, once if several selects share it.
static Expr rounded(const Expr& value) {
  if (value->dtype != DType::float32() && value->dtype != DType::float64()) return value;
  std::unordered_map<const scalar::Node*, Expr> done;
  std::vector<Expr> work{value};
  while (!work.empty()) {
    const Expr e = work.back();
    const bool is_select = e->kind == scalar::Kind::Select;
    const size_t before = work.size();
    for (size_t side = 1; is_select && side <= 2; ++side)
      if (!done.count(e->args[side].get())) work.push_back(e->args[side]);
    if (work.size() != before) continue;
    work.pop_back();
    if (!done.count(e.get()))
      done[e.get()] = is_select ? scalar::select(e->args[0], done.at(e->args[1].get()), done.at(e->args[2].get()))
                                : scalar::unary(scalar::UnaryOp::Rounded, e);
  }
  return done.at(value.get());
}

// The results of an operator, rounded as the operator alone would store them.
static te::Tensors rounded(const te::Tensors& results, function_ref<bool(const te::Tensor&)> is_input) {
  std::vector<std::pair<te::Tensor, te::Tensor>> changed;
  for (const te::Tensor& t : results) {
    if (is_input(t) || !t->body || t->combiner != te::Combiner::None || te::has_several_values(*t)) continue;
    if (te::as_recurrence(*t) || te::as_state(*t)) continue;
    Expr body = rounded(t->body);
    if (scalar::equal(body, t->body)) continue;
    te::TensorNode node = *t;
    node.body = std::move(body);
    changed.push_back({t, te::Tensor(new te::TensorNode(std::move(node)))});
  }
  return changed.empty() ? results : te::replace(results, changed);
}

namespace {
// Builds the te of a group; keeps the tensors of each expression.
class Translator {
 public:
  explicit Translator(GroupTe& group) : group_(group) {}

  void bind(const ir::Expr& e, te::Tensors tensors) { values_[e.get()] = std::move(tensors); }

  Status run(const ir::Expr& body) {
    Diagnostics errors;
    ir::visit(body, [&](const ir::Expr& e) {
      if (!errors.empty() || values_.count(e.get())) return;
      if (Status s = translate(e); !s) errors = s.errors();
    });
    if (!errors.empty()) return errors;
    return ok();
  }
  const te::Tensors& of(const ir::Expr& e) const { return values_.at(e.get()); }

  Result<te::Tensors> apply(const ir::Call& call, const te::Tensors& inputs) {
    const ir::Op* op = ir::as<ir::Op>(call.callee);
    RELAY_CHECK(call.type != nullptr, "a call of {} reaches lowering without a type", op->name);
    add_checks(call, *op->def, inputs);
    name_ += (name_.empty() ? "" : "_") + identifier(op->name);
    te::Tensors outputs = op->def->compute(call.attrs, inputs, call.type);
    auto given = [&](const te::Tensor& t) { return std::find(inputs.begin(), inputs.end(), t) != inputs.end(); };
    for (const te::Tensor& t : te::topological(outputs, given))
      if (t->before) return te::scan_in_operator(*t);
    return rounded(outputs, given);
  }
  const std::string& name() const { return name_; }

 private:
  void add_checks(const ir::Call& call, const op::OpDef& def, const te::Tensors& inputs) {
    if (!def.checked) return;
    ir::Types types;
    for (const te::Tensor& t : inputs) types.push_back(ir::tensor_type(t->shape, t->dtype));
    ir::Exprs written;
    for (const ir::Expr& a : call.args)
      if (const ir::Tuple* t = ir::as<ir::Tuple>(a))
        written.insert(written.end(), t->elements.begin(), t->elements.end());
      else
        written.push_back(a);
    for (const op::CheckedIndices& checked : op::checks_of(def, call.attrs, types)) {
      CheckedTe made{{{op::refusing(def, call.attrs, checked), place_text(call.span), checked.axes}, checked.extents},
                     checked.values ? checked.values(inputs) : inputs[checked.input]};
      const bool is_written = !checked.values && inputs.size() == written.size();
      if (const ir::Constant* c = is_written ? ir::as<ir::Constant>(written[checked.input]) : nullptr)
        made.value = c->value, made.indices = te::Tensor();
      group_.checks.push_back(std::move(made));
    }
  }

  Status translate(const ir::Expr& e) {
    if (const ir::Constant* c = ir::as<ir::Constant>(e)) {
      values_[e.get()] = constant_tensors(*c, group_);
    } else if (const ir::Tuple* t = ir::as<ir::Tuple>(e)) {
      te::Tensors all;
      for (const ir::Expr& f : t->elements) all.insert(all.end(), of(f).begin(), of(f).end());
      values_[e.get()] = all;
    } else if (const ir::TupleGetItem* g = ir::as<ir::TupleGetItem>(e)) {
      const ir::TupleType* type = ir::as<ir::TupleType>(g->tuple->type);
      RELAY_CHECK(type, "a projection reaches lowering without a type");
      size_t begin = 0;
      std::vector<const ir::TensorType*> before, own;
      for (int64_t i = 0; i < g->index; ++i) flatten(type->fields[i], before);
      flatten(type->fields[g->index], own);
      begin = before.size();
      const te::Tensors& all = of(g->tuple);
      values_[e.get()] = te::Tensors(all.begin() + begin, all.begin() + begin + own.size());
    } else if (const ir::Call* c = ir::as<ir::Call>(e); c && ir::as<ir::Op>(c->callee)) {
      te::Tensors inputs;
      for (const ir::Expr& a : c->args) inputs.insert(inputs.end(), of(a).begin(), of(a).end());
      RELAY_ASSIGN(values_[e.get()], apply(*c, inputs));
    } else if (!ir::as<ir::Op>(e)) {
      return Diagnostic{DiagnosticKind::not_supported,
                        format("a fused group holds a {}, which has no tensor expression", ir::name(e->kind)),
                        e->span,
                        {},
                        {},
                        "run the passes in the default order"};
    }
    return ok();
  }

  GroupTe& group_;
  std::string name_;
  std::unordered_map<const ir::ExprNode*, te::Tensors> values_;
};
}  // namespace

// The parameter's name in the first operator that uses it: "data", "weight".
static std::string parameter_name(const ir::Var& var, const ir::Expr& body) {
  std::string name;
  ir::visit(body, [&](const ir::Expr& e) {
    const ir::Call* c = ir::as<ir::Call>(e);
    const ir::Op* op = c ? ir::as<ir::Op>(c->callee) : nullptr;
    if (!op || !name.empty()) return;
    for (size_t i = 0; i < c->args.size(); ++i)
      if (c->args[i].get() == &var) name = i < op->def->inputs.size() ? op->def->inputs[i].name : "data";
  });
  return name.empty() ? "data" : name;
}

void add_sources(std::vector<Span>& sources, const std::vector<Span>& more) {
  for (const Span& place : more) {
    auto is_same = [&](const Span& s) {
      return s.source == place.source && s.node == place.node && s.begin == place.begin && s.end == place.end;
    };
    if (place && std::none_of(sources.begin(), sources.end(), is_same)) sources.push_back(place);
  }
}

// Gives every result a stage of its own. A parameter, a constant or an earlier result that is a result as it stands has
// no stage that would store it.
static void store_all(te::Tensors& outputs) {
  std::set<const te::TensorNode*> stored;
  for (te::Tensor& t : outputs) {
    if (t->is_placeholder() || stored.contains(t.get())) t = copy_stage(t, "copy");
    stored.insert(t.get());
  }
}

Result<GroupTe> group_of(const ir::Call& call) {
  GroupTe group;
  Translator translator(group);
  if (const ir::Function* f = ir::as<ir::Function>(call.callee)) {
    for (size_t i = 0; i < f->params.size(); ++i) {
      const ir::VarRef& p = f->params[i];
      te::Tensors tensors = placeholders(call.args[i]->type, parameter_name(*p, f->body));
      group.params.insert(group.params.end(), tensors.begin(), tensors.end());
      translator.bind(p, tensors);
    }
    RELAY_RETURN_IF_ERROR(translator.run(f->body));
    group.outputs = translator.of(f->body);
    ir::visit(f->body, [&](const ir::Expr& e) {
      if (ir::as<ir::Call>(e)) add_sources(group.sources, {e->span});
    });
  } else {
    const ir::Op* op = ir::as<ir::Op>(call.callee);
    if (!op)
      return Diagnostic{DiagnosticKind::not_supported,
                        format("a call of a {} cannot be lowered to a kernel", ir::name(call.callee->kind)),
                        call.span,
                        {},
                        {},
                        "use the debug executor for programs with functions as values"};
    for (size_t i = 0; i < call.args.size(); ++i) {
      te::Tensors tensors =
          placeholders(call.args[i]->type, i < op->def->inputs.size() ? op->def->inputs[i].name : "data");
      group.params.insert(group.params.end(), tensors.begin(), tensors.end());
    }
    RELAY_ASSIGN(group.outputs, translator.apply(call, group.params));
    add_sources(group.sources, {call.span});
  }
  store_all(group.outputs);
  const std::string name = translator.name().empty() ? "copy" : translator.name();
  group.name = short_name((ir::as<ir::Function>(call.callee) ? "fused_" : "") + name);
  make_names_unique(group);
  return group;
}

// A name is a symbol of an object file and a column of a profile: longer ones end in a hash of the whole name.
std::string short_name(std::string name) {
  constexpr size_t longest = 120, kept = 100;  // characters
  if (name.size() <= longest) return name;
  return name.substr(0, kept) + format("_{:08x}", static_cast<uint32_t>(std::hash<std::string>()(name)));
}

// Parameters and constants first, then the stages above them.
void make_names_unique(GroupTe& group) {
  std::vector<std::pair<te::Tensor, te::Tensor>> fresh;
  std::set<std::string> used;
  std::unordered_map<std::string, int> last;
  auto rename = [&](te::Tensor& p) {
    std::string name = p->name;
    while (!used.insert(name).second) name = format("{}_{}", p->name, ++last[p->name]);
    te::Tensor q = renamed_placeholder(p, name);
    fresh.push_back({p, q});
    p = q;
  };
  for (te::Tensor& p : group.params) rename(p);
  for (auto& [p, value] : group.constants) rename(p);
  // Checks use the same tensors as the computation.
  te::Tensors all = group.outputs;
  for (const CheckedTe& c : group.checks)
    if (c.indices) all.push_back(c.indices);
  all = unique_names(te::propagate_axis_names(te::replace(all, fresh)));
  auto next = all.begin() + static_cast<int64_t>(group.outputs.size());
  for (CheckedTe& c : group.checks)
    if (c.indices) c.indices = *next++;
  group.outputs.assign(all.begin(), all.begin() + static_cast<int64_t>(group.outputs.size()));
}

// A copy of a stage under another name, with its own axes renamed where they clash.
static te::Tensor named(const te::Tensor& stage, const std::string& name, const te::Tensor& before,
                        const std::vector<scalar::Binding>& axes_map, std::vector<te::Axis> axes,
                        std::vector<te::Axis> reduce_axes) {
  if (te::as_recurrence(*stage) || te::as_state(*stage)) return te::renamed_recurrence(stage, name);
  te::TensorNode node = *stage;
  node.name = name, node.before = before;
  node.axes = std::move(axes), node.reduce_axes = std::move(reduce_axes);
  for (te::Axis& a : node.reduce_axes) a.extent = scalar::substitute(a.extent, axes_map);
  if (stage->body) node.body = scalar::substitute(stage->body, axes_map);
  if (stage->is_program()) {
    node.result = loop::buffer(name, stage->dtype, stage->shape, loop::Scope::Param);
    node.program = loop::substitute(te::renamed(*stage, node.result), axes_map);
  }
  return te::Tensor(new te::TensorNode(std::move(node)));
}

te::Tensors unique_names(const te::Tensors& outputs) {
  std::unordered_map<const te::TensorNode*, te::Tensor> done;
  std::map<std::string, int> used;
  for (const te::Tensor& t : te::topological(outputs)) {
    if (t->is_placeholder()) {
      used[t->name]++;
      done[t.get()] = t;
    }
  }
  for (const te::Tensor& t : te::topological(outputs)) {
    if (t->is_placeholder()) continue;
    std::string name = identifier(t->name);
    while (used.count(name)) name = format("{}_{}", identifier(t->name), used[identifier(t->name)]++);
    used[name]++;
    std::map<std::string, int> axis_names;
    std::vector<scalar::Binding> axes_map;
    auto rename = [&](std::vector<te::Axis> axes) {
      for (te::Axis& a : axes) {
        std::string axis = identifier(a.var->name);
        if (int n = axis_names[axis]++) axis += format("_{}", n);
        Expr var = scalar::var(axis);
        axes_map.push_back({a.var, var});
        a.var = var;
      }
      return axes;
    };
    std::vector<te::Axis> axes = rename(t->axes), reduce_axes = rename(t->reduce_axes);
    const te::Tensor before = t->before ? te::placeholder(name, t->shape, t->dtype) : te::Tensor();
    const te::Tensor reading = te::rewrite(t, [&](const Expr& n) -> Expr {
      if (n->kind != scalar::Kind::Load) return n;
      const te::TensorNode* source = dynamic_cast<const te::TensorNode*>(n->source.get());
      if (source && source == t->before.get()) return scalar::load(before, n->args);
      return source ? scalar::load(done.at(source), n->args) : n;
    });
    done[t.get()] = named(reading, name, before, axes_map, axes, reduce_axes);
  }
  te::Tensors out;
  for (const te::Tensor& t : outputs) out.push_back(done.at(t.get()));
  return out;
}

te::Tensor copy_stage(const te::Tensor& from, const std::string& name) {
  te::TensorNode node;
  node.name = name, node.dtype = from->dtype, node.shape = from->shape, node.value_types = from->value_types;
  Exprs at;
  for (size_t d = 0; d < from->shape.size(); ++d) {
    Expr var = scalar::var(from->is_placeholder() ? format("i{}", d) : from->axes[d].var->name);
    node.axes.push_back({var, from->shape[d]});
    at.push_back(var);
  }
  node.body = scalar::load(from, at);
  return te::Tensor(new te::TensorNode(std::move(node)));
}

te::Tensors redirect(const te::Tensors& outputs, const te::Tensor& from, const te::Tensor& to) {
  std::unordered_map<const te::TensorNode*, te::Tensor> done;
  te::Tensors roots = outputs;
  roots.push_back(to);
  for (const te::Tensor& t : te::topological(roots)) {
    if (t->is_placeholder() || t == to) {
      done[t.get()] = t;
      continue;
    }
    done[t.get()] = te::rewrite(t, [&](const Expr& n) -> Expr {
      if (n->kind != scalar::Kind::Load) return n;
      const te::TensorNode* source = dynamic_cast<const te::TensorNode*>(n->source.get());
      if (!source) return n;
      // Inputs of `to` are kept; only stages outside of it are redirected.
      te::Tensor next = source == from.get() ? to : done.count(source) ? done.at(source) : te::Tensor(source);
      return next.get() == source ? n : scalar::load(next, n->args);
    });
  }
  te::Tensors out;
  for (const te::Tensor& t : outputs) out.push_back(t == from ? to : done.at(t.get()));
  return out;
}

}  // namespace relay::lower
