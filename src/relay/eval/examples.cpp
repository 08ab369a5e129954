#include "relay/eval/examples.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "relay/eval/eval.h"

namespace relay::eval {

using ir::as;
using ir::TensorType;
using ir::TupleType;
using ir::Type;
using ir::Types;

namespace {

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

// Reports an error in an operator's definition, for the author of the operator.
Diagnostic wrong_definition(const std::string& name, std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::type_mismatch, format("{}: {}", name, message), {}, {}, {}, std::move(help)};
}

Diagnostics named(Diagnostics problems, const std::string& name) {
  for (Diagnostic& d : problems) d.message = format("{}: {}", name, d.message);
  return problems;
}

// Parses the texts; shape variables are shared by name.
Result<ExampleCase> parse(const op::OpDef& def, const std::string& name, const std::vector<std::string>& inputs,
                          const std::string& attrs) {
  ExampleCase c;
  c.def = &def;
  c.name = name;
  text::DimNames names;
  for (const std::string& input : inputs) {
    Result<Type> type = text::parse_type(input, &names);
    if (!type) return named(type.errors(), name);
    c.inputs.push_back(*std::move(type));
  }
  if (c.inputs.size() != def.inputs.size())
    return wrong_definition(name,
                            format("the operator has {}, and the example gives {}",
                                   plural(static_cast<int64_t>(def.inputs.size()), "input", "inputs"), c.inputs.size()),
                            "give the example one type for each input of the operator");
  for (const Type& type : flat(c.inputs))
    if (!as<TensorType>(type))
      return wrong_definition(name, format("an input is {}, which is not a tensor", ir::str(type)),
                              "examples take tensors, \"(3, 10)\", and tuples of them, \"[(1, 2), (1, 3)]\"");
  if (def.attrs_type) {
    typedef std::vector<std::pair<std::string, ir::AttrValue>> Values;
    Result<Values> values = text::parse_attrs(attrs, &names);
    if (!values) return named(values.errors(), name);
    Result<ir::Attrs> made = def.attrs_type->create(*def.attrs_type, *values);
    if (!made) return named(made.errors(), name);
    c.attrs = *std::move(made);
  }
  return c;
}

// ... and infers the type with the relation.
Result<ExampleCase> build(const op::OpDef& def, const std::string& name, const std::vector<std::string>& inputs,
                          const std::string& attrs) {
  RELAY_ASSIGN(ExampleCase c, parse(def, name, inputs, attrs));
  Result<Type> output = def.infer(c.attrs, c.inputs);
  if (!output) return named(output.errors(), name);
  c.output = *std::move(output);
  return c;
}

// 53 random bits as a value in [0, 1): the same on every machine.
double uniform(std::mt19937_64& random) { return std::ldexp(static_cast<double>(random() >> 11), -53); }

Tensor random_tensor(const TensorType& type, double least, double most, std::mt19937_64& random) {
  Shape shape;
  for (const ir::Dim& d : type.shape) shape.push_back(d->ivalue);
  Tensor t = Tensor::empty(std::move(shape), type.dtype);
  for (int64_t i = 0; i < t.elements(); ++i) {
    double u = uniform(random);
    if (type.dtype.is_float() || type.dtype.is_storage()) {
      t.set(i, least + (most - least) * u);
    } else {
      double low = std::ceil(least), high = std::floor(most);
      t.set_int(i, static_cast<int64_t>(low + std::floor((high - low + 1) * u)));
    }
  }
  return t;
}

}  // namespace

Result<ExampleCase> example_case(const op::OpDef& def, size_t i) {
  const op::Example& example = def.examples[i];
  RELAY_ASSIGN(ExampleCase c, build(def, format("{}/{}", def.name, i), example.inputs, example.attrs));
  c.example = &example;
  if (const size_t tensors = flat(c.inputs).size(), given = example.ranges.size(); given && given != tensors)
    return wrong_definition(c.name, format("there are {} tensors, but {} ranges", tensors, given),
                            "give .ranges one pair for each tensor of .inputs, or none");
  for (const Type& type : flat(c.inputs))
    for (const ir::Dim& d : as<TensorType>(type)->shape)
      if (!scalar::is_int(d) || d->ivalue < 0)
        return wrong_definition(c.name, format("the size {} of an input is not a number", scalar::str(d)),
                                "give the sizes of .inputs as numbers, and names for them in .symbolic");
  return c;
}

// Solves for variables in sizes such as `2 * c`.
static Status solve(ExampleCase& c, const TensorType& symbolic, const TensorType& value) {
  for (size_t d = 0; d < symbolic.shape.size(); ++d) {
    const int64_t size = value.shape[d]->ivalue;
    auto at = [&](const ShapeValues& known) {
      std::vector<scalar::Binding> bindings;
      for (const auto& [var, number] : known) bindings.push_back({var, scalar::imm(number)});
      return scalar::simplify(scalar::substitute(symbolic.shape[d], bindings));
    };
    const std::vector<ir::Dim> open = scalar::free_vars(at(c.shape));
    if (open.empty()) continue;
    bool found = false;
    for (int64_t number = 0; number <= size && !found && open.size() == 1; ++number) {
      ShapeValues tried = c.shape;
      tried.emplace_back(open[0], number);
      if ((found = scalar::is_int(at(tried), size))) c.shape = std::move(tried);
    }
    if (!found)
      return wrong_definition(c.name, format("the size {} cannot be {}", scalar::str(symbolic.shape[d]), size),
                              "give .inputs a size that .symbolic can have");
  }
  return ok();
}

Result<ExampleCase> symbolic_case(const op::OpDef& def, size_t i) {
  const op::Example& example = def.examples[i];
  if (example.symbolic.empty())
    return wrong_definition(format("{}/{}", def.name, i), "the example has no symbolic form",
                            "give its inputs with names for sizes in .symbolic");
  RELAY_ASSIGN(ExampleCase known, example_case(def, i));
  RELAY_ASSIGN(ExampleCase c, build(def, format("{}/{} {}", def.name, i, join(example.symbolic, ", ")),
                                    example.symbolic, example.attrs));
  c.example = &example;
  Types symbolic = flat(c.inputs), values = flat(known.inputs);
  const char* one_form = "give .symbolic the same tensors with the same number of axes as .inputs";
  if (symbolic.size() != values.size())
    return wrong_definition(c.name,
                            format("the symbolic form has {}, the static one {}",
                                   plural(static_cast<int64_t>(symbolic.size()), "tensor", "tensors"), values.size()),
                            one_form);
  for (size_t k = 0; k < symbolic.size(); ++k) {
    const ir::Dims &dims = as<TensorType>(symbolic[k])->shape, &sizes = as<TensorType>(values[k])->shape;
    if (dims.size() != sizes.size())
      return wrong_definition(c.name, format("input {} has another rank than in the static form", k), one_form);
    for (size_t d = 0; d < dims.size(); ++d)
      if (scalar::is_var(dims[d])) c.shape.emplace_back(dims[d], sizes[d]->ivalue);
  }
  for (size_t k = 0; k < symbolic.size(); ++k)
    RELAY_RETURN_IF_ERROR(solve(c, *as<TensorType>(symbolic[k]), *as<TensorType>(values[k])));
  return c;
}

Result<Type> infer_reject(const op::OpDef& def, size_t i) {
  const op::Reject& reject = def.rejects[i];
  RELAY_ASSIGN(ExampleCase c, parse(def, format("reject {} of {}", i, def.name), reject.inputs, reject.attrs));
  return def.infer(c.attrs, c.inputs);
}

// Sorts row pointers of a sparse matrix.
static void sort_pointers(const ExampleCase& c, std::vector<Tensor>* tensors) {
  if (tensors->size() != c.def->inputs.size()) return;  // no such inputs if there are tuples
  for (size_t k = 0; k < tensors->size(); ++k) {
    if (!c.def->inputs[k].name.ends_with("indptr")) continue;
    std::vector<int64_t> values = (*tensors)[k].to_ints();
    std::sort(values.begin(), values.end());
    (*tensors)[k] = Tensor::from_ints((*tensors)[k].shape(), (*tensors)[k].dtype(), values);
  }
}

// Fills a tensor with 0, 1, .. in some order.
static void number(Tensor* tensor, std::mt19937_64& random) {
  std::vector<int64_t> values(static_cast<size_t>(tensor->elements()));
  std::iota(values.begin(), values.end(), 0);
  std::shuffle(values.begin(), values.end(), random);
  *tensor = Tensor::from_ints(tensor->shape(), tensor->dtype(), values);
}

std::vector<Tensor> example_inputs(const ExampleCase& c) {
  uint64_t seed = 14695981039346656037ull;  // FNV-1a of the name
  for (char ch : c.name) seed = (seed ^ static_cast<unsigned char>(ch)) * 1099511628211ull;
  std::mt19937_64 random(seed);
  std::vector<Tensor> out;
  const std::vector<std::pair<double, double>>& ranges = c.example->ranges;
  for (const Type& type : flat(c.inputs)) {
    auto [low, high] = ranges.empty() ? std::pair(c.example->low, c.example->high) : ranges[out.size()];
    out.push_back(random_tensor(*as<TensorType>(type), low, high, random));
    if (c.example->distinct && out.back().dtype().is_int()) number(&out.back(), random);
  }
  sort_pointers(c, &out);
  return out;
}

CaseExpressions expressions(const ExampleCase& c) {
  CaseExpressions e;
  for (const Type& type : flat(c.inputs)) {
    const TensorType& tensor = *as<TensorType>(type);
    e.inputs.push_back(te::placeholder(format("in{}", e.inputs.size()), tensor.shape, tensor.dtype));
  }
  e.outputs = c.def->compute(c.attrs, e.inputs, c.output);
  return e;
}

Result<std::vector<Tensor>> evaluate_case(const ExampleCase& c, const std::vector<Tensor>& inputs,
                                          const EvalOptions& options) {
  CaseExpressions e = expressions(c);
  TensorBindings bindings;
  for (size_t i = 0; i < inputs.size(); ++i) bindings.emplace_back(e.inputs[i], inputs[i]);
  RELAY_ASSIGN(ir::Type type, with_sizes(*c.def, c.attrs, c.output, e.inputs, bindings, c.shape, options));
  if (type != c.output) e.outputs = c.def->compute(c.attrs, e.inputs, type);
  return evaluate(e.outputs, bindings, c.shape, options);
}

ir::FunctionRef function(const ExampleCase& c) {
  std::vector<ir::VarRef> params;
  ir::Exprs args;
  for (size_t i = 0; i < c.inputs.size(); ++i) {
    const op::Input& input = c.def->inputs[i];
    const TupleType* tuple = as<TupleType>(c.inputs[i]);
    ir::Exprs fields;
    for (const Type& type : tuple ? tuple->fields : Types{c.inputs[i]}) {
      params.push_back(ir::var(tuple ? format("{}{}", input.name, fields.size()) : input.name, type));
      fields.push_back(params.back());
    }
    args.push_back(tuple ? ir::tuple(fields) : fields[0]);
  }
  return ir::function(params, ir::call(op::node(*c.def), args, c.attrs), c.output);
}

}  // namespace relay::eval
