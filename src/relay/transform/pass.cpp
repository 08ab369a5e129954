#include "relay/transform/pass.h"

#include <algorithm>
#include <chrono>

#include "relay/ir/rewrite.h"
#include "relay/transform/well_formed.h"
#include "relay/typing/typing.h"

namespace relay::transform {

#define RELAY_PASS(name, doc) Result<ir::Module> name(const ir::Module& module, PassContext& context);
#include "relay/transform/passes.def"
#undef RELAY_PASS

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> table = {
#define RELAY_PASS(name, doc) {#name, doc, name},
#include "relay/transform/passes.def"
#undef RELAY_PASS
  };
  return table;
}

// What `options` may name.
static const std::vector<std::string>& option_names() {
  static const std::vector<std::string> names = {"backward_fold_scale_axis.any_weights",
                                                 "combine_parallel_batch_matmul.min_branches",
                                                 "combine_parallel_conv2d.min_branches",
                                                 "combine_parallel_dense.min_branches",
                                                 "dead_code.ignore_impurity",
                                                 "dead_code.inline_once",
                                                 "eta_expand.constructor",
                                                 "eta_expand.global_var",
                                                 "fold_constant.max_elements",
                                                 "fold_constant.qnn",
                                                 "forward_fold_scale_axis.any_weights",
                                                 "fuse_ops.max_group",
                                                 "fuse_ops.reduce_epilogue",
                                                 "gradient.seed",
                                                 "gradient.straight",
                                                 "limit_width.max_width",
                                                 "partial_evaluate.fuel"};
  return names;
}

// Those of `options` that are text.
static const std::vector<std::string>& text_option_names() {
  static const std::vector<std::string> names = {"convert_layout.layouts", "convert_layout.skip"};
  return names;
}

static bool is_text_option(const std::string& name) {
  return std::find(text_option_names().begin(), text_option_names().end(), name) != text_option_names().end();
}

int64_t PassContext::int_option(const std::string& name, int64_t otherwise) const {
  std::map<std::string, ir::AttrValue>::const_iterator found = options.find(name);
  if (found == options.end() || !ir::AttrConvert<int64_t>::from(found->second, &otherwise)) return otherwise;
  return otherwise;
}
bool PassContext::bool_option(const std::string& name, bool otherwise) const {
  return int_option(name, otherwise) != 0;
}

std::string PassContext::text_option(const std::string& name) const {
  std::map<std::string, ir::AttrValue>::const_iterator found = options.find(name);
  const std::string* text = found == options.end() ? nullptr : std::get_if<std::string>(&found->second);
  return text ? *text : "";
}

// "did you mean ..." or the list.
static std::string suggestion(const std::string& name, const std::vector<std::string>& names, const char* what) {
  if (std::optional<std::string> near = nearest(name, names)) return format("did you mean '{}'?", *near);
  return format("the {} are: {}", what, join(names, ", "));
}

static Status check_names(const std::vector<std::string>& passes, const PassContext& context) {
  Diagnostics errors;
  std::vector<std::string> known;
  for (const PassInfo& pass : all_passes()) known.push_back(pass.name);
  for (const std::string& name : passes)
    if (std::find(known.begin(), known.end(), name) == known.end())
      errors.push_back({DiagnosticKind::unknown_pass,
                        format("there is no pass '{}'", name),
                        {},
                        {},
                        {},
                        suggestion(name, known, "passes")});
  std::vector<std::string> names = option_names();
  names.insert(names.end(), text_option_names().begin(), text_option_names().end());
  for (const auto& [name, value] : context.options) {
    int64_t ignored;
    if (std::find(names.begin(), names.end(), name) == names.end())
      errors.push_back({DiagnosticKind::bad_option,
                        format("no pass has an option '{}'", name),
                        {},
                        {},
                        {},
                        suggestion(name, names, "options of passes")});
    else if (is_text_option(name)) {
      if (!std::holds_alternative<std::string>(value))
        errors.push_back({DiagnosticKind::bad_option,
                          format("option '{}' must be text, not {}", name, ir::str(value)),
                          {},
                          {},
                          {},
                          "give a string; the pass's file says of what form"});
    } else if (!ir::AttrConvert<int64_t>::from(value, &ignored) || ignored < 0)
      errors.push_back({DiagnosticKind::bad_option,
                        format("option '{}' must be a count, not {}", name, ir::str(value)),
                        {},
                        {},
                        {},
                        "give a whole number that is not below 0"});
  }
  if (!errors.empty()) return errors;
  return ok();
}

// A pass must give a program that is well-formed and typed; if not, the pass is wrong and not the user.
static Result<ir::Module> verified(const ir::Module& module, const std::string& pass) {
  Diagnostics errors = well_formed(module);
  if (errors.empty()) {
    typing::forget_types(module);
    Result<ir::Module> typed = typing::infer(module);
    if (typed) return typed;
    errors = typed.errors();
  }
  throw InternalError(
      format("pass {} made a wrong program:\n{}This is a bug in Relay, not in your program.", pass, render(errors)));
}

Result<ir::Module> run_passes(const ir::Module& module, const std::vector<std::string>& names, PassContext& context) {
  RELAY_RETURN_IF_ERROR(check_names(names, context));
  std::vector<PassInfo> passes;
  for (const std::string& name : names)
    passes.push_back(
        *std::find_if(all_passes().begin(), all_passes().end(), [&](const PassInfo& p) { return p.name == name; }));
  return run_these(module, passes, context);
}

Result<ir::Module> run_these(const ir::Module& module, const std::vector<PassInfo>& passes, PassContext& context) {
  if (Diagnostics errors = well_formed(module); !errors.empty()) return errors;
  RELAY_ASSIGN(ir::Module current, typing::infer(module));
  for (const PassInfo& pass : passes) {
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    context.applied.clear();
    RELAY_ASSIGN(ir::Module next, pass.run(current, context));
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    RELAY_ASSIGN(next, context.verify ? verified(next, pass.name) : typing::infer(next));
    if (context.trace) context.trace({pass, seconds, current, next, context.applied});
    current = std::move(next);
  }
  return current;
}

Result<ir::Module> for_each_function(const ir::Module& module,
                                     function_ref<ir::FunctionRef(const ir::FunctionRef&)> change) {
  ir::Module result = module;
  for (auto& [name, function] : result.functions) function = change(function);
  return result;
}

}  // namespace relay::transform
