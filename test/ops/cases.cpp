// Writes every operator's examples with the reference evaluator's results, for test/python/operators/test_operators.py
// and test/ops to compare with the operators' oracles:
//
//   relay_op_cases FOLDER [--edges] [operator]...
//   relay_op_cases FOLDER --bytes N [operator]...
//
// --edges: the same with special values, sizes of 0 and 1, and scalars (variants.h). --bytes: one example of each,
// scaled to N bytes, in the original types, as a program and without results: for bench/op_times.py. FOLDER/cases.json:
// for each case its operator, inputs, attributes, oracle and result, or the reason why there is no result; for an edge
// case its column in columns.def. The tensors are named "nn.conv2d/3/in0", "nn.conv2d/3/out0" in
// FOLDER/cases.safetensors; floats are float64, and computed in it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "relay/eval/eval.h"
#include "relay/tensor/safetensors.h"
#include "variants.h"

using namespace relay;
using json = nlohmann::ordered_json;  // inputs in the operator's order

struct ToJson {
  json operator()(std::monostate) { return nullptr; }
  json operator()(DType v) { return v.str(); }
  json operator()(const ir::Dims& v) {
    json list = json::array();
    for (const ir::Dim& d : v) list.push_back(scalar::is_int(d) ? json(d->ivalue) : json(scalar::str(d)));
    return list;
  }
  json operator()(const auto& v) { return v; }
};

static std::string add(const eval::ExampleCase& c, const char* kind, size_t k, const Tensor& t, bool in_double,
                       NamedTensors* tensors) {
  const bool wide = (in_double && t.dtype().is_float()) || t.dtype().is_storage();
  tensors->emplace_back(format("{}/{}{}", c.name, kind, k), wide ? t.cast(DType::float64()) : t);
  return tensors->back().first;
}

static json shape_of(const ir::Type& type) {
  json list = json::array();
  for (const ir::Dim& d : ir::as<ir::TensorType>(type)->shape) list.push_back(d->ivalue);
  return list;
}

// The case as JSON without its results; adds its tensors to `tensors`.
static json describe(const eval::ExampleCase& c, const std::vector<Tensor>& inputs, bool in_double,
                     NamedTensors* tensors) {
  json attrs = json::object();
  if (c.attrs)
    for (size_t f = 0; f < c.attrs->type.fields.size(); ++f)
      attrs[c.attrs->type.fields[f].name] = std::visit(ToJson(), c.attrs->get(f));

  json names = json::object(), dtypes = json::object();
  size_t next = 0;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const ir::TupleType* tuple = ir::as<ir::TupleType>(c.inputs[k]);
    json& entry = names[c.def->inputs[k].name];
    if (!tuple) dtypes[c.def->inputs[k].name] = ir::as<ir::TensorType>(c.inputs[k])->dtype.str();
    for (size_t f = 0; f < (tuple ? tuple->fields.size() : 1); ++f, ++next) {
      const std::string name = add(c, "in", next, inputs[next], in_double, tensors);
      if (tuple)
        entry.push_back(name);
      else
        entry = name;
    }
  }
  const ir::TupleType* tuple = ir::as<ir::TupleType>(c.output);
  return {{"name", c.name},
          {"op", c.def->name},
          {"attrs", attrs},
          {"attrs_text", c.example->attrs},
          {"inputs", names},
          {"dtypes", dtypes},
          {"is_tuple", tuple != nullptr},
          {"output_shape", shape_of(tuple ? tuple->fields[0] : c.output)},
          {"oracle", c.def->oracle}};
}

struct Writer {
  json cases = json::array();
  NamedTensors tensors;

  void add(eval::ExampleCase c, const std::vector<Tensor>& inputs, const std::string& edge) {
    if (!edge.empty()) c.name += format(" ({})", edge);
    json described = describe(c, inputs, true, &tensors), results = json::array();
    std::string problem;
    try {
      Result<std::vector<Tensor>> outputs = eval::evaluate_case(c, inputs, {.float64 = true});
      for (size_t k = 0; outputs && k < outputs->size(); ++k)
        results.push_back(::add(c, "out", k, (*outputs)[k], true, &tensors));
      if (!outputs) problem = outputs.errors()[0].message;
    } catch (const std::exception& e) {
      problem = e.what();
    }
    described["outputs"] = results, described["problem"] = problem, described["edge"] = edge;
    cases.push_back(std::move(described));
  }

  // Adds an example that takes about `bytes` bytes, and the original example for engines that cannot run that.
  void add_scaled(const op::OpDef& def, int64_t bytes) {
    if (const std::optional<eval::ExampleCase> c = proofs::scaled(def, bytes)) add_program(*c, true);
    add_program(*eval::example_case(def, 0), false);
  }

  void add_program(const eval::ExampleCase& c, bool is_scaled) {
    ir::Module module;
    module.functions["main"] = eval::function(c);
    json described = describe(c, eval::example_inputs(c), false, &tensors);
    std::vector<std::string> shapes;
    for (const ir::Type& t : c.inputs) shapes.push_back(text::type_text(t));
    described["scaled"] = is_scaled, described["program"] = text::str(module);
    described["shapes"] = format("{}", join(shapes, ", "));
    cases.push_back(std::move(described));
  }

  void add_edges(const op::OpDef& def, size_t i) {
    const eval::ExampleCase c = *eval::example_case(def, i);
    const std::pair<proofs::Special, const char*> kinds[] = {{proofs::Special::NaN, "nan"},
                                                             {proofs::Special::Infinity, "infinity"},
                                                             {proofs::Special::Zeros, "signed_zero"},
                                                             {proofs::Special::Ties, "ties"},
                                                             {proofs::Special::Overflow, "overflow"}};
    for (auto [special, column] : kinds) {
      std::vector<Tensor> inputs = eval::example_inputs(c);
      if (proofs::plant(special, c, &inputs)) add(c, inputs, column);
    }
    int64_t refused = 0;
    for (auto [column, size] : {std::pair("empty", 0), std::pair("one", 1)})
      for (const eval::ExampleCase& other : proofs::resized(def, i, size, &refused))
        add(other, eval::example_inputs(other), column);
    if (std::optional<eval::ExampleCase> scalars = proofs::of_scalars(c))
      add(*scalars, eval::example_inputs(*scalars), "rank0");
  }
};

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: relay_op_cases FOLDER [--edges] [operator]...\n"), 2;
  std::string folder = argv[1];
  std::vector<std::string> wanted(argv + 2, argv + argc);
  const bool edges = std::erase(wanted, "--edges") > 0;
  int64_t bytes = 0;
  if (wanted.size() >= 2 && wanted[0] == "--bytes") {
    bytes = std::stoll(wanted[1]);
    wanted.erase(wanted.begin(), wanted.begin() + 2);
  }
  Writer writer;
  for (const op::OpDef* def : op::all()) {
    if (!wanted.empty() && !std::count(wanted.begin(), wanted.end(), def->name)) continue;
    if (bytes > 0) {
      writer.add_scaled(*def, bytes);
      continue;
    }
    for (size_t i = 0; i < def->examples.size(); ++i) {
      if (def->examples[i].bench) continue;
      Result<eval::ExampleCase> c = eval::example_case(*def, i);
      if (!c) throw CompileError(c.errors());
      writer.add(*c, eval::example_inputs(*c), "");
      if (edges) writer.add_edges(*def, i);
    }
  }
  Status written = write_safetensors(folder + "/cases.safetensors", writer.tensors);
  if (!written) throw CompileError(written.errors());
  std::ofstream(folder + "/cases.json") << writer.cases.dump(1) << "\n";
  return 0;
} catch (const std::exception& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
