#include "relay/transform/pass.h"

#include <algorithm>
#include <charconv>
#include <chrono>

#include "relay/ir/attribute_names.h"
#include "relay/transform/saved_types.h"
#include "relay/transform/well_formed.h"
#include "relay/typing/typing.h"

namespace relay::transform {

#define RELAY_PASS(name, doc) Result<ir::Module> name(const ir::Module& module, PassContext& context);
#define RELAY_OPTIMIZATION RELAY_PASS
#include "relay/transform/passes.def"
#undef RELAY_PASS

const std::vector<PassInfo>& all_passes() {
  static const std::vector<PassInfo> table = {
#define RELAY_PASS(name, doc) {#name, doc, name, false},
#undef RELAY_OPTIMIZATION
#define RELAY_OPTIMIZATION(name, doc) {#name, doc, name, true},
#include "relay/transform/passes.def"
#undef RELAY_OPTIMIZATION
#undef RELAY_PASS
  };
  return table;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : all_passes())
    if (pass.name == name) return &pass;
  return nullptr;
}

static ir::AttrValue attr_value(int number) { return int64_t{number}; }
static ir::AttrValue attr_value(const char* text) { return std::string(text); }

const std::vector<OptionInfo>& all_options() {
  static const std::vector<OptionInfo> table = {
#define RELAY_OPTION(pass, name, type, otherwise, doc) {#pass "." #name, OptionInfo::type, attr_value(otherwise), doc},
#include "relay/transform/options.def"
#undef RELAY_OPTION
  };
  return table;
}

static const OptionInfo* find_option(std::string_view name) {
  for (const OptionInfo& option : all_options())
    if (option.name == name) return &option;
  return nullptr;
}

static const ir::AttrValue& value_of(const PassContext& context, std::string_view name) {
  const OptionInfo* option = find_option(name);
  RELAY_CHECK(option, "options.def has no {}", name);
  std::map<std::string, ir::AttrValue>::const_iterator found = context.options.find(option->name);
  return found == context.options.end() ? option->otherwise : found->second;
}

int64_t PassContext::count(std::string_view name) const {
  int64_t number = 0;
  const bool is_number = ir::AttrConvert<int64_t>::from(value_of(*this, name), &number);
  RELAY_CHECK(is_number, "{} is not a number", name);
  return number;
}

std::string PassContext::text(std::string_view name) const {
  const std::string* text = std::get_if<std::string>(&value_of(*this, name));
  RELAY_CHECK(text, "{} is not a text", name);
  return *text;
}

// "did you mean ..." or the list.
static std::string suggestion(const std::string& name, const std::vector<std::string>& names, const char* what) {
  if (std::optional<std::string> near = nearest(name, names)) return format("did you mean '{}'?", *near);
  return format("the {} are: {}", what, join(names, ", "));
}

static Diagnostic bad_option(std::string message, std::string help) {
  return {DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

static Diagnostic no_option(std::string_view name) {
  std::vector<std::string> names;
  for (const OptionInfo& option : all_options()) names.push_back(option.name);
  return bad_option(format("no pass has an option '{}'", name),
                    suggestion(std::string(name), names, "options of passes"));
}

static Status check_option(const std::string& name, const ir::AttrValue& value) {
  const OptionInfo* option = find_option(name);
  if (!option) return no_option(name);
  int64_t number = -1;
  switch (option->type) {
    case OptionInfo::Text:
      if (std::holds_alternative<std::string>(value)) return ok();
      return bad_option(format("option '{}' must be text, not {}", name, ir::str(value)), option->doc);
    case OptionInfo::Count:
      if (ir::AttrConvert<int64_t>::from(value, &number) && number >= 0) return ok();
      return bad_option(format("option '{}' must be a count, not {}", name, ir::str(value)),
                        "give a non-negative integer");
    case OptionInfo::Flag:
      if (ir::AttrConvert<int64_t>::from(value, &number) && (number == 0 || number == 1)) return ok();
      return bad_option(format("option '{}' must be 0 or 1, not {}", name, ir::str(value)), "give 0 or 1");
  }
  return ok();
}

Result<std::pair<std::string, ir::AttrValue>> parse_option(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos)
    return bad_option(format("'{}' does not have the form pass.option=value", text),
                      "write pass.option=value, such as fuse_ops.max_group=8");
  const std::string name(trim(text.substr(0, equals)));
  const std::string_view word = trim(text.substr(equals + 1));
  const OptionInfo* option = find_option(name);
  if (!option) return no_option(name);
  ir::AttrValue value = std::string(word);
  int64_t number = 0;
  if (option->type == OptionInfo::Flag && (word == "true" || word == "false"))
    value = int64_t{word == "true"};
  else if (option->type != OptionInfo::Text && !word.empty() &&
           std::from_chars(word.data(), word.data() + word.size(), number).ptr == word.data() + word.size())
    value = number;
  RELAY_RETURN_IF_ERROR(check_option(name, value));
  return std::pair(name, value);
}

static Status check_names(const std::vector<std::string>& passes, const PassContext& context) {
  Diagnostics errors;
  std::vector<std::string> known;
  for (const PassInfo& pass : all_passes()) known.push_back(pass.name);
  for (const std::string& name : passes)
    if (!find_pass(name))
      errors.push_back({DiagnosticKind::unknown_pass,
                        format("there is no pass '{}'", name),
                        {},
                        {},
                        {},
                        suggestion(name, known, "passes")});
  for (const auto& [name, value] : context.options)
    if (Status status = check_option(name, value); !status)
      errors.insert(errors.end(), status.errors().begin(), status.errors().end());
  if (!errors.empty()) return errors;
  return ok();
}

// A pass must return a program that is well-formed and typed; if not, that is a bug of the pass, not an error of the
// user.
static Result<ir::Module> verified(const ir::Module& module, const std::string& pass) {
  Diagnostics errors = well_formed(module);
  if (errors.empty()) {
    typing::forget_types(module);
    Result<ir::Module> typed = typing::infer(module);
    if (typed) return typed;
    errors = typed.errors();
  }
  throw InternalError(format("pass {} produced a wrong program:\n{}This is a bug in Relay, not in your program.", pass,
                             render(errors)));
}

Result<ir::Module> run_passes(const ir::Module& module, const std::vector<std::string>& names, PassContext& context) {
  RELAY_RETURN_IF_ERROR(check_names(names, context));
  std::vector<PassInfo> passes;
  for (const std::string& name : names) passes.push_back(*find_pass(name));
  return run_these(module, passes, context);
}

static bool is_marked(const ir::FunctionRef& f, const char* name) {
  const ir::DictAttrs::const_iterator found = f->attrs.find(name);
  int64_t mark = 0;
  return found != f->attrs.end() && ir::AttrConvert<int64_t>::from(found->second, &mark) && mark != 0;
}

// Restores functions that a pass must not change: those for another compiler, whose patterns have already been matched,
// and those marked SkipOptimization=1.
static void keep_as_they_were(const ir::Module& before, ir::Module& after, const PassInfo& pass) {
  for (auto& [name, f] : after.functions) {
    auto kept = before.functions.find(name);
    if (kept == before.functions.end()) continue;
    const ir::FunctionRef& was = kept->second;
    if ((f->attrs.count(ir::attribute::compiler) && was->attrs.count(ir::attribute::compiler)) ||
        (pass.is_optimization && is_marked(was, ir::attribute::skip_optimization)))
      f = was;
  }
}

static Result<ir::Module> run_in_turn(ir::Module current, const std::vector<PassInfo>& passes, PassContext& context) {
  for (const PassInfo& pass : passes) {
    std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
    context.applied.clear();
    RELAY_ASSIGN(ir::Module next, pass.run(current, context));
    keep_as_they_were(current, next, pass);
    double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    RELAY_ASSIGN(next, context.verify ? verified(next, pass.name) : typing::infer(next));
    if (context.trace) context.trace({pass, seconds, current, next, context.applied});
    current = std::move(next);
  }
  return current;
}

Result<ir::Module> run_these(const ir::Module& module, const std::vector<PassInfo>& passes, PassContext& context) {
  if (Diagnostics errors = well_formed(module); !errors.empty()) return errors;
  RELAY_ASSIGN(ir::Module typed, typing::infer(module));
  SavedTypes saved(module);
  RELAY_ASSIGN(ir::Module result, run_in_turn(std::move(typed), passes, context));
  // Nodes that both modules have keep the caller's types.
  if (saved.restore()) return typing::infer(without_types(result));
  return result;
}

std::string name_of(const ir::Expr& e) {
  const ir::Call* call = ir::as<ir::Call>(e);
  const ir::Op* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
  if (op) return op->name;
  switch (e->kind) {
    case ir::ExprKind::Call: return "a call";
    case ir::ExprKind::Constant: return "a constant";
    case ir::ExprKind::If: return "an if";
    case ir::ExprKind::Let: return "a let";
    case ir::ExprKind::Match: return "a match";
    case ir::ExprKind::Tuple: return "a tuple";
    case ir::ExprKind::TupleGetItem: return format("a part of {}", name_of(ir::as<ir::TupleGetItem>(e)->tuple));
    case ir::ExprKind::Var: return "a variable";
    default: return "an expression";
  }
}

ir::FunctionRef rewrite_function(const ir::FunctionRef& f, PassContext& context,
                                 function_ref<ir::Expr(const ir::Expr& before, const ir::Expr& now)> rule) {
  const ir::Expr out = ir::rewrite(f, [&](const ir::Expr& before, const ir::Expr& now) -> ir::Expr {
    ir::Expr made = rule(before, now);
    if (!(made == now)) ++context.applied[format("{} becomes {}", name_of(now), name_of(made))];
    return made;
  });
  return ir::FunctionRef(ir::as<ir::Function>(out));
}

Result<ir::Module> for_each_function(const ir::Module& module,
                                     function_ref<ir::FunctionRef(const ir::FunctionRef&)> change) {
  ir::Module result = module;
  for (auto& [name, function] : result.functions) function = change(function);
  return result;
}

}  // namespace relay::transform
