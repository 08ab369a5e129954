// Operators defined in Python: python/relay/op/custom.py prepares the arguments of these functions.
#include <algorithm>

#include "callback.h"
#include "convert.h"
#include "relay/ir/main_function.h"
#include "relay/ir/rewrite.h"
#include "relay/op/define.h"
#include "relay/op/registry.h"
#include "relay/scalar/simplify.h"
#include "relay/typing/typing.h"

namespace relay::python {

using op::Attrs;
using scalar::Expr;
using scalar::Exprs;

static constexpr const char* see_page = "docs/python-operators.md describes operators in Python";

static nb::dict attributes_of(const op::OpDef& def, const Attrs& attrs) {
  nb::dict out;
  for (size_t i = 0; def.attrs_type && i < def.attrs_type->fields.size(); ++i) {
    const ir::AttrField& field = def.attrs_type->fields[i];
    out[nb::str(field.name)] = from_attr(attrs ? attrs->get(i) : field.default_value);
  }
  return out;
}

// In the format of load() in relay/data/callbacks.py.
static std::string payload_of(const op::OpDef& def, const Attrs& attrs) {
  nb::gil_scoped_acquire held;
  return nb::cast<std::string>(nb::module_::import_("json").attr("dumps")(attributes_of(def, attrs)));
}

// --- types -----------------------------------------------------------------------------------------------------------

static Result<ir::Type> checked_type(const op::OpDef& def, ir::Type type) {
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  if (tuple && tuple->fields.empty()) return op::constraint("relation", "{} must return at least one tensor", def.name);
  for (const ir::Type& t : tuple ? tuple->fields : ir::Types{type})
    if (!ir::as<ir::TensorType>(t))
      return op::constraint("relation", "{} must return tensors or a tuple of tensors, not {}", def.name, ir::str(t));
  return type;
}

static Result<ir::Type> infer(const op::OpDef& def, const GilObject& relation, const Attrs& attrs,
                              const ir::Types& in) {
  return call_python(DiagnosticKind::constraint, def.name, see_page, [&]() -> Result<ir::Type> {
    nb::list types;
    for (const ir::Type& t : in) types.append(nb::cast(t));
    nb::object made = (*relation)(*types, **attributes_of(def, attrs));
    return checked_type(def, nb::cast<ir::Type>(made));
  });
}

// --- tensor expressions ----------------------------------------------------------------------------------------------

// The same stage without reads outside of its inputs: an index that is not provably inside is clamped.
static te::Tensor inside(const te::Tensor& stage) {
  scalar::Bounds bounds;
  for (const std::vector<te::Axis>* axes : {&stage->axes, &stage->reduce_axes})
    for (const te::Axis& a : *axes) {
      if (scalar::is_int(a.extent))
        bounds.set(a.var, 0, a.extent->ivalue);
      else
        bounds.set_range(a.var, scalar::imm(0), a.extent);
    }
  return te::rewrite(stage, [&](const Expr& e) -> Expr {
    if (e->kind != scalar::Kind::Load) return e;
    const te::TensorNode* source = dynamic_cast<const te::TensorNode*>(e->source.get());
    Exprs at = e->args;
    for (size_t d = 0; source && d < at.size(); ++d) {
      const Expr& extent = source->shape[d];
      const bool below = scalar::prove(scalar::lt(at[d], extent), bounds).value_or(false);
      const bool above = scalar::prove(scalar::le(scalar::imm(0), at[d]), bounds).value_or(false);
      if (!below) at[d] = scalar::min(at[d], extent - 1);
      if (!above || !below) at[d] = scalar::max(at[d], scalar::imm(0));
    }
    return scalar::with_args(e, std::move(at));
  });
}

static te::Tensors all_inside(const te::Tensors& outputs) {
  std::vector<std::pair<te::Tensor, te::Tensor>> now;
  for (const te::Tensor& t : te::topological(outputs)) {
    if (t->is_placeholder()) continue;
    // Its producers are replaced first.
    now.emplace_back(t, inside(te::replace({t}, now)[0]));
  }
  te::Tensors out;
  for (const te::Tensor& t : outputs)
    for (const auto& [before, after] : now)
      if (before == t) out.push_back(after);
  return out;
}

// The reason why the stages do not fit the fusion class, if any; passes rely on it.
static std::optional<std::string> not_of_class(op::Fusion fusion, const te::Tensors& outputs) {
  if (fusion > op::Fusion::Injective) return std::nullopt;
  for (const te::Tensor& t : te::topological(outputs)) {
    if (t->is_placeholder()) continue;
    if (t->combiner != te::Combiner::None) return format("{} reduces", t->name);
    std::optional<std::string> problem;
    te::visit(*t, [&](const Expr& e) {
      if (e->kind != scalar::Kind::Load || fusion == op::Fusion::Injective) return;
      const te::TensorNode* source = dynamic_cast<const te::TensorNode*>(e->source.get());
      const size_t missing = t->axes.size() - std::min(t->axes.size(), e->args.size());
      bool fits = e->args.size() <= t->axes.size() && (missing == 0 || fusion == op::Fusion::Broadcast);
      for (size_t d = 0; fits && d < e->args.size(); ++d)
        fits =
            e->args[d] == t->axes[d + missing].var ||
            (fusion == op::Fusion::Broadcast && scalar::is_int(source->shape[d], 1) && scalar::is_int(e->args[d], 0));
      if (!fits) problem = format("{} reads {} at other indices than its own", t->name, source ? source->name : "");
    });
    if (problem) return problem;
  }
  return std::nullopt;
}

static bool same_shape(const Exprs& a, const Exprs& b) {
  if (a.size() != b.size()) return false;
  for (size_t d = 0; d < a.size(); ++d)
    if (!scalar::prove_equal(a[d], b[d]).value_or(false)) return false;
  return true;
}

// Lowering can only report a failure of compute() by an exception, which the Python caller receives.
static te::Tensors compute(const op::OpDef& def, const GilObject& body, const Attrs& attrs, const te::Tensors& in,
                           const ir::Type& out) {
  Result<te::Tensors> made = call_python(DiagnosticKind::constraint, def.name, see_page, [&]() -> Result<te::Tensors> {
    const nb::object relay_te = nb::module_::import_("relay.te");
    nb::list tensors;
    for (const te::Tensor& t : in) tensors.append(relay_te.attr("Tensor")(t));
    nb::object given = relay_te.attr("outputs")((*body)(*tensors, **attributes_of(def, attrs)));
    te::Tensors outputs;
    for (nb::handle one : nb::cast<nb::list>(given)) outputs.push_back(nb::cast<te::Tensor>(one));
    const ir::TupleType* tuple = ir::as<ir::TupleType>(out);
    const ir::Types types = tuple ? tuple->fields : ir::Types{out};
    auto wrong = [&](std::string what) { return op::constraint("compute", "{}: {}", def.name, what); };
    if (outputs.size() != types.size())
      return wrong(format("it computes {} tensors, but its type has {}", outputs.size(), types.size()));
    for (size_t i = 0; i < types.size(); ++i) {
      const ir::TensorType& type = *ir::as<ir::TensorType>(types[i]);
      if (outputs[i]->is_placeholder()) return wrong("a result is an input: compute a copy of it");
      if (outputs[i]->dtype != type.dtype || !same_shape(outputs[i]->shape, type.shape))
        return wrong(format("result {} is {}, but its type is {}", i,
                            ir::str(ir::tensor_type(outputs[i]->shape, outputs[i]->dtype)), ir::str(types[i])));
    }
    outputs = all_inside(outputs);
    if (std::optional<std::string> problem = not_of_class(def.fusion, outputs))
      return wrong(format("it is declared as {}, but {}", op::name(def.fusion), *problem));
    return outputs;
  });
  if (!made) throw CompileError(made.errors());
  return *made;
}

// --- gradients -------------------------------------------------------------------------------------------------------

// The type of an expression of typed variables.
static Result<ir::Type> type_of(const ir::Expr& e) {
  std::vector<ir::VarRef> params;
  ir::VarMap now;
  for (const ir::VarRef& v : ir::free_vars(e)) {
    params.push_back(ir::var(v->name, v->type));
    now[v.get()] = params.back();
  }
  ir::Module module;
  module.functions[ir::main_function] = ir::function(std::move(params), ir::substitute(e, now), {});
  RELAY_ASSIGN(const ir::Module typed, typing::infer(module));
  return typed.functions.at(ir::main_function)->body->type;
}

// The function returns a list with an expression or None for each input (python/relay/op/custom.py). Like compute(), it
// can only fail with an exception.
static ir::Exprs gradient(const op::OpDef& def, const GilObject& function, const Attrs& attrs, const op::Adjoint& of) {
  Result<ir::Exprs> made = call_python(DiagnosticKind::constraint, def.name, see_page, [&]() -> Result<ir::Exprs> {
    nb::list inputs;
    for (const ir::Expr& e : of.inputs) inputs.append(nb::cast(e));
    nb::object given = (*function)(inputs, of.output, of.gradient, **attributes_of(def, attrs));
    ir::Exprs gradients;
    for (nb::handle one : nb::cast<nb::list>(given))
      gradients.push_back(one.is_none() ? ir::Expr() : nb::cast<ir::Expr>(one));
    for (size_t i = 0; i < gradients.size(); ++i) {
      if (!gradients[i]) continue;
      RELAY_ASSIGN(const ir::Type type, type_of(gradients[i]));
      if (!ir::equal(type, of.inputs[i]->type))
        return op::constraint("gradient", "{}: its input {} is declared as {}, but the input is {}", def.name, i,
                              ir::str(type), ir::str(of.inputs[i]->type));
    }
    return gradients;
  });
  if (!made) throw CompileError(made.errors());
  return *made;
}

// --- definitions -----------------------------------------------------------------------------------------------------

static op::Fusion find_fusion(const std::string& name) {
  std::vector<std::string> names;
  for (int i = 0; i <= static_cast<int>(op::Fusion::Opaque); ++i) {
    names.emplace_back(op::name(static_cast<op::Fusion>(i)));
    if (names.back() == name) return static_cast<op::Fusion>(i);
  }
  throw nb::value_error(format("there is no fusion class '{}': {}", name, join(names, ", ")).c_str());
}

static op::Callback callback_for(const op::OpDef& def, const GilObject& function) {
  op::Callback out;
  out.library = "python";
  out.payload = [&def](const Attrs& attrs) { return payload_of(def, attrs); };
  out.run = [&def, function](const Attrs& attrs, const std::vector<Tensor>& in,
                             const std::vector<Tensor>& results) -> Status {
    return call_python(
        DiagnosticKind::wrong_input, def.name, "handle these inputs in the function, or give others", [&]() -> Status {
          nb::list inputs, outputs;
          for (const Tensor& t : in) inputs.append(Array{t, false});
          for (const Tensor& t : results) outputs.append(Array{t, true});
          const nb::object callbacks = nb::module_::import_("relay.data.callbacks");
          callbacks.attr("run")(callbacks.attr("bound")(*function, attributes_of(def, attrs)), inputs, outputs);
          return ok();
        });
  };
  return out;
}

static ir::Expr define(const std::string& name, const std::string& doc,
                       const std::vector<std::tuple<std::string, std::string, bool>>& inputs,
                       const std::vector<std::tuple<std::string, std::string, nb::object, bool>>& attributes,
                       const std::string& fusion, nb::callable relation, nb::object body, nb::object callback,
                       nb::object of_gradient) {
  // Lives like all OpDefs: the functions refer to it. The registry keeps a copy.
  op::OpDef* def = new op::OpDef;
  def->name = name, def->doc = doc, def->fusion = find_fusion(fusion);
  for (const auto& [input, what, is_tuple] : inputs) def->inputs.push_back({input, what, is_tuple});
  std::vector<op::CustomField> fields;
  for (const auto& [field, type, otherwise, required] : attributes)
    fields.push_back({field, "", type, required ? ir::AttrValue() : to_attr(otherwise, field), required});
  if (!fields.empty()) def->attrs_type = value_or_throw(op::custom_attributes(name, std::move(fields)));
  def->infer = [def, kept = GilObject(relation)](const Attrs& a, const ir::Types& in) {
    return infer(*def, kept, a, in);
  };
  if (!body.is_none())
    def->compute = [def, kept = GilObject(body)](const Attrs& a, const te::Tensors& in, const ir::Type& out) {
      return compute(*def, kept, a, in, out);
    };
  if (!of_gradient.is_none())
    def->gradient = [def, kept = GilObject(of_gradient)](const Attrs& a, const op::Adjoint& of) {
      return gradient(*def, kept, a, of);
    };
  std::optional<op::Callback> made;
  if (!callback.is_none()) made = callback_for(*def, GilObject(callback));
  return value_or_throw(op::define_operator(*def, std::move(made)));
}

void add_custom_operators(nb::module_& m) {
  m.def("define_operator", define, nb::arg("name"), nb::arg("doc"), nb::arg("inputs"), nb::arg("attributes"),
        nb::arg("fusion"), nb::arg("relation"), nb::arg("compute").none(), nb::arg("callback").none(),
        nb::arg("gradient").none());
  m.def("custom_operators", [] {
    std::vector<std::string> out;
    for (const op::OpDef* def : op::custom_operators()) out.push_back(def->name);
    return out;
  });
}

}  // namespace relay::python
