#include "relay/op/registry.h"

#include <algorithm>
#include <map>

namespace relay::ops {
#define RELAY_OP(function) op::OpDef function();
#define RELAY_OP_FAMILY(function) std::vector<op::OpDef> function();
#include "relay/op/ops.def"
#undef RELAY_OP
#undef RELAY_OP_FAMILY
}  // namespace relay::ops

namespace relay::op {

const char* name(Fusion fusion) {
  switch (fusion) {
    case Fusion::Elementwise: return "elementwise";
    case Fusion::Broadcast: return "broadcast";
    case Fusion::Injective: return "injective";
    case Fusion::Reduce: return "reduce";
    case Fusion::OutputFusable: return "output fusable";
    case Fusion::Opaque: return "opaque";
  }
  return "";
}

namespace {
// The definitions and their expression nodes. Never destroyed: calls point to them for as long as the process lives.
struct Table {
  std::vector<const OpDef*> sorted;
  std::map<std::string, std::pair<const OpDef*, ir::Expr>, std::less<>> by_name;

  void add(OpDef definition) {
    const OpDef* def = new OpDef(std::move(definition));
    bool added = by_name.emplace(def->name, std::pair(def, ir::Expr(new ir::Op(def->name, def)))).second;
    RELAY_CHECK(added, "two operators are named {}", def->name);
    sorted.push_back(def);
  }
};

const Table& table() {
  static const Table* const built = [] {
    Table* t = new Table;
#define RELAY_OP(function) t->add(ops::function());
#define RELAY_OP_FAMILY(function) \
  for (OpDef& def : ops::function()) t->add(std::move(def));
#include "relay/op/ops.def"
#undef RELAY_OP
#undef RELAY_OP_FAMILY
    std::sort(t->sorted.begin(), t->sorted.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
    return t;
  }();
  return *built;
}
}  // namespace

const std::vector<const OpDef*>& all() { return table().sorted; }

const OpDef* find(std::string_view name) {
  auto it = table().by_name.find(name);
  return it == table().by_name.end() ? nullptr : it->second.first;
}

ir::Expr node(const OpDef& def) { return table().by_name.find(def.name)->second.second; }

Result<Attrs> attributes(const OpDef& def, const AttrValues& values, Span span) {
  Diagnostics errors;
  if (def.attrs_type) {
    Result<Attrs> attrs = def.attrs_type->create(*def.attrs_type, values);
    if (attrs) return attrs;
    errors = attrs.errors();
  } else if (values.empty()) {
    return Attrs();
  } else {
    errors.push_back(Diagnostic{.kind = DiagnosticKind::bad_attribute,
                                .message = format("there is no attribute '{}'", values[0].first),
                                .help = "it has no attributes"});
  }
  for (Diagnostic& d : errors) {
    d.message = format("{}: {}", def.name, d.message);
    d.span = span;
  }
  return errors;
}

Result<ir::Expr> call(std::string_view name, ir::Exprs args, const AttrValues& attrs, Span span) {
  const OpDef* def = find(name);
  RELAY_CHECK(def, "there is no operator named {}", name);
  RELAY_ASSIGN(Attrs values, attributes(*def, attrs, span));
  return ir::call(node(*def), std::move(args), std::move(values), std::move(span));
}

ir::Expr make(std::string_view name, ir::Exprs args, const AttrValues& attrs, Span span) {
  Result<ir::Expr> made = call(name, std::move(args), attrs, std::move(span));
  RELAY_CHECK(made, "{}", render(made.errors()));
  return *made;
}

}  // namespace relay::op
