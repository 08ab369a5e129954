// Attributes of calls, functions and passes: plain structs whose fields are named once.
//
//   struct DenseAttrs {
//     int64_t units = 0;
//     OptDType out_dtype = {};
//     static constexpr auto fields = std::tuple{
//         field("units", &DenseAttrs::units, "Number of output features; 0: from the weight."),
//         field("out_dtype", &DenseAttrs::out_dtype, "Of the output; none: that of data.")};
//   };
//
// Defaults, parsing, printing, equality, hashing, documentation and the Python signature derive from the list, all
// through the erased AttrField.
#pragma once

#include <functional>
#include <map>
#include <tuple>
#include <variant>

#include "relay/base/diagnostics.h"
#include "relay/base/dtype.h"
#include "relay/ir/type.h"

namespace relay::ir {

using Ints = std::vector<int64_t>;
using Floats = std::vector<double>;
using Strings = std::vector<std::string>;

using IntLists = std::vector<Ints>;

// The value of an attribute. monostate is `None`. Dims may hold shape variables (reshape's newshape); as text both Ints
// and Dims are written [1, m, -1]; IntLists is [[0, 0], [1, 1]] (pad_width).
using AttrValue =
    std::variant<std::monostate, bool, int64_t, double, std::string, DType, Ints, Floats, Strings, Dims, IntLists>;

// Members that may be None: the axes of a reduction; an out_dtype that defaults to the input's ("" and "void" are None
// too).
using OptInts = std::optional<Ints>;
using OptInt = std::optional<int64_t>;
using OptFloat = std::optional<double>;
using OptDType = std::optional<DType>;
using IntOrInts = std::variant<int64_t, Ints>;  // split: a number of parts, or the places to cut

std::string str(const AttrValue& value);  // as in Relay text: 1, 0.5f, "NCHW", [1, 2], True, None
bool equal(const AttrValue& a, const AttrValue& b);
uint64_t hash(const AttrValue& value);

template <class Struct, class Value>
struct Field {
  const char* name;
  Value Struct::* member;
  const char* doc;
  bool required = false;
};
template <class Struct, class Value>
constexpr Field<Struct, Value> field(const char* name, Value Struct::* member, const char* doc) {
  return {name, member, doc};
}
template <class Struct, class Value>
constexpr Field<Struct, Value> required_field(const char* name, Value Struct::* member, const char* doc) {
  return {name, member, doc, true};
}

// Conversion of a member type to and from AttrValue. from() accepts the obvious variants: an int for a float, an int
// for a one-element list (not for IntOrInts), a list of ints for Dims, an empty list for an empty list of anything, a
// string for a DType. It returns false if the value does not fit.
template <class T>
struct AttrConvert;

// The types a member can have: RELAY_ATTR_MEMBER(type, its name in messages and documentation).
#define RELAY_ATTR_MEMBERS                             \
  RELAY_ATTR_MEMBER(bool, "bool")                      \
  RELAY_ATTR_MEMBER(int64_t, "int")                    \
  RELAY_ATTR_MEMBER(double, "float")                   \
  RELAY_ATTR_MEMBER(std::string, "string")             \
  RELAY_ATTR_MEMBER(DType, "dtype")                    \
  RELAY_ATTR_MEMBER(Ints, "list of ints")              \
  RELAY_ATTR_MEMBER(Floats, "list of floats")          \
  RELAY_ATTR_MEMBER(Strings, "list of strings")        \
  RELAY_ATTR_MEMBER(Dims, "list of dimensions")        \
  RELAY_ATTR_MEMBER(OptInts, "list of ints or None")   \
  RELAY_ATTR_MEMBER(OptInt, "int or None")             \
  RELAY_ATTR_MEMBER(OptFloat, "float or None")         \
  RELAY_ATTR_MEMBER(OptDType, "dtype or None")         \
  RELAY_ATTR_MEMBER(IntLists, "list of lists of ints") \
  RELAY_ATTR_MEMBER(IntOrInts, "int or list of ints")
#define RELAY_ATTR_MEMBER(type, text)                       \
  template <>                                               \
  struct AttrConvert<type> {                                \
    static const char* type_name() { return text; }         \
    static AttrValue to(const type& member);                \
    static bool from(const AttrValue& value, type* member); \
  };
RELAY_ATTR_MEMBERS
#undef RELAY_ATTR_MEMBER

struct AttrField {
  const char* name;
  const char* doc;
  const char* type_name;
  bool required;
  AttrValue default_value;
  AttrValue (*get)(const void* data, size_t index);
  bool (*set)(void* data, size_t index, const AttrValue& value);
};

struct AttrsNode;
using Attrs = Ref<const AttrsNode>;

// The erased description of one attribute struct.
struct AttrsType {
  std::string name;  // "relay.attrs.Conv2DAttrs", as in `attrs_type_key`
  std::vector<AttrField> fields;
  // Creates a struct with these values by name and defaults for the rest; diagnostics for unknown names (with the
  // nearest one), wrong types, missing required attributes.
  Result<Attrs> (*create)(const AttrsType& type,
                          const std::vector<std::pair<std::string, AttrValue>>& values) = nullptr;
  int find(std::string_view field) const;  // its index or -1
};

// An attribute struct with its description.
struct AttrsNode : Counted {
  explicit AttrsNode(const AttrsType& t) : type(t) {}
  const AttrsType& type;
  virtual const void* data() const = 0;
  AttrValue get(size_t index) const { return type.fields[index].get(data(), index); }
};
template <class T>
struct AttrsOf final : AttrsNode {
  AttrsOf(const AttrsType& t, T v) : AttrsNode(t), value(std::move(v)) {}
  const void* data() const override { return &value; }
  T value;
};

// Null attributes equal all defaults.
bool equal(const Attrs& a, const Attrs& b);
uint64_t hash(const Attrs& attrs);

namespace detail {
// Checks and applies values; shared by every AttrsType::create.
Status assign_fields(const AttrsType& type, void* data, const std::vector<std::pair<std::string, AttrValue>>& values);

template <class T>
AttrsType describe(std::string name) {
  AttrsType type{std::move(name), {}, nullptr};
  T defaults{};
  std::apply(
      [&](const auto&... f) {
        (type.fields.push_back(AttrField{
             f.name, f.doc, AttrConvert<std::remove_cvref_t<decltype(defaults.*f.member)>>::type_name(), f.required,
             AttrConvert<std::remove_cvref_t<decltype(defaults.*f.member)>>::to(defaults.*f.member),
             [](const void* data, size_t index) {
               AttrValue out;
               size_t i = 0;
               std::apply(
                   [&](const auto&... g) {
                     ((i++ == index
                           ? void(out = AttrConvert<std::remove_cvref_t<decltype(std::declval<T>().*g.member)>>::to(
                                      static_cast<const T*>(data)->*g.member))
                           : void()),
                      ...);
                   },
                   T::fields);
               return out;
             },
             [](void* data, size_t index, const AttrValue& value) {
               bool ok = false;
               size_t i = 0;
               std::apply(
                   [&](const auto&... g) {
                     ((i++ == index
                           ? void(ok = AttrConvert<std::remove_cvref_t<decltype(std::declval<T>().*g.member)>>::from(
                                      value, &(static_cast<T*>(data)->*g.member)))
                           : void()),
                      ...);
                   },
                   T::fields);
               return ok;
             }}),
         ...);
      },
      T::fields);
  type.create = [](const AttrsType& self,
                   const std::vector<std::pair<std::string, AttrValue>>& values) -> Result<Attrs> {
    T value{};
    RELAY_RETURN_IF_ERROR(assign_fields(self, &value, values));
    return Attrs(new AttrsOf<T>(self, std::move(value)));
  };
  return type;
}
}  // namespace detail

// Attributes of functions and modules, with arbitrary names. `Primitive=1` marks a fused function.
using DictAttrs = std::map<std::string, AttrValue>;

}  // namespace relay::ir
