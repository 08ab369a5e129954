#include "relay/exec/signature.h"

#include <algorithm>

#include "relay/exec/sizes.h"

namespace relay::exec {

using scalar::Expr;
using scalar::Exprs;

namespace {

void flatten(const ir::Type& type, std::vector<ir::Type>* out) {
  if (const ir::TupleType* t = ir::as<ir::TupleType>(type)) {
    for (const ir::Type& f : t->fields) flatten(f, out);
  } else {
    out->push_back(type);
  }
}

class Signer {
 public:
  explicit Signer(const std::vector<runtime::DataType>& types) : types_(types) {}

  Result<runtime::Signature> run(const ir::Function& main, const std::vector<std::string>& names,
                                 const std::vector<op::Condition>& conditions) {
    find_ports(main);
    for (uint32_t i = 0; i < shapes_.size(); ++i)
      for (uint32_t d = 0; d < shapes_[i].size(); ++d) bind(i, d);
    std::vector<ir::Type> results;
    flatten(main.body->type, &results);
    std::vector<Exprs> result_shapes;
    for (const ir::Type& r : results) {
      const ir::TensorType* t = ir::as<ir::TensorType>(r);
      Exprs shape = t ? t->shape : Exprs{};
      for (Expr& e : shape) {
        if (scalar::is_any(e)) e = unknown();
        for (const Expr& v : scalar::free_vars(e)) variable(v);
      }
      result_shapes.push_back(std::move(shape));
    }
    SizeTranslator size(variables_);
    for (size_t i = 0; i < ports_.size(); ++i) {
      RELAY_ASSIGN(runtime::Port port, this->port(ports_[i].name, ports_[i].type, shapes_[i], size));
      if (i < main.params.size())
        out_.inputs.push_back(std::move(port));
      else
        out_.fields.push_back({std::move(port), ports_[i].of, ports_[i].index});
    }
    for (size_t i = 0; i < results.size(); ++i) {
      std::string name = i < names.size() && !names[i].empty() ? names[i]
                         : results.size() == 1                 ? "output"
                                                               : format("output{}", i);
      RELAY_ASSIGN(runtime::Port port, this->port(name, results[i], result_shapes[i], size));
      out_.outputs.push_back(std::move(port));
    }
    for (const op::Condition& c : conditions) {
      Exprs vars = scalar::free_vars(c.a - c.b);
      if (!std::all_of(vars.begin(), vars.end(), [&](const Expr& v) { return bound(v); })) continue;
      if (std::optional<runtime::Check> check = size.check(c)) out_.checks.push_back(*std::move(check));
    }
    for (const Expr& v : variables_) out_.variables.push_back(v->name);
    return std::move(out_);
  }

 private:
  struct NamedPort {
    std::string name;  // of a field: "a.1"
    ir::Type type;
    uint32_t of = 0, index = 0;  // of a field
  };

  // The parameters, followed by the fields of each tuple, some of which may be tuples.
  void find_ports(const ir::Function& main) {
    for (const ir::VarRef& p : main.params) ports_.push_back({p->name, p->type});
    for (uint32_t of = 0; of < ports_.size(); ++of) {
      const ir::TupleType* tuple = ir::as<ir::TupleType>(ports_[of].type);
      for (uint32_t k = 0; tuple && k < tuple->fields.size(); ++k)
        ports_.push_back({format("{}.{}", ports_[of].name, k), tuple->fields[k], of, k});
    }
    for (const NamedPort& p : ports_) {
      const ir::TensorType* t = ir::as<ir::TensorType>(p.type);
      shapes_.push_back(t ? t->shape : Exprs{});
    }
  }

  uint32_t variable(const Expr& v) {
    for (uint32_t i = 0; i < variables_.size(); ++i)
      if (variables_[i] == v) return i;
    variables_.push_back(v);
    return static_cast<uint32_t>(variables_.size()) - 1;
  }
  Expr unknown() {
    variables_.push_back(scalar::var("?"));
    return variables_.back();
  }

  // A size that cannot be computed from other sizes becomes a separate variable.
  void bind(uint32_t input, uint32_t dim) {
    Expr& e = shapes_[input][dim];
    bool computed = !scalar::is_any(e);
    for (const Expr& v : scalar::free_vars(e)) {
      if (bound(v)) continue;
      std::optional<runtime::VariableBinding> b = find_binding(v, shapes_);
      if (b) {
        b->variable = variable(v);
        out_.bindings.push_back(*b);
      } else {
        computed = false;
      }
    }
    if (computed) return;
    e = unknown();
    out_.bindings.push_back({.variable = variable(e), .input = input, .dim = dim});
  }
  bool bound(const Expr& v) {
    for (const runtime::VariableBinding& b : out_.bindings)
      if (variables_[b.variable] == v) return true;
    return false;
  }

  Result<runtime::Port> port(const std::string& name, const ir::Type& type, const Exprs& shape,
                             const SizeTranslator& size) const {
    runtime::Port port{.name = name, .type = ir::str(type)};
    const ir::TensorType* t = ir::as<ir::TensorType>(type);
    if (!t) {
      const ir::TypeCall* call = ir::as<ir::TypeCall>(type);
      if (const ir::DataTypeName* data = ir::as<ir::DataTypeName>(call ? call->callee : type)) {
        port.kind = runtime::ObjectKind::Data;
        while (types_[port.data_type].name != data->name) ++port.data_type;
      }
      if (const ir::TupleType* tuple = ir::as<ir::TupleType>(type)) {
        port.kind = runtime::ObjectKind::Tuple;
        port.fields = static_cast<uint32_t>(tuple->fields.size());
      }
      if (ir::as<ir::FuncType>(type)) port.kind = runtime::ObjectKind::Closure;
      if (ir::as<ir::RefType>(type)) port.kind = runtime::ObjectKind::Reference;
      return port;
    }
    port.is_tensor = true;
    port.dtype = t->dtype;
    for (const Expr& e : shape) {
      RELAY_ASSIGN(runtime::SizeExpr s, size(e));
      port.shape.push_back(std::move(s));
    }
    return port;
  }

  const std::vector<runtime::DataType>& types_;
  std::vector<NamedPort> ports_;
  std::vector<Exprs> shapes_;  // of ports
  Exprs variables_;
  runtime::Signature out_;
};

}  // namespace

Result<runtime::Signature> signature(const ir::FunctionRef& main, const std::vector<std::string>& output_names,
                                     const std::vector<runtime::DataType>& types,
                                     const std::vector<op::Condition>& conditions) {
  return Signer(types).run(*main, output_names, conditions);
}

}  // namespace relay::exec
