#include "relay/op/registry.h"

#include <algorithm>
#include <map>

#include "relay/op/custom.h"

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
// The types of the results.
Types results(const Type& type) {
  const ir::TupleType* tuple = ir::as<ir::TupleType>(type);
  return tuple ? tuple->fields : Types{type};
}

// The definitions and their expression nodes. Never destroyed: calls point to them for as long as the process lives.
struct Table {
  std::vector<const OpDef*> sorted;
  std::map<std::string, std::pair<const OpDef*, ir::Expr>, std::less<>> by_name;

  void add(OpDef definition) {
    const OpDef* def = new OpDef(std::move(definition));
    bool added = by_name.emplace(def->name, std::pair(def, ir::Expr(new ir::Op(def->name, def)))).second;
    RELAY_CHECK(added, "two operators are named {}", def->name);
    if (def->shape && !def->part_of) add_parts(*def);
    if (!def->part_of) sorted.push_back(def);
  }

  void add_parts(const OpDef& whole) {
    add(shape_part(&whole));
    add(sized_part(&whole));
    add(shaped_part(&whole));
  }

  // NAME.shape(inputs): computes def.shape.
  static OpDef shape_part(const OpDef* def) {
    OpDef shape;
    shape.name = def->name + ".shape", shape.doc = format("The shape of the result of {}.", def->name);
    shape.part_of = def, shape.inputs = def->inputs, shape.attrs_type = def->attrs_type, shape.checked = def->checked;
    shape.infer = [def](const Attrs& a, const Types& in) -> Result<Type> {
      RELAY_ASSIGN(Type type, def->infer(a, in));
      int64_t sizes = 0;
      for (const Type& t : results(type)) sizes += static_cast<int64_t>(ir::as<ir::TensorType>(t)->shape.size());
      return ir::tensor_type({scalar::imm(sizes)}, DType::int64());
    };
    shape.compute = [def](const Attrs& a, const te::Tensors& in, const Type&) {
      return te::Tensors{def->shape(a, in)};
    };
    return shape;
  }

  // NAME.sized(shape, inputs): tensor_of_shape(shape) for a result of the operator. The inputs are used in messages.
  static OpDef sized_part(const OpDef* def) {
    OpDef sized;
    sized.name = def->name + ".sized", sized.doc = format("A bool tensor with the size of a result of {}.", def->name);
    sized.part_of = def, sized.inputs = def->inputs, sized.attrs_type = def->attrs_type;
    sized.inputs.insert(sized.inputs.begin(), {.name = "shape", .doc = "the sizes of the result"});
    sized.by_executor = true;
    auto made = [] { return op::find("tensor_of_shape"); };
    sized.infer = [made](const Attrs&, const Types& in) { return made()->infer({}, {in[0]}); };
    sized.compute = [made](const Attrs&, const te::Tensors& in, const Type& out) {
      return made()->compute({}, {in[0]}, out);
    };
    sized.shape = [](const Attrs&, const te::Tensors& in) { return in[0]; };
    return sized;
  }

  // NAME.shaped(like, inputs): the operator; where its type has a `?`, the results have the sizes of the tensors in the
  // tuple `like`.
  static OpDef shaped_part(const OpDef* def) {
    OpDef shaped;
    shaped.name = def->name + ".shaped",
    shaped.doc = format("{} whose results have the shape of other tensors.", def->name);
    shaped.part_of = def, shaped.inputs = def->inputs, shaped.attrs_type = def->attrs_type;
    shaped.inputs.insert(shaped.inputs.begin(), {.name = "like", .doc = "the results' shapes", .is_tuple = true});
    shaped.fusion = def->fusion;
    shaped.infer = [def](const Attrs& a, const Types& in) -> Result<Type> {
      RELAY_ASSIGN(Type type, def->infer(a, Types(in.begin() + 1, in.end())));
      const Types &like = ir::as<ir::TupleType>(in[0])->fields, own = results(type);
      if (like.size() != own.size()) return constraint("C1", "like must have {} tensors", own.size());
      Types out;
      for (size_t k = 0; k < own.size(); ++k) {
        const ir::TensorType* result = ir::as<ir::TensorType>(own[k]);
        const ir::Dims& sizes = ir::as<ir::TensorType>(like[k])->shape;
        ir::Dims dims = result->shape;
        if (sizes.size() != dims.size())
          return constraint("C1", "like must have as many axes as the result, {}", dims.size());
        for (size_t d = 0; d < dims.size(); ++d)
          if (scalar::is_any(dims[d])) dims[d] = sizes[d];
        out.push_back(ir::tensor_type(std::move(dims), result->dtype));
      }
      return ir::as<ir::TupleType>(type) ? ir::tuple_type(std::move(out)) : out[0];
    };
    shaped.compute = [def](const Attrs& a, const te::Tensors& in, const Type& out) {
      return def->compute(a, te::Tensors(in.begin() + static_cast<std::ptrdiff_t>(results(out).size()), in.end()), out);
    };
    return shaped;
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
  return it == table().by_name.end() ? find_custom(name) : it->second.first;
}

ir::Expr node(const OpDef& def) {
  auto it = table().by_name.find(def.name);
  return it == table().by_name.end() ? node_of_custom(def) : it->second.second;
}

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
