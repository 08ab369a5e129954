// convert_layout: brings operators into given layouts, and what stands between them along.
//
// Option convert_layout.layouts says which: "nn.conv2d NHWC HWIO; nn.max_pool2d NHWC", an operator, the layout of its
// data and that of its weights. "default" for the data: as it is; without one for the weights they get the usual one
// beside that of the data. Option convert_layout.skip="0 3" leaves out the first and the fourth call of those
// operators. Without the first option nothing changes. See layouts.h.
#include <algorithm>
#include <charconv>
#include <set>

#include "relay/op/registry.h"
#include "relay/transform/layouts.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

Diagnostic bad_layouts(std::string message, std::string help) {
  return {DiagnosticKind::bad_option, "convert_layout.layouts: " + std::move(message), {}, {}, {}, std::move(help)};
}

// Whether both are orders of the same letters.
bool same_letters(std::string a, std::string b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

std::string default_of(const op::OpDef& def, const char* name) {
  const int index = def.attrs_type->find(name);
  return index < 0 ? "" : std::get<std::string>(def.attrs_type->fields[static_cast<size_t>(index)].default_value);
}

Status check(const op::OpDef& def, const Layouts& layouts) {
  for (const auto& [name, layout] :
       {std::pair{layout_attribute(def), layouts.data}, {"kernel_layout", layouts.kernel}}) {
    const std::string usual = default_of(def, name);
    if (layout.empty()) continue;
    if (usual.empty()) return bad_layouts(format("{} has no {}", def.name, name), "give one layout for it");
    if (!is_plain_layout(layout) || !same_letters(layout, usual))
      return bad_layouts(format("{} of {} cannot be \"{}\"", name, def.name, layout),
                         format("give the letters of \"{}\" in any order", usual));
  }
  return ok();
}

Result<std::map<std::string, Layouts>> parse(const std::string& text) {
  std::map<std::string, Layouts> out;
  for (std::string_view row : split(text, ';')) {
    std::vector<std::string> words;
    for (std::string_view word : split(trim(row), ' '))
      if (!trim(word).empty()) words.emplace_back(trim(word));
    if (words.empty()) continue;
    const op::OpDef* def = op::find(words[0]);
    if (!def || !layout_attribute(*def))
      return bad_layouts(format("{} is not an operator with a layout", words[0]), "name one, such as nn.conv2d");
    for (std::string& word : words)
      if (word == "default") word.clear();
    if (words.size() < 2 || words.size() > 4)
      return bad_layouts(format("{} has {} layouts", def->name, words.size() - 1),
                         "give the layout of the data and, behind it, that of the weights");
    Layouts layouts = {words[1], words.size() > 2 ? words[2] : ""};
    RELAY_RETURN_IF_ERROR(check(*def, layouts));
    out[def->name] = layouts;
  }
  return out;
}

// The layout of weights that goes with one of the data: channels in front with channels in front.
std::string usual_kernel(const Call& call, const std::string& data) {
  const op::OpDef& def = *as<Op>(call.callee)->def;
  const std::string usual = default_of(def, "kernel_layout");
  if (usual.empty() || data.empty()) return "";
  if (data == default_of(def, layout_attribute(def))) return usual;
  const std::string own = std::get<std::string>(value_of(call, "kernel_layout"));
  const TensorType* weights = as<TensorType>(call.args[1]->type);
  const AttrValue groups = value_of(call, "groups");
  const size_t inputs = own.find('I');
  const bool transposed = usual.starts_with("IO");
  const bool depthwise = weights && inputs < weights->shape.size() && scalar::is_int(weights->shape[inputs], 1) &&
                         std::holds_alternative<int64_t>(groups) && std::get<int64_t>(groups) > 1;
  return usual.substr(2) + (transposed || depthwise ? "OI" : "IO");
}

Result<std::set<int64_t>> skipped(const std::string& text) {
  std::set<int64_t> out;
  for (std::string_view word : split(text, ' ')) {
    if (trim(word).empty()) continue;
    int64_t number = -1;
    if (std::from_chars(word.data(), word.data() + word.size(), number).ptr != word.data() + word.size() || number < 0)
      return Diagnostic{DiagnosticKind::bad_option,
                        format("convert_layout.skip: '{}' is not a count", word),
                        {},
                        {},
                        {},
                        "give the numbers of the calls to leave out, from 0 on, with spaces between them"};
    out.insert(number);
  }
  return out;
}

}  // namespace

Result<Module> convert_layout(const Module& module, PassContext& context) {
  RELAY_ASSIGN(auto wanted, parse(context.text_option("convert_layout.layouts")));
  RELAY_ASSIGN(std::set<int64_t> skip, skipped(context.text_option("convert_layout.skip")));
  return for_each_function(module, [&](const FunctionRef& f) {
    int64_t count = 0;
    LayoutConverter convert([&](const Call& call) -> std::optional<Layouts> {
      auto row = wanted.find(as<Op>(call.callee)->name);
      if (row == wanted.end()) return std::nullopt;
      if (skip.count(count++)) return Layouts{};
      Layouts layouts = row->second;
      if (layouts.kernel.empty()) layouts.kernel = usual_kernel(call, layouts.data);
      return layouts;
    });
    return convert(f);
  });
}

}  // namespace relay::transform
