// Checks for tests of passes that @main computes the same before and after. The reference evaluator runs both on
// arguments drawn for their parameters; differences that rounding explains are ignored.
#pragma once

#include <cmath>
#include <map>

#include "relay/eval/eval.h"
#include "relay/ir/expr.h"
#include "relay/scalar/simplify.h"

namespace relay::transform {

// Draws values of types, the same ones for the same seed. Shape variables get sizes of at least 3. Null for a function.
class DrawnValues {
 public:
  DrawnValues(const ir::Module& module, uint64_t seed, double low) : module_(module), state_(seed), low_(low) {}

  eval::Value draw(const ir::Type& type, int depth = 0) {
    if (const ir::TensorType* t = ir::as<ir::TensorType>(type)) return tensor(*t);
    if (const ir::RefType* r = ir::as<ir::RefType>(type)) {
      eval::Value value = draw(r->value, depth);
      return value ? node(new eval::ReferenceValue(std::move(value))) : value;
    }
    eval::Values fields;
    if (const ir::TupleType* t = ir::as<ir::TupleType>(type))
      return drawn(t->fields, depth, &fields) ? eval::tuple_value(std::move(fields)) : eval::Value();
    const ir::TypeCall* of = ir::as<ir::TypeCall>(type);
    const ir::DataTypeName* name = ir::as<ir::DataTypeName>(of ? of->callee : type);
    if (!name) return {};
    // Constructors with the most fields first, to a limited depth; then those with the fewest.
    const ir::TypeDef& definition = module_.types.at(name->name);
    Ref<const ir::Constructor> chosen = definition.constructors.at(0);
    for (const Ref<const ir::Constructor>& c : definition.constructors)
      if (depth < 2 ? c->inputs.size() > chosen->inputs.size() : c->inputs.size() < chosen->inputs.size()) chosen = c;
    std::vector<ir::TypeBinding> bindings;
    for (size_t i = 0; of && i < of->args.size(); ++i) bindings.push_back({definition.type_params[i], of->args[i]});
    ir::Types types;
    for (const ir::Type& t : chosen->inputs) types.push_back(ir::substitute(t, {}, bindings));
    return drawn(types, depth + 1, &fields) ? node(new eval::DataValue(chosen, std::move(fields))) : eval::Value();
  }

 private:
  static eval::Value node(const eval::ValueNode* made) { return eval::Value(Ref<const eval::ValueNode>(made)); }

  bool drawn(const ir::Types& types, int depth, eval::Values* values) {
    for (const ir::Type& t : types) {
      values->push_back(draw(t, depth));
      if (!values->back()) return false;
    }
    return true;
  }

  eval::Value tensor(const ir::TensorType& type) {
    Shape shape;
    for (const ir::Dim& d : type.shape) {
      for (const scalar::Expr& v : scalar::free_vars(d))
        sizes_.emplace(v->name, static_cast<int64_t>(sizes_.size()) + 3);
      std::vector<scalar::Binding> bindings;
      for (const scalar::Expr& v : scalar::free_vars(d)) bindings.push_back({v, scalar::imm(sizes_.at(v->name))});
      scalar::Expr size = scalar::simplify(scalar::substitute(d, bindings));
      shape.push_back(scalar::is_int(size) ? size->ivalue : 3);
    }
    Tensor result = Tensor::empty(shape, type.dtype);
    for (int64_t i = 0; i < result.elements(); ++i) {
      state_ = state_ * 6364136223846793005u + 1442695040888963407u;
      double from_0_to_1 = static_cast<double>(state_ >> 11) * 0x1p-53;
      if (type.dtype.is_float())
        result.set(i, low_ + (1 - low_) * from_0_to_1);
      else
        result.set_int(i, static_cast<int64_t>(from_0_to_1 * (type.dtype.is_bool() ? 2 : 5)));
    }
    return result;
  }

  const ir::Module& module_;
  uint64_t state_;
  double low_;
  std::map<std::string, int64_t> sizes_;
};

// The first difference of two results; empty if there is none. Functions are not compared.
inline std::string difference(const eval::Value& a, const eval::Value& b) {
  std::string both = format("{}\nand {}", eval::str(a), eval::str(b));
  if (a.tensor && b.tensor) {
    if (a.tensor.shape() != b.tensor.shape()) return both;
    double largest = 0;
    for (int64_t i = 0; i < a.tensor.elements(); ++i)
      if (double x = std::abs(a.tensor.at(i)); std::isfinite(x)) largest = std::max(largest, x);
    for (int64_t i = 0; i < a.tensor.elements(); ++i) {
      double x = a.tensor.at(i), y = b.tensor.at(i);
      bool same = x == y || (std::isnan(x) && std::isnan(y)) || std::abs(x - y) <= 1e-5 * largest;
      if (!same) return both;
    }
    return "";
  }
  auto parts = [](const eval::Value& v) -> eval::Values {
    if (const eval::TupleValue* t = eval::as_tuple(v)) return t->fields;
    if (const eval::DataValue* d = eval::as_data(v)) return d->fields;
    if (const eval::ReferenceValue* r = eval::as_reference(v)) return {r->value};
    return {};
  };
  eval::Values x = parts(a), y = parts(b);
  if (!a.node || !b.node || a.node->kind != b.node->kind || x.size() != y.size()) return both;
  if (const eval::DataValue* d = eval::as_data(a); d && d->constructor->name != eval::as_data(b)->constructor->name)
    return both;
  for (size_t i = 0; i < x.size(); ++i)
    if (std::string found = difference(x[i], y[i]); !found.empty()) return found;
  return "";
}

// The difference between the results of @main in two typed modules, for a few draws; empty if there is none. References
// among the arguments are compared after the run too.
inline std::string difference(const ir::Module& before, const ir::Module& after) {
  for (uint64_t seed = 0; seed < 4; ++seed) {
    // The same arguments twice, because a run may write to references. The first draws are positive, for roots.
    eval::Values arguments[2];
    for (eval::Values& values : arguments) {
      DrawnValues drawn(before, seed, seed == 0 ? 0.1 : -1);
      for (const ir::VarRef& p : before.functions.at("main")->params) {
        values.push_back(drawn.draw(p->type));
        if (!values.back()) return format("no value can be drawn for {}: {}", p->name, ir::str(p->type));
      }
    }
    Result<eval::Value> a = eval::run(before, "main", arguments[0]), b = eval::run(after, "main", arguments[1]);
    if (!a || !b) return render((a ? b : a).errors());
    arguments[0].push_back(*a), arguments[1].push_back(*b);
    std::string found = difference(eval::tuple_value(arguments[0]), eval::tuple_value(arguments[1]));
    if (!found.empty()) return found;
  }
  return "";
}

}  // namespace relay::transform
