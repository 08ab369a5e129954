#include "relay/driver/cli/option_flags.h"

#include <charconv>

#include "relay/cache/cache.h"
#include "relay/driver/stages.h"
#include "relay/driver/targets.h"
#include "relay/input/files.h"
#include "relay/input/inputs.h"

namespace relay::cli {

using Texts = std::vector<std::string>;
using driver::Option;
using driver::OptionUse;

static Diagnostic bad_option(std::string message, std::string help) {
  return Diagnostic{DiagnosticKind::bad_option, std::move(message), {}, {}, {}, std::move(help)};
}

template <class T>
static Status assign(T& out, Result<T> found) {
  if (!found) return found.errors();
  out = *std::move(found);
  return ok();
}

// --- the texts of flags, by type -------------------------------------------------------------------------------------
static Status read_text(const Texts& texts, TargetDesc& out) { return assign(out, driver::find_target(texts[0])); }
static Status read_text(const Texts& texts, lower::Numerics& out) {
  return assign(out, driver::find_numerics(texts[0]));
}
static Status read_text(const Texts& texts, driver::Mode& out) { return assign(out, driver::find_mode(texts[0])); }
static Status read_text(const Texts& texts, driver::Precision& out) {
  return assign(out, driver::find_precision(texts[0]));
}
static Status read_text(const Texts& texts, driver::Tier& out) { return assign(out, driver::find_tier(texts[0])); }
static Status read_text(const Texts& texts, int64_t& out) { return assign(out, cache::parse_bytes(texts[0])); }

static Status read_text(const Texts& texts, std::map<std::string, std::vector<int64_t>>& shapes) {
  for (const std::string& text : texts) {
    RELAY_ASSIGN(input::NamedShape shape, input::parse_named_shape(text));
    if (!shapes.emplace(shape.name, shape.shape).second)
      return bad_option(format("the shape of input `{}` is given twice", shape.name),
                        "give --shape once for each input");
  }
  return ok();
}

static Status read_text(const Texts& texts, std::map<std::string, int64_t>& limits) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    int64_t value = 0;
    const char *begin = text.data() + (equals == text.npos ? text.size() : equals + 1),
               *end = text.data() + text.size();
    const auto [at, error] = std::from_chars(begin, end, value);
    if (begin == end || at != end || error != std::errc())
      return bad_option(format("--import-limit '{}' is not NAME=N", text), "write a limit as in calls=4000000");
    limits[text.substr(0, equals)] = value;
  }
  return ok();
}

static Status read_text(const Texts& texts, std::map<std::string, std::string>& schedules) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    RELAY_ASSIGN(std::string schedule, input::read_file(equals == text.npos ? text : text.substr(equals + 1)));
    if (equals != text.npos) {
      schedules[text.substr(0, equals)] = std::move(schedule);
      continue;
    }
    RELAY_ASSIGN(const auto all, driver::schedules_of(schedule));
    schedules.insert(all.begin(), all.end());
  }
  return ok();
}

static Status read_text(const Texts& texts, driver::DeviceMap& devices) {
  for (const std::string& text : texts) {
    const size_t equals = text.find('=');
    if (equals == 0 || equals == text.npos)
      return bad_option(format("--devices '{}' is not OPERATOR=DEVICE", text),
                        "write an operator and a device, as in --devices nn.conv2d=cpu:1");
    const std::string name = text.substr(0, equals);
    RELAY_ASSIGN(const DeviceName device, driver::find_device(text.substr(equals + 1)));
    if (!devices.emplace(name, device).second)
      return bad_option(format("the device of {} is given twice", name), "give --devices once for each operator");
  }
  return ok();
}

static Status read_text(const Texts& texts, driver::Donated& donated) {
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::string input = text.substr(0, equals), result = equals == text.npos ? "" : text.substr(equals + 1);
    if (input.empty() || (result.empty() && equals != text.npos))
      return bad_option(format("--donate '{}' is not INPUT or INPUT=RESULT", text),
                        "write an input and a result, as in --donate keys=new_keys or --donate keys=1");
    int64_t number = 0;
    const char* end = result.data() + result.size();
    const bool is_number = std::from_chars(result.data(), end, number).ptr == end;
    std::optional<driver::ResultKey> key;
    if (!result.empty()) key = is_number ? driver::ResultKey(number) : driver::ResultKey(result);
    if (!donated.emplace(input, std::move(key)).second)
      return bad_option(format("the input `{}` is donated twice", input), "give --donate once for each input");
  }
  return ok();
}

// --- flags, by type --------------------------------------------------------------------------------------------------
template <class T>
constexpr bool is_number = std::is_same_v<T, int> || std::is_same_v<T, int64_t>;
template <class T>
constexpr bool is_list = requires(T t) { t.emplace(std::string(), typename T::mapped_type()); };
template <class T>
constexpr bool is_named = requires(T t) { driver::name(t); } || requires(T t) { lower::name(t); };

template <class T>
static std::string name_of(const T& value) {
  if constexpr (requires { driver::name(value); })
    return driver::name(value);
  else
    return lower::name(value);
}

// Adds a flag whose texts are read later, by read_text().
template <class T>
static CLI::Option* add_text(CLI::App& verb, const std::string& flag, const std::string& help, const T& member,
                             const OptionUse& use, Texts& texts) {
  if constexpr (is_list<T>) return verb.add_option(flag, texts, help);
  std::string otherwise = use.text;
  if constexpr (is_named<T>)
    if (otherwise.empty()) otherwise = name_of(member);
  return verb.add_option_function<std::string>(
                 flag, [&texts](const std::string& text) { texts = {text}; }, help)
      ->default_str(otherwise);
}

template <class T>
static CLI::Option* add_flag(CLI::App& verb, const std::string& flag, const std::string& help, T& member,
                             const OptionUse& use, Texts& texts) {
  if constexpr (std::is_same_v<T, bool>) {
    return verb.add_flag(flag, member, help);
  } else if constexpr (std::is_same_v<T, build::BatchCalls>) {
    return verb.add_flag_callback(flag, [&member] { member = build::BatchCalls::Never; }, help);
  } else if constexpr (std::is_same_v<T, std::string>) {
    return verb.add_option(flag, member, help);
  } else if constexpr (is_number<T>) {
    if (use.bytes) return add_text(verb, flag, help, member, use, texts);
    CLI::Option* added = verb.add_option(flag, member, help)->capture_default_str();
    if (use.most > use.least) added->check(CLI::Range(static_cast<T>(use.least), static_cast<T>(use.most)));
    return added;
  } else {
    return add_text(verb, flag, help, member, use, texts);
  }
}

template <class T>
constexpr bool is_text = requires(const Texts& texts, T& out) { read_text(texts, out); };
template <class T>
constexpr bool can_be_flag = is_text<T> || is_number<T> || std::is_same_v<T, bool> || std::is_same_v<T, std::string> ||
                             std::is_same_v<T, build::BatchCalls>;

template <class Part>
static void add_flags(CLI::App& verb, Part& part, OptionFlags& flags) {
  driver::for_each_option_of(part, [&]<class S, class T>(const Option<S, T>& one, T& member) {
    if (one.use.no_flag || (one.use.only_verb && verb.get_name() != one.use.only_verb)) return;
    if constexpr (can_be_flag<T>) {
      const std::string flag = one.use.flag ? one.use.flag : driver::long_flag(one.name, one.use);
      CLI::Option* added = add_flag(verb, flag, one.use.flag_help ? one.use.flag_help : one.help, member, one.use,
                                    flags.texts[one.name]);
      if (one.use.value) added->type_name(one.use.value);
    } else {
      RELAY_CHECK(false, "the option {} has a type that no flag has", one.name);
    }
  });
}

void add_import_flags(CLI::App& verb, OptionFlags& flags) { add_flags(verb, flags.values.import, flags); }
void add_compile_flags(CLI::App& verb, OptionFlags& flags) {
  add_flags(verb, flags.values.passes, flags);
  add_flags(verb, flags.values.lower, flags);
  add_flags(verb, flags.values.run, flags);
}

template <class Part>
static Status read_texts(const OptionFlags& flags, Part& part) {
  Status out = ok();
  driver::for_each_option_of(part, [&]<class S, class T>(const Option<S, T>& one, T& member) {
    if constexpr (is_text<T>) {
      const auto found = flags.texts.find(one.name);
      if (found == flags.texts.end()) return;  // the verb lacks the flag
      Texts texts = found->second;
      if (texts.empty() && *one.use.text) texts = {one.use.text};
      if (out && !texts.empty()) out = read_text(texts, member);
    }
  });
  return out;
}

Result<driver::Options> read_import_options(const OptionFlags& flags) {
  driver::Options out = flags.values;
  RELAY_RETURN_IF_ERROR(read_texts(flags, out.import));
  return out;
}

Result<driver::Options> read_options(const OptionFlags& flags) {
  RELAY_ASSIGN(driver::Options out, read_import_options(flags));
  RELAY_RETURN_IF_ERROR(read_texts(flags, out.passes));
  RELAY_RETURN_IF_ERROR(read_texts(flags, out.lower));
  RELAY_RETURN_IF_ERROR(read_texts(flags, out.run));
  return out;
}

// --- command lines ---------------------------------------------------------------------------------------------------
static bool is_given(const CLI::App& verb, const char* name, const OptionUse& use) {
  if (use.no_flag) return false;
  const CLI::Option* option = verb.get_option_no_throw(driver::long_flag(name, use));
  return option && option->count() > 0;
}

std::vector<std::string> given_compile_flags(const CLI::App& verb) {
  std::vector<std::string> given;
  const driver::Options options;
  driver::for_each_option(options, [&](const auto& one, const auto&) {
    if (!one.use.for_artifact && is_given(verb, one.name, one.use))
      given.push_back(driver::long_flag(one.name, one.use));
  });
  return given;
}

std::vector<std::string> given_flags_after_import(const CLI::App& verb) {
  std::vector<std::string> given;
  const driver::Options options;
  auto note = [&](const auto& one, const auto&) {
    if (is_given(verb, one.name, one.use)) given.push_back(driver::long_flag(one.name, one.use));
  };
  driver::for_each_option_of(options.passes, note), driver::for_each_option_of(options.lower, note);
  driver::for_each_option_of(options.run, note);
  return given;
}

std::vector<std::string> words_of(const OptionFlags& flags) {
  std::vector<std::string> words;
  driver::for_each_option(flags.values, [&]<class S, class T>(const Option<S, T>& one, const T& value) {
    if (one.use.no_flag || one.use.only_verb) return;
    const std::string all = one.use.flag ? one.use.flag : driver::long_flag(one.name, one.use);
    const std::string flag = all.substr(0, all.find(','));
    const auto found = flags.texts.find(one.name);
    const bool is_given = found != flags.texts.end() && !found->second.empty();
    std::string text = is_given ? found->second[0] : one.use.text;
    if constexpr (is_list<T>) return;
    if constexpr (std::is_same_v<T, bool>) return value ? words.push_back(flag) : void();
    if constexpr (std::is_same_v<T, build::BatchCalls>)
      return value == build::BatchCalls::Never ? words.push_back(flag) : void();
    if constexpr (std::is_same_v<T, std::string>) text = value;
    if constexpr (is_number<T>) text = format("{}", value);
    if constexpr (is_named<T>) text = is_given ? text : name_of(value);
    if (!text.empty()) words.insert(words.end(), {flag, text});
  });
  return words;
}

}  // namespace relay::cli
