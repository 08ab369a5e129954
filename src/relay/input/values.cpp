#include "relay/input/values.h"

#include <algorithm>
#include <unordered_map>

namespace relay::input {

namespace {

Diagnostic cannot_cross(const char* what) {
  return {DiagnosticKind::not_supported,
          format("{} belongs to the run that created it and cannot be passed to another", what),
          {},
          {},
          {},
          "pass and return tensors, tuples and data values"};
}

// Converts In to Out, children first, each object once. A Node is the address of an object of In; fields(in) returns
// the parts of a tuple, data value or reference; make(in, parts) makes the whole.
template <class Out, class In, class Node, class Fields, class Make>
Result<Out> convert(const In& root, Node node, Fields fields, Make make) {
  struct Frame {
    In value;
    size_t first;  // index of its first part in `made`
    bool entered = false;
  };
  std::unordered_map<const void*, Out> done;
  std::unordered_map<const void*, bool> open;
  std::vector<Frame> work{{root, 0}};
  std::vector<Out> made;
  while (!work.empty()) {
    Frame& f = work.back();
    const void* key = node(f.value);
    if (!f.entered) {
      if (auto known = done.find(key); key && known != done.end()) {
        made.push_back(known->second);
        work.pop_back();
        continue;
      }
      if (key && open[key]) return cannot_cross("a reference that contains itself");
      if (key) open[key] = true;
      f.entered = true, f.first = made.size();
      std::vector<In> parts = fields(f.value);
      for (size_t i = parts.size(); i-- > 0;) work.push_back({std::move(parts[i]), 0});
      continue;
    }
    std::vector<Out> parts(std::make_move_iterator(made.begin() + static_cast<ptrdiff_t>(f.first)),
                           std::make_move_iterator(made.end()));
    made.resize(f.first);
    RELAY_ASSIGN(Out out, make(f.value, std::move(parts)));
    if (key) open[key] = false, done[key] = out;
    made.push_back(std::move(out));
    work.pop_back();
  }
  return std::move(made[0]);
}

}  // namespace

runtime::TypeId intern(const ir::TypeDef& definition) {
  runtime::DataType type{definition.name, {}};
  for (const Ref<const ir::Constructor>& c : definition.constructors)
    type.constructors.push_back({c->name, static_cast<uint32_t>(c->inputs.size())});
  return runtime::intern_type(type);
}

Result<runtime::Value> to_runtime(const eval::Value& value, const ir::Module& module) {
  using Kind = eval::ValueNode::Kind;
  std::unordered_map<std::string, runtime::TypeId> types;
  return convert<runtime::Value>(
      value, [](const eval::Value& v) { return static_cast<const void*>(v.node.get()); },
      [](const eval::Value& v) -> eval::Values {
        if (const eval::TupleValue* t = eval::as_tuple(v)) return t->fields;
        if (const eval::DataValue* d = eval::as_data(v)) return d->fields;
        if (const eval::ReferenceValue* r = eval::as_reference(v)) return {r->value};
        return {};
      },
      [&](const eval::Value& v, std::vector<runtime::Value> parts) -> Result<runtime::Value> {
        if (!v.node) return runtime::Value::tensor(v.tensor);
        switch (v.node->kind) {
          case Kind::Tuple: return runtime::Value::tuple(std::move(parts));
          case Kind::Reference: return runtime::Value::reference(std::move(parts[0]));
          case Kind::Data: {
            const ir::Constructor& c = *eval::as_data(v)->constructor;
            auto [type, fresh] = types.try_emplace(c.data_type);
            if (fresh) type->second = intern(module.types.at(c.data_type));
            return runtime::Value::data(type->second, static_cast<uint32_t>(c.tag), std::move(parts));
          }
          default: return cannot_cross("a function");
        }
      });
}

// The parts of a tuple, data value or reference.
static std::vector<runtime::Value> parts_of(const runtime::Value& v) {
  using Kind = runtime::ObjectKind;
  std::vector<runtime::Value> parts;
  if (v.kind() == Kind::Tuple || v.kind() == Kind::Data)
    for (size_t i = 0; i < v.size(); ++i) parts.push_back(v.field(i));
  if (v.kind() == Kind::Reference) parts.push_back(v.content());
  return parts;
}

// The constructor of a data value, by the names of its type and constructor.
static Result<Ref<const ir::Constructor>> constructor_of(const runtime::Value& v, const ir::Module& module) {
  const std::string& type = runtime::data_type(v.type()).name;
  std::map<std::string, ir::TypeDef>::const_iterator found = module.types.find(type);
  if (found != module.types.end())
    for (const Ref<const ir::Constructor>& c : found->second.constructors)
      if (c->name == v.constructor() && c->inputs.size() == v.size()) return c;
  return Diagnostic{DiagnosticKind::wrong_input,
                    format("the program has no type {} with a constructor {} of {}", type, v.constructor(),
                           plural(static_cast<int64_t>(v.size()), "field", "fields")),
                    {},
                    {},
                    {},
                    "give a value of a type that the program defines"};
}

static const void* address(const runtime::Value& v) { return v.get(); }

Result<eval::Value> to_eval(const runtime::Value& value, const ir::Module& module) {
  using Kind = runtime::ObjectKind;
  return convert<eval::Value>(
      value, address, parts_of, [&](const runtime::Value& v, std::vector<eval::Value> parts) -> Result<eval::Value> {
        switch (v.kind()) {
          case Kind::Tensor: return eval::Value(v.tensor());
          case Kind::Tuple: return eval::tuple_value(std::move(parts));
          case Kind::Reference:
            return eval::Value(Ref<const eval::ValueNode>(new eval::ReferenceValue(std::move(parts[0]))));
          case Kind::Closure: return cannot_cross("a function");
          case Kind::Data: break;
        }
        RELAY_ASSIGN(Ref<const ir::Constructor> c, constructor_of(v, module));
        return eval::Value(Ref<const eval::ValueNode>(new eval::DataValue(std::move(c), std::move(parts))));
      });
}

Result<ir::Expr> to_expr(const runtime::Value& value, const ir::Module& module) {
  using Kind = runtime::ObjectKind;
  return convert<ir::Expr>(value, address, parts_of, [&](const runtime::Value& v, ir::Exprs parts) -> Result<ir::Expr> {
    switch (v.kind()) {
      case Kind::Tensor: return ir::constant(v.tensor());
      case Kind::Tuple: return ir::Expr(ir::tuple(std::move(parts)));
      case Kind::Reference: return ir::Expr(new ir::RefCreate(std::move(parts[0])));
      case Kind::Closure: return cannot_cross("a function");
      case Kind::Data: break;
    }
    RELAY_ASSIGN(const Ref<const ir::Constructor> c, constructor_of(v, module));
    return ir::Expr(new ir::Call(c, std::move(parts)));
  });
}

}  // namespace relay::input
