#include "relay/driver/donate.h"

namespace relay::driver {

static runtime::Signature signature_of(const runtime::Program& program) {
  return program.is_graph() ? runtime::graph_signature(program) : program.signature;
}

static std::string names(const std::vector<runtime::Port>& ports) {
  std::vector<std::string> all;
  for (const runtime::Port& p : ports) all.push_back(p.name);
  return format("{}", join(all, ", "));
}

// Sizes that are known only at run time are compared then.
static bool may_be_one_type(const runtime::Port& input, const runtime::Port& result) {
  if (!input.is_tensor || !result.is_tensor || input.dtype != result.dtype || input.shape.size() != result.shape.size())
    return false;
  for (size_t d = 0; d < input.shape.size(); ++d) {
    const std::optional<int64_t> a = input.shape[d].as_constant(), b = result.shape[d].as_constant();
    if (a && b && *a != *b) return false;
  }
  return true;
}

static std::string text_of(const ResultKey& key) {
  const int64_t* number = std::get_if<int64_t>(&key);
  return number ? format("{}", *number) : format("`{}`", std::get<std::string>(key));
}

static std::optional<uint32_t> find_result(const std::vector<runtime::Port>& results, const ResultKey& key) {
  if (const int64_t* number = std::get_if<int64_t>(&key)) {
    if (*number < 0 || static_cast<size_t>(*number) >= results.size()) return std::nullopt;
    return static_cast<uint32_t>(*number);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].name == std::get<std::string>(key)) return static_cast<uint32_t>(i);
  return std::nullopt;
}

Result<std::vector<runtime::Donation>> donations(const runtime::Program& program, const Donated& donated) {
  const runtime::Signature s = signature_of(program);
  std::vector<runtime::Donation> out;
  std::map<uint32_t, std::string> taken;
  for (const auto& [name, result] : donated) {
    auto wrong = [&](std::string message, std::string help) {
      return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
    };
    uint32_t input = 0;
    while (input < s.inputs.size() && s.inputs[input].name != name) ++input;
    if (input == s.inputs.size())
      return wrong(format("the input `{}` to donate does not exist", name), "the inputs are: " + names(s.inputs));
    if (!s.inputs[input].is_tensor)
      return wrong(
          format("the input `{}` cannot be donated, because it is not a tensor: {}", name, s.inputs[input].type),
          "donate inputs that are tensors");
    out.push_back({input, {}});
    if (!result) continue;
    const std::optional<uint32_t> place = find_result(s.outputs, *result);
    if (!place)
      return wrong(format("result {} cannot take the input `{}`: it does not exist", text_of(*result), name),
                   format("the results are 0 to {}: {}", static_cast<int64_t>(s.outputs.size()) - 1, names(s.outputs)));
    const runtime::Port& output = s.outputs[*place];
    if (!may_be_one_type(s.inputs[input], output))
      return wrong(format("result {} cannot take the input `{}`: the result is {}, and the input is {}",
                          text_of(*result), name, output.type, s.inputs[input].type),
                   "donate the input for a result of the same type");
    if (auto [other, fresh] = taken.emplace(*place, name); !fresh)
      return wrong(format("result {} cannot take two inputs, `{}` and `{}`", text_of(*result), other->second, name),
                   "donate each input for a different result");
    out.back().result = place;
  }
  return out;
}

std::vector<DonationReport> donation_report(const runtime::Program& program, const lower::LoweredFunction* graph) {
  const runtime::Signature s = signature_of(program);
  std::vector<DonationReport> out;
  for (const runtime::Donation& d : program.donations) {
    DonationReport r{s.inputs[d.input].name};
    if (d.result) r.result = s.outputs[*d.result].name;
    if (!graph) {
      r.reason = "decided at run time: in place if nothing else uses the value";
      out.push_back(std::move(r));
      continue;
    }
    const runtime::Segment& f = program.graph();
    for (size_t o = 0; o < f.outputs.size() && !r.in_place; ++o) {
      const runtime::Array& a = f.arrays[f.outputs[o]];
      const bool takes = (a.in_place && a.in_place->input == d.input) || f.outputs[o] == f.inputs[d.input];
      if (!takes || (d.result && *d.result != o)) continue;
      r.in_place = true, r.result = s.outputs[o].name;
    }
    if (!r.in_place) {
      const auto reason = graph->not_in_place.find(static_cast<int>(d.input));
      r.reason = reason == graph->not_in_place.end() ? "another result uses its storage" : reason->second;
    }
    out.push_back(std::move(r));
  }
  return out;
}

}  // namespace relay::driver
