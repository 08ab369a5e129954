#include "relay/ir/attrs.h"

#include <algorithm>
#include <cmath>

#include "relay/base/quote.h"
#include "relay/ir/hash_dim.h"

namespace relay::ir {

// --- text ------------------------------------------------------------------------------------------------------------

template <class T, class F>
static std::string list(const std::vector<T>& values, F text) {
  std::string out = "[";
  for (size_t i = 0; i < values.size(); ++i) out += (i ? ", " : "") + text(values[i]);
  return out + "]";
}

static std::string float_text(double value) { return format("{}f", value); }  // shortest that reads back exactly

std::string str(const AttrValue& value) {
  struct {
    std::string operator()(std::monostate) { return "None"; }
    std::string operator()(bool v) { return v ? "True" : "False"; }
    std::string operator()(int64_t v) { return format("{}", v); }
    std::string operator()(double v) { return float_text(v); }
    std::string operator()(const std::string& v) { return quote(v); }
    std::string operator()(DType v) { return quote(v.str()); }
    std::string operator()(const Ints& v) {
      return list(v, [](int64_t i) { return format("{}", i); });
    }
    std::string operator()(const Floats& v) { return list(v, float_text); }
    std::string operator()(const Strings& v) {
      return list(v, [](const std::string& item) { return quote(item); });
    }
    std::string operator()(const Dims& v) {
      return list(v, [](const Dim& d) { return scalar::str(d); });
    }
    std::string operator()(const IntLists& v) {
      return list(v, [this](const Ints& ints) { return (*this)(ints); });
    }
  } text;
  return std::visit(text, value);
}

// --- equality and hash -----------------------------------------------------------------------------------------------

static uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}

uint64_t hash(const AttrValue& value) {
  struct {
    uint64_t h;
    void add(uint64_t v) { h = mix(h, v); }
    void operator()(std::monostate) {}
    void operator()(bool v) { add(v); }
    void operator()(int64_t v) { add(static_cast<uint64_t>(v)); }
    void operator()(double v) { add(std::isnan(v) ? 1 : std::hash<double>()(v)); }
    void operator()(const std::string& v) { add(std::hash<std::string>()(v)); }
    void operator()(DType v) { add(static_cast<uint64_t>(v.code) << 8 | v.bits); }
    void operator()(const Ints& v) {
      for (int64_t i : v) add(static_cast<uint64_t>(i));
    }
    void operator()(const Floats& v) {
      for (double d : v) (*this)(d);
    }
    void operator()(const Strings& v) {
      for (const std::string& s : v) (*this)(s);
    }
    void operator()(const Dims& v) {
      for (const Dim& d : v) add(hash_dim(d));
    }
    void operator()(const IntLists& v) {
      for (const Ints& ints : v) add(ints.size()), (*this)(ints);
    }
  } hasher{mix(0x41, value.index())};
  std::visit(hasher, value);
  return hasher.h;
}

// Only fields that differ from the defaults are hashed, so that null and default attributes agree.
uint64_t hash(const Attrs& attrs) {
  uint64_t h = 0x417474;
  if (!attrs) return h;
  for (size_t i = 0; i < attrs->type.fields.size(); ++i) {
    AttrValue value = attrs->get(i);
    if (!equal(value, attrs->type.fields[i].default_value)) h = mix(mix(h, i), hash(value));
  }
  return h;
}

// --- members <-> values ----------------------------------------------------------------------------------------------

AttrValue AttrConvert<bool>::to(const bool& m) { return m; }
AttrValue AttrConvert<int64_t>::to(const int64_t& m) { return m; }
AttrValue AttrConvert<double>::to(const double& m) { return m; }
AttrValue AttrConvert<std::string>::to(const std::string& m) { return m; }
AttrValue AttrConvert<DType>::to(const DType& m) { return m; }
AttrValue AttrConvert<Ints>::to(const Ints& m) { return m; }
AttrValue AttrConvert<Floats>::to(const Floats& m) { return m; }
AttrValue AttrConvert<Strings>::to(const Strings& m) { return m; }
AttrValue AttrConvert<Dims>::to(const Dims& m) { return m; }
AttrValue AttrConvert<OptInts>::to(const OptInts& m) { return m ? AttrValue(*m) : AttrValue(); }
AttrValue AttrConvert<OptInt>::to(const OptInt& m) { return m ? AttrValue(*m) : AttrValue(); }
AttrValue AttrConvert<OptFloat>::to(const OptFloat& m) { return m ? AttrValue(*m) : AttrValue(); }
AttrValue AttrConvert<OptDType>::to(const OptDType& m) { return m ? AttrValue(*m) : AttrValue(); }
AttrValue AttrConvert<IntLists>::to(const IntLists& m) { return m; }
AttrValue AttrConvert<IntOrInts>::to(const IntOrInts& m) {
  return std::visit([](const auto& v) { return AttrValue(v); }, m);
}

bool AttrConvert<bool>::from(const AttrValue& v, bool* m) {
  if (const bool* b = std::get_if<bool>(&v)) return *m = *b, true;
  if (const int64_t* i = std::get_if<int64_t>(&v); i && (*i == 0 || *i == 1)) return *m = *i, true;
  return false;
}

bool AttrConvert<int64_t>::from(const AttrValue& v, int64_t* m) {
  if (const int64_t* i = std::get_if<int64_t>(&v)) return *m = *i, true;
  if (const bool* b = std::get_if<bool>(&v)) return *m = *b, true;
  return false;
}

bool AttrConvert<double>::from(const AttrValue& v, double* m) {
  if (const double* d = std::get_if<double>(&v)) return *m = *d, true;
  if (const int64_t* i = std::get_if<int64_t>(&v)) return *m = static_cast<double>(*i), true;
  return false;
}

bool AttrConvert<std::string>::from(const AttrValue& v, std::string* m) {
  if (const std::string* s = std::get_if<std::string>(&v)) return *m = *s, true;
  if (const DType* t = std::get_if<DType>(&v)) return *m = t->str(), true;
  return false;
}

bool AttrConvert<DType>::from(const AttrValue& v, DType* m) {
  if (const DType* t = std::get_if<DType>(&v)) return *m = *t, true;
  const std::string* s = std::get_if<std::string>(&v);
  std::optional<DType> parsed = s ? parse_dtype(*s) : std::nullopt;
  if (parsed) *m = *parsed;
  return parsed.has_value();
}

bool AttrConvert<Ints>::from(const AttrValue& v, Ints* m) {
  if (const Ints* list = std::get_if<Ints>(&v)) return *m = *list, true;
  if (const int64_t* i = std::get_if<int64_t>(&v)) return *m = {*i}, true;
  if (const Dims* dims = std::get_if<Dims>(&v)) {
    Ints out;
    for (const Dim& d : *dims) {
      if (!scalar::is_int(d)) return false;
      out.push_back(d->ivalue);
    }
    return *m = std::move(out), true;
  }
  return false;
}

bool AttrConvert<Floats>::from(const AttrValue& v, Floats* m) {
  if (const Floats* list = std::get_if<Floats>(&v)) return *m = *list, true;
  if (const Ints* list = std::get_if<Ints>(&v)) return m->assign(list->begin(), list->end()), true;
  if (double d; AttrConvert<double>::from(v, &d)) return *m = {d}, true;
  return false;
}

bool AttrConvert<Strings>::from(const AttrValue& v, Strings* m) {
  if (const Strings* list = std::get_if<Strings>(&v)) return *m = *list, true;
  if (const Ints* list = std::get_if<Ints>(&v); list && list->empty()) return m->clear(), true;  // [] has no type
  if (const std::string* s = std::get_if<std::string>(&v)) return *m = {*s}, true;
  return false;
}

bool AttrConvert<Dims>::from(const AttrValue& v, Dims* m) {
  if (const Dims* dims = std::get_if<Dims>(&v)) return *m = *dims, true;
  Ints ints;
  if (!AttrConvert<Ints>::from(v, &ints)) return false;
  m->clear();
  for (int64_t i : ints) m->push_back(scalar::imm(i));
  return true;
}

template <class T>
static bool from_optional(const AttrValue& v, std::optional<T>* m) {
  if (std::holds_alternative<std::monostate>(v)) return m->reset(), true;
  T value{};
  if (!AttrConvert<T>::from(v, &value)) return false;
  *m = std::move(value);
  return true;
}

bool AttrConvert<OptInts>::from(const AttrValue& v, OptInts* m) { return from_optional(v, m); }
bool AttrConvert<OptInt>::from(const AttrValue& v, OptInt* m) { return from_optional(v, m); }
bool AttrConvert<OptFloat>::from(const AttrValue& v, OptFloat* m) { return from_optional(v, m); }
bool AttrConvert<OptDType>::from(const AttrValue& v, OptDType* m) {
  if (const std::string* s = std::get_if<std::string>(&v); s && (s->empty() || *s == "void")) return m->reset(), true;
  return from_optional(v, m);
}

bool AttrConvert<IntLists>::from(const AttrValue& v, IntLists* m) {
  if (const IntLists* lists = std::get_if<IntLists>(&v)) return *m = *lists, true;
  if (const Ints* list = std::get_if<Ints>(&v); list && list->empty()) return m->clear(), true;
  return false;
}
bool AttrConvert<IntOrInts>::from(const AttrValue& v, IntOrInts* m) {
  if (const int64_t* i = std::get_if<int64_t>(&v)) return *m = *i, true;
  Ints ints;
  if (!AttrConvert<Ints>::from(v, &ints)) return false;
  return *m = std::move(ints), true;
}

// --- building a struct -----------------------------------------------------------------------------------------------

int AttrsType::find(std::string_view field) const {
  for (size_t i = 0; i < fields.size(); ++i)
    if (fields[i].name == field) return static_cast<int>(i);
  return -1;
}

// "an int", "a list of ints"
static std::string with_article(std::string_view noun) {
  return format("{} {}", std::string_view("aeiou").find(noun[0]) == std::string_view::npos ? "a" : "an", noun);
}

Status detail::assign_fields(const AttrsType& type, void* data,
                             const std::vector<std::pair<std::string, AttrValue>>& values) {
  Diagnostics errors;
  std::vector<std::string> names;
  for (const AttrField& f : type.fields) names.push_back(f.name);
  std::vector<bool> given(type.fields.size());
  for (const auto& [name, value] : values) {
    int index = type.find(name);
    if (index < 0) {
      Diagnostic d{DiagnosticKind::bad_attribute, format("there is no attribute '{}'", name)};
      if (std::optional<std::string> near = nearest(name, names))
        d.help = format("did you mean '{}'?", *near);
      else if (names.empty())
        d.help = "it takes no attributes";
      else
        d.help = format("its attributes are: {}", join(names, ", "));
      errors.push_back(std::move(d));
      continue;
    }
    const AttrField& field = type.fields[static_cast<size_t>(index)];
    if (given[static_cast<size_t>(index)]) {
      errors.push_back(Diagnostic{DiagnosticKind::bad_attribute,
                                  format("the attribute '{}' is given twice", name),
                                  {},
                                  {},
                                  {},
                                  "leave out one of them"});
      continue;
    }
    given[static_cast<size_t>(index)] = true;
    if (!field.set(data, static_cast<size_t>(index), value)) {
      Diagnostic d{DiagnosticKind::bad_attribute,
                   format("the attribute '{}' must be {}, not {}", name, with_article(field.type_name), str(value))};
      if (*field.doc) d.notes.push_back(format("{}: {}", name, field.doc));
      d.help = format("give {}: docs/operators.md lists every operator's attributes", with_article(field.type_name));
      errors.push_back(std::move(d));
    }
  }
  for (size_t i = 0; i < type.fields.size(); ++i)
    if (type.fields[i].required && !given[i]) {
      Diagnostic d{DiagnosticKind::bad_attribute, format("the attribute '{}' is missing", type.fields[i].name)};
      if (*type.fields[i].doc) d.notes.push_back(format("{}: {}", type.fields[i].name, type.fields[i].doc));
      d.help = format("write {}=... ({})", type.fields[i].name, type.fields[i].type_name);
      errors.push_back(std::move(d));
    }
  if (!errors.empty()) return errors;
  return ok();
}

}  // namespace relay::ir
