#include "relay/text/names.h"

#include <algorithm>

#include "relay/base/quote.h"
#include "relay/text/text.h"

namespace relay::text {

using namespace ir;

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string written_name(const std::string& name) {
  bool plain = !name.empty() && is_letter(name[0]) && name.back() != '/';
  for (size_t i = 0; i < name.size() && plain; ++i)
    plain = is_letter(name[i]) || is_digit(name[i]) || (name[i] == '/' && name[i + 1] != '/');
  return plain ? name : quote(name);
}

// The hint as an identifier: other characters become '_', a leading digit gets `prefix`.
static std::string identifier(const std::string& hint, char prefix) {
  std::string out;
  for (char c : hint) out += is_letter(c) || is_digit(c) ? c : '_';
  if (out.empty() || is_digit(out[0])) out.insert(out.begin(), prefix);
  for (const char* word : {"Tensor", "fn", "ref", "_", "True", "False", "None", "nullptr"})
    if (out == word) return prefix + out;
  if (starts_with(out, "inff") || starts_with(out, "nanf")) return prefix + out;
  return out;
}

std::string Names::unique(std::unordered_set<std::string>& used, const std::string& hint) {
  std::string name = hint;
  for (size_t& n = next_number_[hint]; !used.insert(name).second;) name = hint + std::to_string(++n);
  return name;
}

const std::string& Names::var(const ExprNode* var, const std::string& hint) {
  auto [it, added] = names_.try_emplace(var);
  if (added) it->second = "%" + written_name(unique(used_vars_, hint.empty() ? "v" : hint));
  return it->second;
}

const std::string& Names::type_var(const TypeVar* var) {
  auto [it, added] = names_.try_emplace(var);
  if (added) {
    std::string name = identifier(var->name, 't');
    if (parse_dtype(name)) name = "t" + name;
    it->second = unique(used_types_, name);
  }
  return it->second;
}

const std::string& Names::dim(const scalar::Node* var) {
  for (size_t i = frames_.size(); i-- > 0;)
    if (auto it = frames_[i].dims.find(var); it != frames_[i].dims.end()) return it->second;
  std::string hint = identifier(var->name, 'd'), name = hint;
  auto taken = [&] {
    return std::any_of(frames_.begin(), frames_.end(), [&](const Frame& f) { return f.used.count(name) != 0; });
  };
  for (size_t n = 1; taken(); ++n) name = hint + std::to_string(n);
  frames_.back().used.insert(name);
  return frames_.back().dims[var] = name;
}

// --- types -----------------------------------------------------------------------------------------------------------

std::string Names::shape(const Dims& dims) {
  std::string out = "(";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dim(dims[i]);
  return out + ")";
}

// Recursive: the parser and inference limit the depth of types.
std::string Names::type(const Type& t) {
  auto list = [&](const Types& types) {
    std::string out;
    for (size_t i = 0; i < types.size(); ++i) out += (i ? ", " : "") + type(types[i]);
    return out;
  };
  if (!t) return "_";
  switch (t->kind) {
    case TypeKind::Tensor: {
      const TensorType* tensor = as<TensorType>(t);
      if (tensor->shape.empty()) return tensor->dtype.str();
      return format("Tensor[{}, {}]", shape(tensor->shape), tensor->dtype.str());
    }
    case TypeKind::Tuple: {
      const Types& fields = as<TupleType>(t)->fields;
      return "(" + list(fields) + (fields.size() == 1 ? ",)" : ")");
    }
    case TypeKind::Func: {
      const FuncType* f = as<FuncType>(t);
      open_function();
      std::string out = "fn ";
      if (!f->type_vars.empty()) out += "[" + list(f->type_vars) + "]";
      out += "(" + list(f->args) + ") -> ";
      out += type(f->result);
      close_function();
      return out;
    }
    case TypeKind::Ref: return "ref(" + type(as<RefType>(t)->value) + ")";
    case TypeKind::Var: return type_var(as<TypeVar>(t));
    case TypeKind::Data: return as<DataTypeName>(t)->name;
    case TypeKind::Call: {
      const TypeCall* c = as<TypeCall>(t);
      return c->args.empty() ? type(c->callee) : type(c->callee) + "[" + list(c->args) + "]";
    }
    case TypeKind::Hole: return "_";
  }
  return "_";
}

// --- dimensions ------------------------------------------------------------------------------------------------------

static const struct Infix {
  scalar::BinaryOp op;
  const char* symbol;
  int precedence;
} infixes[] = {
    {scalar::BinaryOp::Eq, "==", 1}, {scalar::BinaryOp::Ne, "!=", 1},      {scalar::BinaryOp::Lt, "<", 1},
    {scalar::BinaryOp::Le, "<=", 1}, {scalar::BinaryOp::Add, "+", 2},      {scalar::BinaryOp::Sub, "-", 2},
    {scalar::BinaryOp::Mul, "*", 3}, {scalar::BinaryOp::FloorDiv, "/", 3}, {scalar::BinaryOp::FloorMod, "%", 3}};

std::string Names::dim(const Dim& d) {
  std::string out;
  print_dim(d, 0, 0, &out);
  return out;
}

// `?` replaces dimensions that have no text or are nested too deep to be parsed: it is less specific, but never wrong.
void Names::print_dim(const Dim& d, int outer, int depth, std::string* out) {
  static constexpr int depth_limit = 60;
  if (depth > depth_limit) {
    *out += "?";
    return;
  }
  auto call = [&](const char* function) {
    *out += function;
    for (size_t i = 0; i < d->args.size(); ++i) {
      *out += i ? ", " : "(";
      print_dim(d->args[i], 0, depth + 1, out);
    }
    *out += ")";
  };
  switch (d->kind) {
    case scalar::Kind::Int: *out += std::to_string(d->ivalue); return;
    case scalar::Kind::Var: *out += dim(d.get()); return;
    case scalar::Kind::Select: call("select"); return;
    case scalar::Kind::Binary: break;
    default: *out += "?"; return;
  }
  if (d->binary == scalar::BinaryOp::Min) return call("min");
  if (d->binary == scalar::BinaryOp::Max) return call("max");
  const Infix* infix =
      std::find_if(std::begin(infixes), std::end(infixes), [&](const Infix& i) { return i.op == d->binary; });
  if (infix == std::end(infixes)) {
    *out += "?";
    return;
  }
  // A chain a + b - c is walked down its left side without nesting.
  std::vector<std::pair<const Infix*, Dim>> rights;
  Dim left = d;
  while (left->kind == scalar::Kind::Binary) {
    const Infix* next =
        std::find_if(std::begin(infixes), std::end(infixes), [&](const Infix& i) { return i.op == left->binary; });
    if (next == std::end(infixes) || next->precedence != infix->precedence ||
        (infix->precedence == 1 && !rights.empty()))
      break;
    rights.emplace_back(next, left->args[1]);
    left = left->args[0];
  }
  bool parentheses = infix->precedence <= outer;
  if (parentheses) *out += "(";
  print_dim(left, infix->precedence == 1 ? 1 : infix->precedence - 1, depth + 1, out);
  for (size_t i = rights.size(); i-- > 0;) {
    const auto& [op, right] = rights[i];
    bool minus = op->op == scalar::BinaryOp::Add && right->kind == scalar::Kind::Int && right->ivalue < 0 &&
                 right->ivalue != INT64_MIN;
    *out += format(" {} ", minus ? "-" : op->symbol);
    if (minus) {
      *out += std::to_string(-right->ivalue);
    } else {
      print_dim(right, op->precedence, depth + 1, out);
    }
  }
  if (parentheses) *out += ")";
}

// --- attributes ------------------------------------------------------------------------------------------------------

std::string Names::value(const AttrValue& v) {
  if (const Dims* dims = std::get_if<Dims>(&v)) {
    std::string out = "[";
    for (size_t i = 0; i < dims->size(); ++i) out += (i ? ", " : "") + dim((*dims)[i]);
    return out + "]";
  }
  return ir::str(v);
}

std::string Names::attrs(const Attrs& a) {
  std::string out;
  if (!a) return out;
  for (size_t i = 0; i < a->type.fields.size(); ++i) {
    const AttrField& field = a->type.fields[i];
    AttrValue given = a->get(i);
    if (equal(given, field.default_value) && !field.required) continue;
    out += format("{}{}={}", out.empty() ? "" : ", ", field.name, value(given));
  }
  return out;
}

std::string Names::attrs(const DictAttrs& a) {
  std::string out;
  for (const auto& [key, v] : a) {
    bool plain = !key.empty() && is_letter(key[0]) &&
                 std::all_of(key.begin(), key.end(), [](char c) { return is_letter(c) || is_digit(c); });
    const DType* dtype = std::get_if<DType>(&v);  // unquoted, or it would be read as a string
    out += format("{}{}={}", out.empty() ? "" : ", ", plain ? key : quote(key), dtype ? dtype->str() : value(v));
  }
  return out;
}

std::string type_text(const Type& type) { return Names().type(type); }
std::string str(const Attrs& attrs) { return Names().attrs(attrs); }

}  // namespace relay::text
