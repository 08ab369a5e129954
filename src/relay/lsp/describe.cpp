#include "relay/lsp/describe.h"

#include "relay/op/registry.h"

namespace relay::lsp {

using namespace ir;
using text::NameKind;

static std::string code(const std::string& text) { return format("```relay\n{}\n```\n", text); }

static std::string type_params(const Types& params) {
  std::string out;
  for (const Type& param : params) out += (out.empty() ? "[" : ", ") + text::type_text(param);
  return out.empty() ? out : out + "]";
}

// --- signatures ------------------------------------------------------------------------------------------------------

static void add_part(Signature& out, std::string name, std::string doc, const std::string& shown) {
  if (out.label.back() != '(') out.label += ", ";
  const auto begin = static_cast<uint32_t>(out.label.size());
  out.label += shown;
  out.parts.push_back({std::move(name), std::move(doc), begin, static_cast<uint32_t>(out.label.size())});
}

Signature signature_of(const op::OpDef& op) {
  Signature out{.label = op.name + "(", .doc = op.doc, .parts = {}};
  for (const op::Input& input : op.inputs)
    add_part(out, input.name, input.doc, input.is_tuple ? format("({}, ...)", input.name) : input.name);
  if (op.attrs_type)
    for (const AttrField& field : op.attrs_type->fields)
      add_part(out, field.name, describe(field),
               format("{}={}", field.name, field.required ? "..." : ir::str(field.default_value)));
  out.label += ")";
  return out;
}

static std::string annotation(const Var& var) {
  if (var.annotation) return text::type_text(var.annotation);
  return var.type ? text::type_text(var.type) : "_";
}

static std::string result_of(const Function& function) {
  if (function.result_type) return text::type_text(function.result_type);
  const FuncType* type = as<FuncType>(function.type);
  return type ? text::type_text(type->result) : "_";
}

std::optional<Signature> signature_of(const Module& module, const std::string& name) {
  const auto found = module.functions.find(name);
  if (found == module.functions.end()) return std::nullopt;
  Signature out{.label = format("@{}(", name), .doc = "", .parts = {}};
  for (const VarRef& param : found->second->params)
    add_part(out, param->name, "", format("%{}: {}", param->name, annotation(*param)));
  out.label += format(") -> {}", result_of(*found->second));
  return out;
}

Signature signature_of(const Module& module, const Constructor& constructor) {
  Signature out{.label = constructor.name + "(", .doc = "", .parts = {}};
  for (const Type& input : constructor.inputs) add_part(out, "", "", text::type_text(input));
  if (constructor.inputs.empty()) out.label.pop_back();
  out.label += format("{}: {}", constructor.inputs.empty() ? "" : ")", constructor.data_type);
  const auto def = module.types.find(constructor.data_type);
  if (def != module.types.end()) out.label += type_params(def->second.type_params);
  return out;
}

std::string head_of(const std::string& name, const Function& function) {
  std::string out = format("def @{}{}(", name, type_params(function.type_params));
  for (size_t i = 0; i < function.params.size(); ++i)
    out += format("{}%{}: {}", i ? ", " : "", function.params[i]->name, annotation(*function.params[i]));
  return format("{}) -> {}", out, result_of(function));
}

// --- operators -------------------------------------------------------------------------------------------------------

std::string describe(const AttrField& field) {
  return format("{}; {}. {}", field.type_name,
                field.required ? "required" : format("{} by default", ir::str(field.default_value)), field.doc);
}

std::string page_of(const op::OpDef& op) {
  std::string out = op.doc + "\n";
  for (const op::Input& input : op.inputs)
    out += format("\n- `{}`: {}{}", input.name, input.doc, input.is_tuple ? " (a tuple of tensors)" : "");
  if (op.attrs_type)
    for (const AttrField& field : op.attrs_type->fields) out += format("\n- `{}`: {}", field.name, describe(field));
  return out + format("\n\n`relay ops {}` shows examples and constraints.\n", op.name);
}

// --- hover -----------------------------------------------------------------------------------------------------------

// The comments on the lines before a definition, without their marks.
static std::string comments_before(const Document& document, uint32_t begin) {
  size_t first = 0;
  while (first < document.pieces.size() && document.pieces[first].begin < begin) ++first;
  const size_t end = first;
  while (first > 0 && document.pieces[first - 1].kind == text::Tok::Comment &&
         document.pieces[first - 1].newlines > 0 && document.pieces[first].newlines < 2)
    --first;
  std::string out;
  for (size_t i = first; i < end; ++i) {
    std::string_view comment = document.text_of(document.pieces[i].begin, document.pieces[i].end);
    comment.remove_prefix(2);
    if (comment.ends_with("*/")) comment.remove_suffix(2);
    out += format("{}\n", trim(comment));
  }
  return out;
}

static std::string shown_type(const std::string& type) { return type.empty() ? "_" : type; }

static std::string global_text(const Document& document, const text::Thing& thing) {
  const auto found = document.reading.module.functions.find(thing.name);
  if (found == document.reading.module.functions.end()) return "";
  const std::string comments = thing.begin == text::nowhere ? "" : comments_before(document, thing.begin);
  return code(head_of(thing.name, *found->second)) + comments;
}

static std::string type_definition_text(const Document& document, const text::Thing& thing) {
  const auto found = document.reading.module.types.find(thing.name);
  if (found == document.reading.module.types.end()) return "";
  std::string out = format("type {}", thing.name);
  const TypeDef& def = found->second;
  out += type_params(def.type_params);
  for (size_t i = 0; i < def.constructors.size(); ++i) {
    out += i ? ", " : " { ";
    const Constructor& c = *def.constructors[i];
    out += c.name;
    for (size_t k = 0; k < c.inputs.size(); ++k) out += (k ? ", " : "(") + text::type_text(c.inputs[k]);
    if (!c.inputs.empty()) out += ")";
  }
  if (!def.constructors.empty()) out += " }";
  return code(out) + (thing.begin == text::nowhere ? "" : comments_before(document, thing.begin));
}

static std::string attribute_text(const text::Thing& thing) {
  const Op* op = as<Op>(thing.expr);
  if (!op || !op->def->attrs_type) return "";
  for (const AttrField& field : op->def->attrs_type->fields)
    if (field.name == thing.name) return format("`{}` of `{}`: {}\n", field.name, op->name, describe(field));
  return "";
}

std::string hover_text(const Document& document, const text::Occurrence& name) {
  const text::Thing& thing = document.thing(name);
  switch (thing.kind) {
    case NameKind::Variable:
    case NameKind::Parameter:
    case NameKind::Graph: return code(format("%{}: {}", thing.name, shown_type(type_of(thing.expr))));
    case NameKind::Global: return global_text(document, thing);
    case NameKind::Operator: {
      const ir::Expr* call = document.reading.names.call_at(name.begin);
      const Op* op = as<Op>(thing.expr);
      const std::string type = call ? type_of(*call) : "";
      return code(format("{}{}{}", op->name, type.empty() ? "" : ": ", type)) + page_of(*op->def);
    }
    case NameKind::Constructor: return code(signature_of(document.reading.module, *as<Constructor>(thing.expr)).label);
    case NameKind::Type: return type_definition_text(document, thing);
    case NameKind::TypeVariable: return format("`{}`: a type variable\n", thing.name);
    case NameKind::Size: return format("`{}`: a size that is known when the program runs\n", thing.name);
    case NameKind::Attribute: return attribute_text(thing);
  }
  return "";
}

}  // namespace relay::lsp
