// The options of a compilation: keywords with types, defaults and documentation, all from driver/options.h.
#include "relay/driver/options.h"

#include <algorithm>

#include "core.h"
#include "relay/driver/targets.h"
#include "relay/driver/tuning.h"

namespace relay::python {

using driver::Option;
using driver::OptionUse;

namespace {
// A Python value for one option, and back. `type`: as an annotation.
template <class T>
struct Keyword;  // not defined for types that no keyword has

// Values that nanobind converts in both directions.
template <class T>
struct Plain {
  static bool set(nb::handle value, T& out) { return nb::try_cast<T>(value, out); }
  static nb::object get(const T& value) { return nb::cast(value); }
};
template <>
struct Keyword<std::string> : Plain<std::string> {
  static constexpr const char* type = "str";
};
// Values by name; none is None.
template <class T>
struct Table : Plain<T> {
  static nb::object get(const T& value) { return value.empty() ? nb::none() : nb::cast(value); }
};
template <>
struct Keyword<std::map<std::string, std::vector<int64_t>>> : Table<std::map<std::string, std::vector<int64_t>>> {
  static constexpr const char* type = "Mapping[str, Sequence[int] | Sequence[Sequence[int]] | None]";
};
template <>
struct Keyword<std::map<std::string, int64_t>> : Table<std::map<std::string, int64_t>> {
  static constexpr const char* type = "dict[str, int]";
};
template <>
struct Keyword<std::map<std::string, std::string>> : Table<std::map<std::string, std::string>> {
  static constexpr const char* type = "Mapping[str, str] | Mapping[int, str] | str";
};
template <>
struct Keyword<driver::Donated> : Table<driver::Donated> {
  static constexpr const char* type = "Mapping[str, int | str | None] | Iterable[str]";
};
template <>
struct Keyword<driver::DeviceMap> {
  static constexpr const char* type = "Mapping[str, str]";
  static bool set(nb::handle value, driver::DeviceMap& out) {
    std::map<std::string, std::string> names;
    if (!nb::try_cast(value, names)) return false;
    for (const auto& [name, device] : names) out[name] = value_or_throw(driver::find_device(device));
    return true;
  }
  static nb::object get(const driver::DeviceMap& value) {
    nb::dict out;
    for (const auto& [name, device] : value) out[name.c_str()] = str(device);
    return value.empty() ? nb::none() : nb::object(out);
  }
};
template <>
struct Keyword<bool> : Plain<bool> {
  static constexpr const char* type = "bool";
};

template <class T>
struct Number {
  static constexpr const char* type = "int";
  static bool set(nb::handle value, T& out) {
    if (!PyIndex_Check(value.ptr()) || PyBool_Check(value.ptr())) return false;
    return nb::try_cast<T>(nb::steal(PyNumber_Index(value.ptr())), out);
  }
  static nb::object get(T value) { return nb::cast(value); }
};
template <>
struct Keyword<int> : Number<int> {};
template <>
struct Keyword<int64_t> : Number<int64_t> {};

// Values with names, which `find` knows.
template <class T, auto find, auto text>
struct Named {
  static constexpr const char* type = "str";
  static bool set(nb::handle value, T& out) {
    if (!nb::isinstance<nb::str>(value)) return false;
    out = value_or_throw(find(nb::cast<std::string>(value)));
    return true;
  }
  static nb::object get(const T& value) { return nb::cast(std::string(text(value))); }
};
constexpr auto find_target = [](const std::string& text) { return driver::find_target(text); };
constexpr auto target_name = [](const TargetDesc& target) { return target.name; };
constexpr auto mode_name = [](driver::Mode mode) { return driver::name(mode); };
constexpr auto precision_name = [](driver::Precision precision) { return driver::name(precision); };
constexpr auto numerics_name = [](lower::Numerics numerics) { return lower::name(numerics); };
constexpr auto tier_name = [](driver::Tier tier) { return driver::name(tier); };
constexpr auto executor_name = [](const std::optional<runtime::Executor>& e) {
  return e ? runtime::name(*e) : "compiled";
};
template <>
struct Keyword<TargetDesc> : Named<TargetDesc, find_target, target_name> {};
template <>
struct Keyword<driver::Mode> : Named<driver::Mode, driver::find_mode, mode_name> {};
template <>
struct Keyword<driver::Precision> : Named<driver::Precision, driver::find_precision, precision_name> {};
template <>
struct Keyword<lower::Numerics> : Named<lower::Numerics, driver::find_numerics, numerics_name> {};
template <>
struct Keyword<driver::Tier> : Named<driver::Tier, driver::find_tier, tier_name> {};
template <>
struct Keyword<std::optional<runtime::Executor>>
    : Named<std::optional<runtime::Executor>, driver::find_executor, executor_name> {};

template <>
struct Keyword<build::BatchCalls> {
  static constexpr const char* type = "bool";
  static bool set(nb::handle value, build::BatchCalls& out) {
    if (!PyBool_Check(value.ptr())) return false;
    out = nb::cast<bool>(value) ? build::BatchCalls::Automatic : build::BatchCalls::Never;
    return true;
  }
  static nb::object get(build::BatchCalls value) { return nb::cast(value != build::BatchCalls::Never); }
};

template <class T>
constexpr bool can_be_keyword = requires { Keyword<T>::type; };
}  // namespace

static Diagnostic bad_option(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

// Calls visit(option, member) for each option that is a keyword.
template <class Owner, class Visit>
static void for_each_keyword(Owner& options, const Visit& visit) {
  driver::for_each_option(options, [&]<class S, class T>(const Option<S, T>& one, auto& member) {
    if (one.use.no_keyword) return;
    if constexpr (can_be_keyword<T>)
      visit(one, member);
    else
      RELAY_CHECK(false, "the option {} has a type that no keyword has", one.name);
  });
}

template <class T>
static void set(const char* name, const char* help, nb::handle value, T& out) {
  if (Keyword<T>::set(value, out)) return;
  throw CompileError({bad_option(
      format("{} takes {}, not {}", name, Keyword<T>::type, shortened(nb::cast<std::string>(nb::repr(value)))), help)});
}

static std::vector<std::string> keyword_names() {
  std::vector<std::string> names;
  const driver::Options options;
  for_each_keyword(options, [&](const auto& one, const auto&) { names.emplace_back(one.name); });
  return names;
}

// None stands for the default.
static driver::Options options_of(const nb::dict& given) {
  driver::Options out;
  const std::vector<std::string> names = keyword_names();
  for (const auto& [key, value] : given) {
    const std::string name = nb::cast<std::string>(nb::str(key));
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const std::optional<std::string> near = nearest(name, names);
    throw CompileError(
        {bad_option(format("there is no option '{}'", shortened(name)),
                    near ? format("did you mean {}?", *near) : format("the options are: {}", join(names, ", ")))});
  }
  for_each_keyword(out, [&]<class S, class T>(const Option<S, T>& one, T& member) {
    if (given.contains(one.name) && !given[one.name].is_none())
      set(one.name, one.help, given[one.name], member);
    else if (*one.use.text)
      set(one.name, one.help, nb::str(one.use.text), member);
  });
  value_or_throw(driver::check_options(out));
  value_or_throw(driver::load_tuning_records(out));
  return out;
}

static nb::object item(const driver::Options& options, const std::string& name) {
  nb::object out = nb::none();
  for_each_keyword(options, [&]<class S, class T>(const Option<S, T>& one, const T& member) {
    if (name == one.name) out = Keyword<T>::get(member);
  });
  return out;
}

// A row for each option: its name, flag and documentation, and the reasons why it has no flag, no keyword or no part in
// the cache's key; "" where it has one. Keywords have a type and a default too.
static nb::list option_list() {
  nb::list out;
  const driver::Options options;
  auto reason = [](const char* text) { return text ? text : ""; };
  driver::for_each_option(options, [&]<class S, class T>(const Option<S, T>& one, const T& member) {
    nb::dict row;
    row["name"] = one.name;
    row["flag"] = driver::long_flag(one.name, one.use);
    row["only_verb"] = reason(one.use.only_verb);
    row["no_flag"] = reason(one.use.no_flag);
    row["no_keyword"] = reason(one.use.no_keyword);
    row["not_in_key"] = reason(one.use.not_in_key);
    row["for_artifact"] = one.use.for_artifact;
    row["help"] = one.help;
    row["flag_help"] = one.use.flag_help ? one.use.flag_help : one.help;
    if constexpr (can_be_keyword<T>) {
      row["type"] = Keyword<T>::type;
      row["default"] = *one.use.text ? nb::object(nb::str(one.use.text)) : Keyword<T>::get(member);
    }
    out.append(row);
  });
  return out;
}

void add_options(nb::module_& m) {
  nb::class_<driver::Options>(m, "Options", "The options of a compilation, from a dictionary by name.")
      .def(
          "__init__",
          [](driver::Options* self, const nb::dict& given) { new (self) driver::Options(options_of(given)); },
          nb::arg("given"))
      .def("__getitem__", item, nb::arg("name"));
  m.def("option_list", option_list);
}

}  // namespace relay::python
