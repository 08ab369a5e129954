#include "variants.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "relay/scalar/simplify.h"

namespace relay::proofs {

using ir::as;
using ir::TensorType;
using ir::TupleType;
using ir::Type;
using ir::Types;

namespace {

// The types with every tensor type changed.
Types mapped(const Types& types, const std::function<Type(const TensorType&)>& change) {
  Types out;
  for (const Type& type : types) {
    if (const TupleType* tuple = as<TupleType>(type))
      out.push_back(ir::tuple_type(mapped(tuple->fields, change)));
    else
      out.push_back(change(*as<TensorType>(type)));
  }
  return out;
}

Types resized_by(const Types& types, const std::function<ir::Dim(const ir::Dim&)>& change) {
  return mapped(types, [&](const TensorType& t) {
    ir::Dims dims;
    for (const ir::Dim& d : t.shape) dims.push_back(scalar::simplify(change(d)));
    return ir::tensor_type(std::move(dims), t.dtype);
  });
}

// The types with values for variables of the symbolic form: `size` for `chosen`, or for all if it is empty.
Types at_values(const ExampleCase& symbolic, const std::string& chosen, int64_t size) {
  std::vector<scalar::Binding> known;
  for (const auto& [var, value] : symbolic.shape)
    known.push_back({var, scalar::imm(chosen.empty() || scalar::str(var) == chosen ? size : value)});
  return resized_by(symbolic.inputs, [&](const ir::Dim& d) { return scalar::substitute(d, known); });
}

// Counts an axis, or a list of axes, from the other end; false if one of them is not among `rank` axes.
bool turned(int64_t rank, ir::AttrValue* value) {
  auto turn = [rank](int64_t& axis) {
    if (axis < -rank || axis >= rank) return false;
    axis += axis < 0 ? rank : -rank;
    return true;
  };
  if (int64_t* axis = std::get_if<int64_t>(value)) return turn(*axis);
  if (ir::Ints* axes = std::get_if<ir::Ints>(value))
    return !axes->empty() && std::all_of(axes->begin(), axes->end(), turn);
  return false;
}

int64_t first_rank(const Type& type) {
  const Types all = flat({type});
  return all.empty() ? 0 : static_cast<int64_t>(as<TensorType>(all[0])->shape.size());
}

// The largest value of a float type.
double largest(DType dtype) {
  if (dtype == DType::float64()) return std::numeric_limits<double>::max();
  if (dtype == DType::float16()) return 65504;
  return dtype == DType::float32() ? std::numeric_limits<float>::max() : 0x1.fep127;
}

void plant_floats(Special special, Tensor* t) {
  const double infinity = std::numeric_limits<double>::infinity();
  const int64_t n = t->elements();
  for (int64_t i = 0; i < n; ++i) {
    switch (special) {
      case Special::NaN:
        if (i % 5 == 2 || n <= 2) t->set(i, std::numeric_limits<double>::quiet_NaN());
        break;
      case Special::Infinity:
        if (i % 7 == 3 || n <= 3) t->set(i, i % 2 ? infinity : -infinity);
        break;
      case Special::Zeros:
        if (i % 2 == 0) t->set(i, i % 4 == 0 ? -0.0 : 0.0);
        break;
      case Special::Ties: t->set(i, std::floor(t->at(i) * 2) / 2); break;
      case Special::Overflow:
        if (i == n / 2) t->set(i, largest(t->dtype()));
        break;
    }
  }
}

}  // namespace

Types flat(const Types& types) {
  Types out;
  for (const Type& t : types) {
    const TupleType* tuple = as<TupleType>(t);
    if (tuple)
      out.insert(out.end(), tuple->fields.begin(), tuple->fields.end());
    else
      out.push_back(t);
  }
  return out;
}

bool is_float(const Type& tensor) { return as<TensorType>(tensor)->dtype.is_float(); }
bool any_float(const Types& types) {
  const Types all = flat(types);
  return std::any_of(all.begin(), all.end(), is_float);
}

bool any_int(const Types& types) {
  const Types all = flat(types);
  return std::any_of(all.begin(), all.end(), [](const Type& t) { return as<TensorType>(t)->dtype.is_int(); });
}

std::optional<ExampleCase> with_inputs(const ExampleCase& c, Types inputs) {
  Result<Type> output = c.def->infer(c.attrs, inputs);
  if (!output) return {};
  ExampleCase out = c;
  out.inputs = std::move(inputs), out.output = *output, out.shape.clear();
  return out;
}

std::optional<ExampleCase> in_type(const ExampleCase& c, DType dtype) {
  const bool has_floats = any_float(c.inputs);
  auto changed = [&](const TensorType& t) {
    const bool replaced = has_floats ? t.dtype == DType::float32() : t.dtype.is_int();
    return ir::tensor_type(t.shape, replaced ? dtype : t.dtype);
  };
  return with_inputs(c, mapped(c.inputs, changed));
}

Tensors in_types_of(const ExampleCase& c, const Tensors& inputs) {
  const Types types = flat(c.inputs);
  std::mt19937_64 random(1);
  Tensors out;
  for (size_t k = 0; k < inputs.size(); ++k) {
    const DType dtype = as<TensorType>(types[k])->dtype;
    if (!inputs[k].dtype().is_float() || dtype.is_float()) {
      out.push_back(inputs[k].cast(dtype));
      continue;
    }
    const double low = c.example->ranges.empty() ? c.example->low : c.example->ranges[k].first;
    const double greatest = std::ldexp(1, dtype.bits - 1) - 1;
    std::uniform_int_distribution<int64_t> draw(low < 0 ? -greatest - 1 : std::ceil(low), greatest);
    Tensor t = Tensor::empty(inputs[k].shape(), dtype);
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, draw(random));
    out.push_back(std::move(t));
  }
  return out;
}

std::optional<ExampleCase> of_scalars(const ExampleCase& c) {
  std::optional<ExampleCase> out =
      with_inputs(c, mapped(c.inputs, [](const TensorType& t) { return ir::tensor_type({}, t.dtype); }));
  if (out) out->name += " of scalars";
  return out;
}

std::vector<ExampleCase> resized(const op::OpDef& def, size_t example, int64_t size, int64_t* refused) {
  const ExampleCase known = *eval::example_case(def, example);
  std::vector<std::pair<std::string, Types>> candidates;
  if (!known.example->symbolic.empty()) {
    const ExampleCase symbolic = *eval::symbolic_case(def, example);
    std::set<std::string> names;
    for (const auto& [var, value] : symbolic.shape) names.insert(scalar::str(var));
    for (const std::string& name : names)
      candidates.emplace_back(format("{} = {}", name, size), at_values(symbolic, name, size));
    if (names.size() > 1) candidates.emplace_back(format("all sizes {}", size), at_values(symbolic, "", size));
  } else {
    std::set<int64_t> sizes;
    for (const Type& t : flat(known.inputs))
      for (const ir::Dim& d : as<TensorType>(t)->shape) sizes.insert(d->ivalue);
    for (int64_t from : sizes)
      candidates.emplace_back(format("{} for {}", size, from), resized_by(known.inputs, [&](const ir::Dim& d) {
                                return d->ivalue == from ? scalar::imm(size) : d;
                              }));
  }
  std::vector<ExampleCase> out;
  for (auto& [what, types] : candidates) {
    std::optional<ExampleCase> c = with_inputs(known, std::move(types));
    if (!c) {
      ++*refused;
      continue;
    }
    c->name = format("{} with {}", known.name, what);
    out.push_back(std::move(*c));
  }
  return out;
}

namespace {

int64_t bytes_of(const ExampleCase& c) {
  int64_t sum = 0;
  for (const Types& types : {c.inputs, Types{c.output}})
    for (const Type& t : flat(types)) {
      const TensorType& tensor = *as<TensorType>(t);
      int64_t bytes = tensor.dtype.bytes();
      for (const ir::Dim& d : tensor.shape) bytes *= scalar::is_int(d) ? d->ivalue : 1;
      sum += bytes;
    }
  return sum;
}

// Scales variables if there is a symbolic form, else the distinct sizes; with `chosen` only that one.
std::optional<ExampleCase> scaled_by(const op::OpDef& def, size_t i, double factor, const std::string& chosen) {
  const ExampleCase known = *eval::example_case(def, i);
  auto larger = [&](int64_t v) {
    return scalar::imm(std::max<int64_t>(1, std::llround(static_cast<double>(v) * factor)));
  };
  if (known.example->symbolic.empty())
    return with_inputs(known, resized_by(known.inputs, [&](const ir::Dim& d) {
                         return chosen.empty() || scalar::str(d) == chosen ? larger(d->ivalue) : d;
                       }));
  const ExampleCase symbolic = *eval::symbolic_case(def, i);
  std::vector<scalar::Binding> sizes;
  for (const auto& [var, value] : symbolic.shape)
    sizes.push_back({var, chosen.empty() || scalar::str(var) == chosen ? larger(value) : scalar::imm(value)});
  return with_inputs(known,
                     resized_by(symbolic.inputs, [&](const ir::Dim& d) { return scalar::substitute(d, sizes); }));
}

std::vector<std::string> sizes_of(const op::OpDef& def, size_t i) {
  std::set<std::string> names;
  if (def.examples[i].symbolic.empty()) {
    const ExampleCase known = *eval::example_case(def, i);
    for (const Type& t : flat(known.inputs))
      for (const ir::Dim& d : as<TensorType>(t)->shape) names.insert(scalar::str(d));
  } else {
    const ExampleCase symbolic = *eval::symbolic_case(def, i);
    for (const auto& [var, value] : symbolic.shape) names.insert(scalar::str(var));
  }
  return {names.begin(), names.end()};
}

}  // namespace

std::optional<ExampleCase> scaled(const op::OpDef& def, int64_t bytes) {
  for (size_t i = 0; i < def.examples.size(); ++i) {
    if (def.examples[i].bench) continue;
    std::vector<std::string> choices{""};
    for (const std::string& name : sizes_of(def, i)) choices.push_back(name);
    for (const std::string& choice : choices) {
      // Sizes grow by a factor between 1 and 2^23: bisects the exponent.
      double low = 0, high = 23;
      std::optional<ExampleCase> best;
      for (int step = 0; step < 12; ++step) {
        const double middle = (low + high) / 2;
        std::optional<ExampleCase> c = scaled_by(def, i, std::exp2(middle), choice);
        if (c && bytes_of(*c) <= bytes)
          best = std::move(c), low = middle;
        else
          high = middle;
      }
      if (!best || bytes_of(*best) < bytes / 4) continue;
      best->name = format("{}/{} of {} bytes", def.name, i, bytes);
      return best;
    }
  }
  return {};
}

std::vector<ExampleCase> opened(const op::OpDef& def, size_t example, int64_t* refused) {
  const ExampleCase known = *eval::example_case(def, example);
  std::set<int64_t> sizes;
  for (const Type& t : flat(known.inputs))
    for (const ir::Dim& d : as<TensorType>(t)->shape)
      if (d->ivalue != 1) sizes.insert(d->ivalue);  // it must be known whether a 1 is broadcast
  std::vector<ExampleCase> out;
  for (int64_t size : sizes) {
    const ir::Dim var = scalar::var("n");
    std::optional<ExampleCase> c =
        with_inputs(known, resized_by(known.inputs, [&](const ir::Dim& d) { return d->ivalue == size ? var : d; }));
    if (!c) {
      ++*refused;
      continue;
    }
    c->name = format("{} with n for {}", known.name, size), c->shape = {{var, size}};
    out.push_back(std::move(*c));
  }
  return out;
}

bool is_axis(std::string_view name) {
  if (name.starts_with("num_")) return false;
  return name.find("axis") != std::string_view::npos || name.find("axes") != std::string_view::npos;
}

// The case with other values of its attributes, if the type of its result stays the same.
static std::optional<ExampleCase> with_attrs(const ExampleCase& c,
                                             const std::vector<std::pair<std::string, ir::AttrValue>>& values) {
  Result<ir::Attrs> attrs = c.def->attrs_type->create(*c.def->attrs_type, values);
  if (!attrs) return {};
  ExampleCase out = c;
  out.attrs = *attrs;
  Result<Type> output = c.def->infer(out.attrs, out.inputs);
  if (!output || ir::str(*output) != ir::str(c.output)) return {};
  out.output = *output;
  return out;
}

std::optional<ExampleCase> from_the_end(const ExampleCase& c) {
  if (!c.attrs) return {};
  const std::vector<ir::AttrField>& fields = c.attrs->type.fields;
  // All axes, or if they refer to different arrays, only one of them.
  for (size_t only = 0; only <= fields.size(); ++only) {
    // For most operators axes are those of the input; for those that add axes, of the result.
    for (int64_t rank : {first_rank(c.inputs.empty() ? c.output : c.inputs[0]), first_rank(c.output)}) {
      std::vector<std::pair<std::string, ir::AttrValue>> values;
      bool any = false;
      for (size_t f = 0; f < fields.size(); ++f) {
        ir::AttrValue value = c.attrs->get(f);
        if (is_axis(fields[f].name) && (only == 0 || only == f + 1)) any |= turned(rank, &value);
        if (!std::holds_alternative<std::monostate>(value)) values.emplace_back(fields[f].name, std::move(value));
      }
      if (!any) continue;
      std::optional<ExampleCase> out = with_attrs(c, values);
      if (!out) continue;
      out->name += " from the end";
      return out;
    }
  }
  return {};
}

bool plant(Special special, const ExampleCase& c, Tensors* inputs) {
  const Types types = flat(c.inputs);
  bool any = false;
  for (size_t k = 0; k < inputs->size(); ++k) {
    // with two, products would overflow in one order and not in another
    if (special == Special::Overflow && any) break;
    if (!is_float(types[k]) || (*inputs)[k].elements() == 0) continue;
    Tensor t = Tensor::empty((*inputs)[k].shape(), (*inputs)[k].dtype());
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, (*inputs)[k].at(i));
    plant_floats(special, &t);
    (*inputs)[k] = std::move(t), any = true;
  }
  return any;
}

}  // namespace relay::proofs
