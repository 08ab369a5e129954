#include "relay/driver/options.h"

#include <algorithm>

namespace relay::driver {

namespace members {
// Converts to anything, so that a struct can be initialised with any number of them.
struct AnyValue {
  template <class T>
  operator T() const;
};
// The number of members of an aggregate: the most values that initialise it.
template <class T, class... Values>
consteval size_t member_count() {
  if constexpr (requires { T{{Values{}}..., {AnyValue{}}}; })
    return member_count<T, Values..., AnyValue>();
  else
    return sizeof...(Values);
}
template <class T>
constexpr bool names_every_member = member_count<T>() == std::tuple_size_v<decltype(T::fields)>;
}  // namespace members

static_assert(members::names_every_member<ImportOptions>);
static_assert(members::names_every_member<PassOptions>);
static_assert(members::names_every_member<LowerOptions>);
static_assert(members::names_every_member<RunOptions>);

static Diagnostic bad_option(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

std::string long_flag(const char* name, const OptionUse& use) {
  if (use.no_flag) return "";
  if (use.flag) return std::string(use.flag).substr(std::string_view(use.flag).rfind("--"));
  std::string flag = format("--{}", name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

Status check_options(const Options& options) {
  Status out = ok();
  for_each_option(options, [&]<class S, class T>(const Option<S, T>& one, const T& value) {
    if constexpr (std::is_same_v<T, int> || std::is_same_v<T, int64_t>) {
      const auto& [least, most] = std::pair(one.use.least, one.use.most);
      if (out && most > least && (value < least || value > most))
        out = bad_option(format("{} is {}, not {} to {}", one.name, value, least, most), one.help);
    }
  });
  return out;
}

Result<lower::Numerics> find_numerics(const std::string& text) {
  for (lower::Numerics numerics : {lower::Numerics::Fp32, lower::Numerics::Ieee, lower::Numerics::Fast})
    if (text == lower::name(numerics)) return numerics;
  return bad_option(format("there is no arithmetic class '{}'", text), "the classes are fp32, ieee and fast");
}

Result<std::optional<runtime::Executor>> find_executor(const std::string& text) {
  if (text == "compiled") return std::optional<runtime::Executor>();
  for (runtime::Executor known : {runtime::Executor::Graph, runtime::Executor::Vm, runtime::Executor::Aot})
    if (text == runtime::name(known)) return std::optional(known);
  return bad_option(format("there is no executor '{}'", text), "the executors are compiled, graph, vm and aot");
}

const char* name(Tier tier) {
  switch (tier) {
    case Tier::Fast: return "fast";
    case Tier::Full: return "full";
    case Tier::Auto: return "auto";
  }
  return "?";
}

Result<Tier> find_tier(const std::string& text) {
  for (Tier tier : {Tier::Fast, Tier::Full, Tier::Auto})
    if (text == name(tier)) return tier;
  return bad_option(format("there is no tier '{}'", text), "the tiers are fast, full and auto");
}

runtime::ExecutableOptions executable_options(const RunOptions& options, runtime::Tier tier) {
  return {.threads = options.threads, .executor = options.executor, .memory_limit = options.memory_limit, .tier = tier};
}

}  // namespace relay::driver
