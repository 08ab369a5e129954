// accelerator: offloads convolutions, dense layers and sums of int8 to the accelerator (docs/accelerator.md).
//
// A region becomes the constants and the instruction stream of one memory image, and a description in JSON:
//
//   {"memory_bytes": 5000000, "constant_bytes": 70000, "stream": 4990000, "multiply_adds": 115605504,
//    "inputs": [{"address": 70000, "shape": [1, 64, 56, 56], "bytes": 1}], "outputs": [..]}      bytes of a number
//
// The plugin (accelerator/) executes it.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "relay/accelerator/compile.h"
#include "relay/accelerator/fuse_sums.h"
#include "relay/accelerator/machine.h"
#include "relay/external/accelerator_group.h"
#include "relay/external/generators.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"

namespace relay::external {

using Json = nlohmann::ordered_json;
using accelerator::Array;
using ir::Call;
using ir::Expr;

namespace {

class RegionReader {
 public:
  explicit RegionReader(const ir::FunctionRef& f) : f_(f) {}

  std::optional<Diagnostic> run() {
    for (const ir::VarRef& p : f_->params) {
      const std::optional<Array> array = accelerator_array(p->type);
      if (!array || array->is_wide)
        return refuse(*p, format("%{} is not a tensor of int8 with 2 or 4 constant sizes", p->name));
      inputs.push_back(add(p, *array));
    }
    std::optional<Diagnostic> problem;
    ir::NodeSet done;
    ir::walk(
        f_->body, [&](const Expr& e) { return !ir::as<ir::Function>(e) && !done.contains(e.get()); },
        [&](const Expr& e) {
          if (done.insert(e.get()) && !problem) problem = layer(e);
        });
    if (problem) return problem;
    const ir::Tuple* several = ir::as<ir::Tuple>(f_->body);
    for (const Expr& e : several ? several->elements : ir::Exprs{f_->body}) outputs.push_back(arrays_.at(e.get()));
    return std::nullopt;
  }

  accelerator::Network network;
  std::vector<size_t> inputs, outputs;  // arrays

 private:
  static Diagnostic refuse(const ir::ExprNode& e, std::string what) {
    return {DiagnosticKind::not_supported,
            format("a part for the accelerator is not supported by it: {}", what),
            e.span,
            {},
            {},
            "let relay.byoc.partition_for_accelerator() or --external accelerator choose the parts for it"};
  }

  size_t add(const Expr& e, const Array& array) {
    network.arrays.push_back(array);
    return arrays_[e.get()] = network.arrays.size() - 1;
  }

  // A call of a composite function is a layer.
  std::optional<Diagnostic> layer(const Expr& e) {
    const Call* call = ir::as<Call>(e);
    if (!call || arrays_.count(e.get())) return std::nullopt;
    const ir::Function* composite = ir::as<ir::Function>(call->callee);
    if (!composite) return refuse(*e, "a call that is not one of its layers");
    const auto value_of = [&](const Expr& value) {
      for (size_t k = 0; k < composite->params.size(); ++k)
        if (composite->params[k].get() == value.get()) return call->args[k];
      return value;
    };
    std::optional<AcceleratorGroup> group = read_accelerator_group(composite->body, value_of);
    if (!group) return refuse(*e, "a layer of another form");
    const size_t input = arrays_.at(value_of(group->data).get());
    std::optional<size_t> addend;
    if (group->addend) addend = arrays_.at(value_of(group->addend).get());
    const size_t output = add(e, *accelerator_array(e->type));
    for (accelerator::Layer& made : group->layers) {
      made.input = input, made.addend = addend, made.output = output;
      network.layers.push_back(std::move(made));
    }
    return std::nullopt;
  }

  const ir::FunctionRef& f_;
  std::map<const ir::ExprNode*, size_t> arrays_;
};

}  // namespace

static Tensor bytes_tensor(const std::vector<uint8_t>& bytes) {
  Tensor t = Tensor::empty({static_cast<int64_t>(bytes.size())}, DType::uint8());
  std::copy(bytes.begin(), bytes.end(), static_cast<uint8_t*>(t.mutable_data()));
  return t;
}

static Result<lower::ExternalCode> generate_accelerator(const ir::FunctionRef& f) {
  lower::ExternalCode code;
  code.library = "accelerator";
  ir::AttrConvert<std::string>::from(f->attrs.at(ir::attribute::global_symbol), &code.symbol);
  RegionReader region(f);
  if (std::optional<Diagnostic> problem = region.run()) return *problem;
  accelerator::fuse_sums(region.network, region.outputs);
  std::string problem;
  const std::optional<accelerator::Program> program = accelerator::compile(region.network, {}, &problem);
  if (!program)
    return Diagnostic{DiagnosticKind::not_supported,
                      format("the accelerator cannot compute @{}: {}", code.symbol, problem),
                      f->span,
                      {},
                      {},
                      "leave out --external accelerator, or use a smaller batch"};
  const auto ports = [&](const std::vector<size_t>& arrays) {
    Json out = Json::array();
    for (const size_t a : arrays) {
      const Array& array = region.network.arrays[a];
      out.push_back({{"address", program->addresses[a]},
                     {"shape", {array.images, array.channels, array.height, array.width}},
                     {"bytes", array.is_wide ? 4 : 1}});
    }
    return out;
  };
  code.payload = Json{{"memory_bytes", program->memory_bytes}, {"constant_bytes", program->constants.size()},
                      {"stream", program->stream_address},     {"multiply_adds", program->multiply_adds},
                      {"inputs", ports(region.inputs)},        {"outputs", ports(region.outputs)}}
                     .dump();
  std::vector<uint8_t> stream(program->stream.size() * accelerator::instruction_bytes);
  accelerator::write_stream(program->stream, stream, 0);
  code.constants = {bytes_tensor(program->constants), bytes_tensor(stream)};
  return code;
}

// By the cycle model.
static Figures accelerator_figures(const std::string& payload, const std::vector<Tensor>& constants) {
  const Json description = Json::parse(payload, nullptr, false);
  if (description.is_discarded() || constants.size() != 2) return {};  // code of another generator
  const accelerator::Stream stream = accelerator::read_stream(constants.back().span<uint8_t>(), 0);
  if (accelerator::check(stream, description.value("memory_bytes", uint64_t{0}))) return {};
  const accelerator::Cycles cycles = accelerator::count_cycles(stream, {});
  const double multiply_adds = description.value("multiply_adds", 0.0);
  constexpr double lanes = accelerator::lanes * accelerator::lanes;
  return {{"cycles", cycles.total},
          {"utilisation", multiply_adds / (lanes * static_cast<double>(cycles.total))},
          {"multiply_cycles", cycles.multiply_steps},
          {"vector_cycles", cycles.vector_steps},
          {"load_bytes", cycles.load_bytes},
          {"store_bytes", cycles.store_bytes},
          {"instructions", cycles.instructions}};
}

static transform::Partitioning accelerator_partitioning() {
  transform::Partitioning out;
  const auto check = [](const Expr& root) {
    return read_accelerator_group(root, [](const Expr& e) { return e; }).has_value();
  };
  out.composites.push_back({"accelerator.convolution", accelerator_convolution(), check});
  out.composites.push_back({"accelerator.wide_convolution", accelerator_wide_convolution(), check});
  out.composites.push_back({"accelerator.sum", accelerator_sum(), check});
  out.compilers.push_back({"accelerator", [](const Call&) { return false; }});
  return out;
}

Compiler accelerator() {
  return {
      "accelerator",
      "Convolutions, dense layers and sums of int8, computed by the simulated accelerator.",
      generate_accelerator,
      accelerator_partitioning,
      // Sums of quantised values and requantisation are computed in integers.
      {"remove_unused_functions", "simplify_inference", "to_graph_normal_form", "propagate_constants", "fold_constant",
       "fake_quantization_to_integer", "fixed_point_requantize", "fold_constant", "common_subexpr", "dead_code"},
      {{"fold_constant.max_elements", int64_t{1} << 28}, {"fake_quantization_to_integer.exact", int64_t{1}}},
      accelerator_figures};
}

}  // namespace relay::external
