// convert_layout: converts operators to specified layouts, together with the operators between them.
//
// Option convert_layout.layouts specifies them: "nn.conv2d NHWC HWIO; nn.max_pool2d NHWC", an operator, the layouts of
// its data, weights and result. "default" leaves the data unchanged. If unset, the weights get the usual layout for
// that of the data, and the result gets that of the data. Layouts may be blocked, "nn.conv2d NCHW8c OIHW8i8o"; a call
// whose axes the blocks do not divide is unchanged. Option convert_layout.skip="0 3" leaves out the first and the
// fourth call of those operators. Without the first option nothing changes. See layouts.h.
#include <algorithm>
#include <charconv>
#include <set>

#include "relay/op/registry.h"
#include "relay/transform/layout/layouts.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

namespace {

Diagnostic bad_layouts(std::string message, std::string help) {
  return {DiagnosticKind::bad_option, "convert_layout.layouts: " + std::move(message), {}, {}, {}, std::move(help)};
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
                         "give the layout of the data, followed by those of the weights and the result");
    const Layouts layouts = {words[1], words.size() > 2 ? words[2] : "", words.size() > 3 ? words[3] : ""};
    RELAY_RETURN_IF_ERROR(check_layouts(*def, layouts));
    out[def->name] = layouts;
  }
  return out;
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
                        "give the numbers of the calls to leave out, counted from 0 and separated by spaces"};
    out.insert(number);
  }
  return out;
}

}  // namespace

Result<Module> convert_layout(const Module& module, PassContext& context) {
  RELAY_ASSIGN(auto wanted, parse(context.text("convert_layout.layouts")));
  RELAY_ASSIGN(std::set<int64_t> skip, skipped(context.text("convert_layout.skip")));
  Diagnostics errors;
  RELAY_ASSIGN(Module result, for_each_function(module, [&](const FunctionRef& f) {
                 int64_t count = 0;
                 LayoutConverter convert([&](const Call& call) -> std::optional<Layouts> {
                   auto row = wanted.find(as<Op>(call.callee)->name);
                   if (row == wanted.end()) return std::nullopt;
                   if (skip.count(count++)) return Layouts{};
                   Layouts layouts = row->second;
                   if (layouts.kernel.empty()) layouts.kernel = usual_kernel(call, layouts.data);
                   return layouts;
                 });
                 const FunctionRef out = convert(f);
                 errors.insert(errors.end(), convert.errors.begin(), convert.errors.end());
                 return out;
               }));
  if (!errors.empty()) return errors;
  return result;
}

}  // namespace relay::transform
