#include "relay/op/custom.h"

#include <algorithm>
#include <map>
#include <mutex>

namespace relay::op {

namespace {
struct Custom {
  const OpDef* def;
  ir::Expr node;
  std::optional<Callback> callback;
};
// Never destroyed, like the definitions.
struct Table {
  std::mutex mutex;
  std::map<std::string, Custom, std::less<>> by_name;
};
}  // namespace

static Table& table() {
  static Table* const one = new Table;
  return *one;
}

bool add_custom(const ir::Expr& node, std::optional<Callback> callback) {
  const OpDef* def = ir::as<ir::Op>(node)->def;
  Table& all = table();
  std::lock_guard<std::mutex> lock(all.mutex);
  return all.by_name.emplace(def->name, Custom{def, node, std::move(callback)}).second;
}

// Pointers to entries stay valid: the table is a map, and entries are never removed.
static const Custom* find_entry(std::string_view name) {
  Table& all = table();
  std::lock_guard<std::mutex> lock(all.mutex);
  auto it = all.by_name.find(name);
  return it == all.by_name.end() ? nullptr : &it->second;
}

const OpDef* find_custom(std::string_view name) {
  const Custom* found = find_entry(name);
  return found ? found->def : nullptr;
}

ir::Expr node_of_custom(const OpDef& def) {
  const Custom* found = find_entry(def.name);
  return found ? found->node : ir::Expr();
}

const Callback* callback_of(const OpDef& def) {
  if (def.compute) return nullptr;
  const Custom* found = find_entry(def.name);
  return found && found->callback ? &*found->callback : nullptr;
}

std::vector<const OpDef*> custom_operators() {
  Table& all = table();
  std::lock_guard<std::mutex> lock(all.mutex);
  std::vector<const OpDef*> out;
  for (const auto& [name, custom] : all.by_name) out.push_back(custom.def);
  return out;
}

// --- attributes ------------------------------------------------------------------------------------------------------

namespace {
struct Values {
  const ir::AttrsType* type = nullptr;
  std::vector<ir::AttrValue> values;
};

// Converts a value to the form of a type; returns false if it does not fit.
template <class T>
bool normalise(const ir::AttrValue& value, ir::AttrValue* out) {
  T member{};
  if (!ir::AttrConvert<T>::from(value, &member)) return false;
  *out = ir::AttrConvert<T>::to(member);
  return true;
}

struct Kind {
  const char* name;
  bool (*normalise)(const ir::AttrValue&, ir::AttrValue*);
};
constexpr Kind kinds[] = {
    {"int", normalise<int64_t>},
    {"float", normalise<double>},
    {"bool", normalise<bool>},
    {"string", normalise<std::string>},
    {"list of ints", normalise<ir::Ints>},
    {"list of floats", normalise<ir::Floats>},
    {"list of strings", normalise<ir::Strings>},
};

const Kind* find_kind(std::string_view name) {
  const Kind* found = std::find_if(std::begin(kinds), std::end(kinds), [&](const Kind& k) { return name == k.name; });
  return found == std::end(kinds) ? nullptr : found;
}
}  // namespace

Result<const ir::AttrsType*> custom_attributes(const std::string& name, std::vector<CustomField> fields) {
  ir::AttrsType* type = new ir::AttrsType{format("relay.attrs.{}", name), {}, nullptr};
  // Descriptions point to these texts.
  std::vector<CustomField>* kept = new std::vector<CustomField>(std::move(fields));
  for (CustomField& f : *kept) {
    const Kind* kind = find_kind(f.type);
    if (kind == nullptr || (!f.required && !kind->normalise(f.otherwise, &f.otherwise)))
      return Diagnostic{DiagnosticKind::bad_attribute,
                        format("{}: the attribute '{}' cannot be a {} with the default {}", name, f.name, f.type,
                               ir::str(f.otherwise)),
                        {},
                        {},
                        {},
                        "give a number, a bool, a string, or a list of numbers or strings that is not empty"};
    type->fields.push_back(
        {f.name.c_str(), f.doc.c_str(), kind->name, f.required, f.otherwise,
         [](const void* data, size_t index) { return static_cast<const Values*>(data)->values[index]; },
         [](void* data, size_t index, const ir::AttrValue& value) {
           Values& to = *static_cast<Values*>(data);
           return find_kind(to.type->fields[index].type_name)->normalise(value, &to.values[index]);
         }});
  }
  type->create = [](const ir::AttrsType& self,
                    const std::vector<std::pair<std::string, ir::AttrValue>>& values) -> Result<Attrs> {
    Values made{&self, {}};
    for (const ir::AttrField& f : self.fields) made.values.push_back(f.default_value);
    RELAY_RETURN_IF_ERROR(ir::detail::assign_fields(self, &made, values));
    return Attrs(new ir::AttrsOf<Values>(self, std::move(made)));
  };
  return type;
}

}  // namespace relay::op
