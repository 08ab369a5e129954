// Writes every operator's examples with the reference evaluator's results, for test/python/test_operators.py to compare
// with the operators' oracles:
//
//   relay_op_cases FOLDER [operator]...
//
// FOLDER/cases.json: for each case its operator, inputs, attributes, oracle and result. The tensors are named
// "nn.conv2d/3/in0", "nn.conv2d/3/out0" in FOLDER/cases.safetensors; floats are float64, and computed in it.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>

#include "relay/eval/examples.h"
#include "relay/tensor/safetensors.h"

using namespace relay;
using nlohmann::json;

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

static json shape_of(const ir::Type& type) {
  json list = json::array();
  for (const ir::Dim& d : ir::as<ir::TensorType>(type)->shape) list.push_back(d->ivalue);
  return list;
}

// The case as JSON; its tensors are added to `tensors`.
static json describe(const eval::ExampleCase& c, NamedTensors* tensors) {
  auto add = [&](const char* kind, size_t k, const Tensor& t) {
    tensors->emplace_back(format("{}/{}{}", c.name, kind, k), t.dtype().is_float() ? t.cast(DType::float64()) : t);
    return tensors->back().first;
  };
  json attrs = json::object();
  if (c.attrs)
    for (size_t f = 0; f < c.attrs->type.fields.size(); ++f)
      attrs[c.attrs->type.fields[f].name] = std::visit(ToJson(), c.attrs->get(f));

  std::vector<Tensor> inputs = eval::example_inputs(c);
  json names = json::object();
  size_t next = 0;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    const ir::TupleType* tuple = ir::as<ir::TupleType>(c.inputs[k]);
    json& entry = names[c.def->inputs[k].name];
    for (size_t f = 0; f < (tuple ? tuple->fields.size() : 1); ++f, ++next) {
      std::string name = add("in", next, inputs[next]);
      if (tuple)
        entry.push_back(name);
      else
        entry = name;
    }
  }
  Result<std::vector<Tensor>> outputs = eval::evaluate_case(c, inputs, {.float64 = true});
  if (!outputs) throw CompileError(outputs.errors());
  json results = json::array();
  for (size_t k = 0; k < outputs->size(); ++k) results.push_back(add("out", k, (*outputs)[k]));

  const ir::TupleType* tuple = ir::as<ir::TupleType>(c.output);
  return {{"name", c.name},
          {"op", c.def->name},
          {"attrs", attrs},
          {"attrs_text", c.example->attrs},
          {"inputs", names},
          {"outputs", results},
          {"is_tuple", tuple != nullptr},
          {"output_shape", shape_of(tuple ? tuple->fields[0] : c.output)},
          {"oracle", c.def->oracle}};
}

int main(int argc, char** argv) try {
  if (argc < 2) return std::fprintf(stderr, "usage: relay_op_cases FOLDER [operator]...\n"), 2;
  std::string folder = argv[1];
  std::vector<std::string> wanted(argv + 2, argv + argc);
  json cases = json::array();
  NamedTensors tensors;
  for (const op::OpDef* def : op::all()) {
    if (!wanted.empty() && !std::count(wanted.begin(), wanted.end(), def->name)) continue;
    for (size_t i = 0; i < def->examples.size(); ++i) {
      if (def->examples[i].bench) continue;
      Result<eval::ExampleCase> c = eval::example_case(*def, i);
      if (!c) throw CompileError(c.errors());
      cases.push_back(describe(*c, &tensors));
    }
  }
  Status written = write_safetensors(folder + "/cases.safetensors", tensors);
  if (!written) throw CompileError(written.errors());
  std::ofstream(folder + "/cases.json") << cases.dump(1) << "\n";
  return 0;
} catch (const std::exception& e) {
  return std::fprintf(stderr, "%s\n", e.what()), 1;
}
