// Types, dimensions, attribute values and patterns. These nest only as deep as written, so the functions recurse, up to
// a limit.
#include <charconv>
#include <cmath>

#include "relay/base/quote.h"
#include "relay/prelude/prelude.h"
#include "relay/scalar/parts.h"
#include "relay/scalar/simplify.h"
#include "relay/text/parser.h"

namespace relay::text {

using namespace ir;

static constexpr int depth_limit = 200;

// The forms of types, for messages.
static constexpr const char *tensor_form = "a tensor type is written Tensor[(2, n), float32]",
                            *function_form = "a function type is written fn (int32, bool) -> int32",
                            *variables_form = "type variables are written [A, B]";

// "Cons(_, _)"
static std::string pattern_form(const Constructor& c) {
  return c.inputs.empty() ? c.name
                          : format("{}({})", c.name, join(std::vector<std::string>(c.inputs.size(), "_"), ", "));
}

bool Parser::enter() {
  if (++depth_ <= depth_limit) return true;
  report(DiagnosticKind::nesting_too_deep, format("this is nested more than {} levels deep", depth_limit), span(peek()),
         "name inner types and sizes, so that each is less deeply nested");
  return false;
}

// --- types -----------------------------------------------------------------------------------------------------------

// "(2, m * 3, ?)" after the opening parenthesis is next.
bool Parser::shape(Dims* out) {
  if (!expect(Tok::LParen, "before a shape", tensor_form)) return false;
  while (!at(Tok::RParen)) {
    Token first = peek();
    Dim d = dim();
    if (d && d->dtype.is_bool()) {
      report(DiagnosticKind::type_mismatch, "a size is a number, but this is true or false", span(first),
             "compare inside of select(n < m, n, m)");
      return false;
    }
    if (!d) return false;
    out->push_back(std::move(d));
    if (!accept(Tok::Comma)) break;
  }
  return expect(Tok::RParen, "after a shape", tensor_form);
}

Type Parser::tensor_type() {
  if (!expect(Tok::LBracket, "after 'Tensor'", tensor_form)) return {};
  Dims dims;
  if (!shape(&dims) || !expect(Tok::Comma, "between the shape and the element type", tensor_form)) return {};
  Token name = peek();
  std::optional<DType> dtype = at(Tok::Ident) ? parse_dtype(lexer_.text(name)) : std::nullopt;
  if (!dtype)
    return unexpected("an element type such as float32",
                      "the element types are bool, bfloat16, float16 to float64, int8 to int64, uint8 to uint64"),
           Type();
  take();
  if (!expect(Tok::RBracket, "after the element type", tensor_form)) return {};
  return ir::tensor_type(std::move(dims), *dtype);
}

// "[A, B]" if present; the variables are added to the innermost type scope.
bool Parser::type_params(Types* out) {
  if (!accept(Tok::LBracket)) return true;
  while (!at(Tok::RBracket)) {
    if (!at(Tok::Ident)) return unexpected("the name of a type variable", variables_form);
    Token token = take();
    std::string name = name_of(token);
    for (const Type& other : *out)
      if (as<TypeVar>(other)->name == name)
        report(DiagnosticKind::duplicate_definition, format("two type variables are named {}", name), span(token),
               "give one of them another name");
    Type var = make<TypeVar>(name);
    out->push_back(var);
    if (names_) names_->note(token.begin, token.end, NameKind::TypeVariable, name, var.get(), {}, true);
    types_in_scope_.declare(name, var);
    if (!accept(Tok::Comma)) break;
  }
  return expect(Tok::RBracket, "after type variables", variables_form);
}

Type Parser::type() {
  Leave leave{depth_};
  if (!enter()) return {};
  if (accept(Tok::LParen)) {
    Types fields;
    bool comma = false;
    while (!at(Tok::RParen)) {
      Type field = type();
      if (!field) return {};
      fields.push_back(std::move(field));
      if (!(comma = accept(Tok::Comma))) break;
    }
    if (!expect(Tok::RParen, "after the fields of a tuple type")) return {};
    if (fields.size() == 1 && !comma && as<FuncType>(fields[0])) return fields[0];  // (fn (A) -> B) is not a tuple
    return tuple_type(std::move(fields));
  }
  if (!at(Tok::Ident)) return unexpected("a type"), Type();
  Token token = take();
  std::string_view word = lexer_.text(token);
  if (word == "_") return hole();
  if (word == "Tensor" && at(Tok::LBracket)) return tensor_type();
  if (word == "fn") {
    open_scope();
    Types vars, args;
    Type result;
    bool good = type_params(&vars) && expect(Tok::LParen, "before the argument types", function_form);
    while (good && !at(Tok::RParen)) {
      args.push_back(type());
      good = args.back() != nullptr;
      if (!good || !accept(Tok::Comma)) break;
    }
    good = good && expect(Tok::RParen, "after the argument types", function_form) &&
           expect(Tok::Arrow, "before the result type", function_form);
    if (good) result = type();
    close_scope();
    return result ? func_type(std::move(args), std::move(result), std::move(vars)) : Type();
  }
  if (word == "ref" && accept(Tok::LParen)) {
    Type value = type();
    if (!value || !expect(Tok::RParen, "after the type of a reference")) return {};
    return make<RefType>(std::move(value));
  }
  std::string name(word);
  if (const Type* variable = types_in_scope_.find(name)) {
    if (at(Tok::LBracket)) {
      report(DiagnosticKind::type_mismatch, format("the type variable {} takes no arguments", name), span(token),
             "it stands for a complete type: write it alone");
      return {};
    }
    if (names_) names_->note(token.begin, token.end, NameKind::TypeVariable, name, variable->get(), {}, false);
    return *variable;
  }
  if (std::optional<DType> dtype = parse_dtype(word)) return scalar_type(*dtype);
  Types args;
  bool brackets = accept(Tok::LBracket);
  while (brackets && !at(Tok::RBracket)) {
    Type arg = type();
    if (!arg) return {};
    args.push_back(std::move(arg));
    if (!accept(Tok::Comma)) break;
  }
  if (brackets && !expect(Tok::RBracket, "after type arguments")) return {};
  type_uses_.push_back({name, args.size(), span(token)});
  if (names_) names_->note_named(token.begin, token.end, NameKind::Type, name, false);
  Type data = make<DataTypeName>(std::move(name));
  return args.empty() ? data : Type(make<TypeCall>(std::move(data), std::move(args)));
}

// "(1, n, 8)", "(4,) int64", "[(1, 2), (1, 3)]"; anything else is a type in Relay form.
Type Parser::short_type() {
  if (accept(Tok::LBracket)) {
    Types fields;
    while (!at(Tok::RBracket)) {
      Type field = short_type();
      if (!field) return {};
      fields.push_back(std::move(field));
      if (!accept(Tok::Comma)) break;
    }
    return expect(Tok::RBracket, "after the tensors of a tuple") ? tuple_type(std::move(fields)) : Type();
  }
  // A tuple type begins with a type: another parenthesis, a word that names one. A shape begins with a dimension.
  if (!at(Tok::LParen)) return type();
  const Token& first = peek(1);
  std::string_view word = first.kind == Tok::Ident ? lexer_.text(first) : std::string_view();
  bool names_type = word == "Tensor" || word == "fn" || word == "ref" || parse_dtype(word).has_value();
  if (names_type || peek(2).kind == Tok::LBracket) return type();
  if (first.kind == Tok::LParen) {  // ((n + 1) / 2, 3) or ((int32,), int32): a shape unless that fails
    const Token& second = peek(2);
    std::string_view inner = second.kind == Tok::Ident ? lexer_.text(second) : std::string_view();
    if (second.kind == Tok::RParen || inner == "Tensor" || parse_dtype(inner)) return type();
  }
  Dims dims;
  if (!shape(&dims)) return {};
  DType dtype = DType::float32();
  if (at(Tok::Ident)) {
    std::optional<DType> given = parse_dtype(lexer_.text(peek()));
    if (!given) return unexpected("an element type such as float32"), Type();
    dtype = *given, take();
  }
  return ir::tensor_type(std::move(dims), dtype);
}

// --- dimensions ------------------------------------------------------------------------------------------------------

// A name refers to the variable of the nearest enclosing function that has it, else to a new one of the innermost.
Dim Parser::dim_name(const std::string& name) {
  if (const Dim* known = dims_.find(name)) return *known;
  Dim made = scalar::var(name);
  dims_.declare(name, made);
  return made;
}

static Dim combine(scalar::BinaryOp op, Dim a, Dim b) {
  if (scalar::is_any(a) || scalar::is_any(b)) return scalar::any_dim();
  return scalar::binary(op, std::move(a), std::move(b));
}

Dim Parser::dim() {
  Leave leave{depth_};
  if (!enter()) return {};
  Dim a = dim_sum();
  scalar::BinaryOp op;
  bool swap = false;
  switch (peek().kind) {
    case Tok::Less: op = scalar::BinaryOp::Lt; break;
    case Tok::LessEqual: op = scalar::BinaryOp::Le; break;
    case Tok::Greater: op = scalar::BinaryOp::Lt, swap = true; break;
    case Tok::GreaterEqual: op = scalar::BinaryOp::Le, swap = true; break;
    case Tok::EqualEqual: op = scalar::BinaryOp::Eq; break;
    case Tok::NotEqual: op = scalar::BinaryOp::Ne; break;
    default: return a;
  }
  take();
  Dim b = a ? dim_sum() : Dim();
  if (!b) return {};
  return swap ? combine(op, b, a) : combine(op, a, b);
}

// A size that is not too large, at least in a simpler form; otherwise null, reported.
Dim Parser::within_parts(Dim dim) {
  if (scalar::is_too_large(dim)) dim = scalar::simplify(dim);
  if (!scalar::is_too_large(dim)) return dim;
  report(DiagnosticKind::limit_exceeded, format("a size has more than {} parts", scalar::max_size_parts), span(peek()),
         "give a part of it a name of its own");
  return {};
}

Dim Parser::dim_sum() {
  Dim a = dim_product();
  while (a && (at(Tok::Plus) || at(Tok::Minus))) {
    scalar::BinaryOp op = take().kind == Tok::Plus ? scalar::BinaryOp::Add : scalar::BinaryOp::Sub;
    Dim b = dim_product();
    if (!b) return {};
    a = within_parts(combine(op, std::move(a), std::move(b)));
  }
  return a;
}

Dim Parser::dim_product() {
  Dim a = dim_factor();
  while (a && (at(Tok::Star) || at(Tok::Slash) || at(Tok::Percent))) {
    Token op = take();
    Dim b = dim_factor();
    if (!b) return {};
    if (op.kind != Tok::Star && scalar::is_int(b, 0)) {
      report(DiagnosticKind::bad_literal, "a dimension cannot be divided by 0", span(op),
             "divide by a positive number");
      return {};
    }
    a = within_parts(combine(op.kind == Tok::Star    ? scalar::BinaryOp::Mul
                             : op.kind == Tok::Slash ? scalar::BinaryOp::FloorDiv
                                                     : scalar::BinaryOp::FloorMod,
                             std::move(a), std::move(b)));
  }
  return a;
}

Dim Parser::dim_factor() {
  Leave leave{depth_};
  if (!enter()) return {};
  Token token = peek();
  switch (token.kind) {
    case Tok::Number: {
      take();
      std::string_view digits = lexer_.text(token);
      int64_t value = 0;
      auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      std::string_view suffix(end, digits.data() + digits.size());
      if (error != std::errc() || !(suffix.empty() || suffix == "i64" || suffix == "i32" || suffix == "i")) {
        report(DiagnosticKind::bad_literal, format("'{}' is not a 64-bit integer", digits), span(token),
               "a dimension is an integer, ?, a name, or arithmetic of these");
        return {};
      }
      return scalar::imm(value);
    }
    case Tok::Question: take(); return scalar::any_dim();
    case Tok::Minus: {
      take();
      Dim value = dim_factor();
      if (!value) return {};
      return scalar::is_int(value) ? scalar::imm(static_cast<int64_t>(0 - static_cast<uint64_t>(value->ivalue)))
                                   : combine(scalar::BinaryOp::Sub, scalar::imm(0), std::move(value));
    }
    case Tok::LParen: {
      take();
      Dim inner = dim();
      return inner && expect(Tok::RParen, "after an expression") ? inner : Dim();
    }
    case Tok::Ident: break;
    default: return unexpected("a dimension", "a dimension is an integer, ?, a name, or arithmetic of these"), Dim();
  }
  std::string name = name_of(take());
  if (!accept(Tok::LParen)) {
    const Dim size = dim_name(name);
    if (names_) names_->note(token.begin, token.end, NameKind::Size, name, size.get(), {}, true);
    return size;
  }
  Dims args;
  while (!at(Tok::RParen)) {
    args.push_back(dim());
    if (!args.back()) return {};
    if (!accept(Tok::Comma)) break;
  }
  if (!expect(Tok::RParen, "after the arguments")) return {};
  for (const Dim& arg : args)
    if (scalar::is_any(arg)) return scalar::any_dim();
  if (args.size() == 2 && name == "min") return scalar::min(args[0], args[1]);
  if (args.size() == 2 && name == "max") return scalar::max(args[0], args[1]);
  if (args.size() == 3 && name == "select" && args[0]->dtype.is_bool())
    return scalar::select(args[0], args[1], args[2]);
  report(DiagnosticKind::syntax,
         format("'{}' with {} is not a function of dimensions", name, plural(args.size(), "argument", "arguments")),
         span(token), "the functions are min(a, b), max(a, b) and select(a < b, x, y)");
  return {};
}

// --- attribute values ------------------------------------------------------------------------------------------------

static bool read_double(std::string_view digits, double* out) {
  if (digits.size() > 2 && digits.back() == '.') digits.remove_suffix(1);
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), *out);
  std::string_view suffix(end, digits.data() + digits.size());
  return (error == std::errc() || error == std::errc::result_out_of_range) &&
         (suffix.empty() || suffix == "." || suffix == ".f" || suffix == "f" || suffix == "f16" || suffix == "f32" ||
          suffix == "f64");
}

// Appends key=value. With `spans`, repeated names are left for the operator's attributes to refuse.
bool Parser::attribute(AttrValues* out, std::vector<Span>* spans) {
  Token key = take();
  std::string name = name_of(key);
  if (accept(Tok::Dot)) name += "." + name_of(take());
  if (names_) {
    call_attributes_.push_back(name);
    const Expr op = !open_.empty() && open_.back().open == Open::Args ? operands_[open_.back().base].expr : Expr();
    names_->note_named(key.begin, last_end_, NameKind::Attribute, format("{} of {}", name, key.begin), true);
    reading_->names.things.back().name = name, reading_->names.things.back().expr = op;
  }
  if (!expect(Tok::Equal, "after the name of an attribute")) return false;
  AttrValue value;
  if (!attr_value(&value)) return false;
  for (const auto& [other, unused] : *out)
    if (other == name && !spans)
      report(DiagnosticKind::bad_attribute, format("the attribute '{}' is given twice", name), span(key),
             "leave out one of them");
  out->emplace_back(std::move(name), std::move(value));
  if (spans) spans->push_back(span_from(key.begin));
  return true;
}

bool Parser::attr_value(AttrValue* out) {
  Leave leave{depth_};
  if (!enter()) return false;
  Token token = peek();
  bool negative = token.kind == Tok::Minus;
  if (negative) take();
  token = peek();
  std::string_view word = lexer_.text(token);
  if (token.kind == Tok::Number) {
    take();
    int64_t value = 0;
    std::string text = (negative ? "-" : "") + std::string(word);
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string_view suffix(end, text.data() + text.size());
    double number = 0;
    if (error == std::errc() && (suffix.empty() || suffix[0] == 'i')) {
      *out = value;
    } else if (read_double(text, &number)) {
      *out = number;
    } else {
      report(DiagnosticKind::bad_literal, format("'{}' is not a number", text), span(token),
             "write 3, 0.5, 1e-5 or inf");
      *out = int64_t{0};
    }
    return true;
  }
  if (token.kind == Tok::Ident && (starts_with(word, "inff") || starts_with(word, "nanf"))) {
    take();
    double number = word[0] == 'i' ? HUGE_VAL : NAN;
    *out = negative ? -number : number;
    return true;
  }
  if (negative) return unexpected("a number");
  switch (token.kind) {
    case Tok::String: *out = unquote(lexer_.text(take())); return true;
    case Tok::LBracket: take(); return attr_list(out, Tok::RBracket);
    case Tok::LParen: {
      take();
      AttrValue inner;
      if (!attr_list(&inner, Tok::RParen)) return false;
      *out = std::move(inner);
      return true;
    }
    case Tok::Ident:
      if (word == "meta" && peek(1).kind == Tok::LBracket) return take(), meta_device(out);
      if (std::optional<DType> dtype = parse_dtype(word)) return take(), *out = *dtype, true;
      if (word == "True" || word == "False") return take(), *out = word == "True", true;
      if (word == "None" || word == "nullptr") return take(), *out = std::monostate(), true;
      break;
    default: break;
  }
  return unexpected("the value of an attribute",
                    "values are numbers, \"strings\", True, False, None, and lists [1, 2] of them");
}

// The elements up to `close`: all integers, floats, strings or lists of integers; if a name or `?` is among them,
// dimensions.
bool Parser::attr_list(AttrValue* out, Tok close) {
  Ints ints;
  Floats floats;
  Strings strings;
  Dims dims;
  IntLists lists;
  size_t count = 0, ints_in = 0, floats_in = 0;
  uint32_t begin = last_end_;
  while (!at(close)) {
    const Token& next = peek();
    std::string_view word = lexer_.text(next);
    bool constant = next.kind == Tok::Ident &&
                    (word == "True" || word == "False" || starts_with(word, "inff") || starts_with(word, "nanf"));
    bool is_number = next.kind == Tok::Number || (next.kind == Tok::Minus && peek(1).kind == Tok::Number);
    Tok behind = peek(next.kind == Tok::Minus ? 2 : 1).kind;
    if (next.kind == Tok::String || next.kind == Tok::LBracket || constant ||
        (next.kind == Tok::LParen && close == Tok::RBracket) ||
        (is_number && (behind == Tok::Comma || behind == close))) {
      AttrValue value;
      if (!attr_value(&value)) return false;
      if (const bool* b = std::get_if<bool>(&value)) value = static_cast<int64_t>(*b);
      if (const int64_t* i = std::get_if<int64_t>(&value)) {
        ints.push_back(*i), dims.push_back(scalar::imm(*i)), floats.push_back(static_cast<double>(*i)), ++ints_in;
      } else if (const double* f = std::get_if<double>(&value)) {
        floats.push_back(*f), ++floats_in;
      } else if (std::string* s = std::get_if<std::string>(&value)) {
        strings.push_back(std::move(*s));
      } else if (Ints* l = std::get_if<Ints>(&value)) {
        lists.push_back(std::move(*l));
      }
    } else {
      Dim d = dim();
      if (!d) return false;
      dims.push_back(std::move(d));
    }
    ++count;
    if (!accept(Tok::Comma)) break;
  }
  if (!expect(close, "after a list")) return false;
  if (ints_in == count) {
    if (close == Tok::RParen && count == 1) {
      *out = ints[0];  // (2) is 2
    } else {
      *out = std::move(ints);
    }
  } else if (ints_in + floats_in == count) {
    *out = std::move(floats);
  } else if (strings.size() == count) {
    *out = std::move(strings);
  } else if (lists.size() == count) {
    *out = std::move(lists);
  } else if (dims.size() == count) {
    *out = std::move(dims);
  } else {
    report(DiagnosticKind::bad_attribute, "the elements of this list are of different kinds", span_from(begin),
           "a list is all integers, floats, strings, or lists of integers");
    *out = Ints();
  }
  return true;
}

// --- patterns --------------------------------------------------------------------------------------------------------

Pattern Parser::pattern() {
  Leave leave{depth_};
  if (!enter()) return {};
  PatternNode* node = new PatternNode;
  Pattern result(node);
  Token token = peek();
  auto nested = [&]() {
    while (!at(Tok::RParen)) {
      Pattern inner = pattern();
      if (!inner) return false;
      node->patterns.push_back(std::move(inner));
      if (!accept(Tok::Comma)) break;
    }
    return expect(Tok::RParen, "after nested patterns");
  };
  if (token.kind == Tok::Local) {
    take();
    Type annotation;
    if (accept(Tok::Colon) && !(annotation = type())) return {};
    node->kind = PatternKind::Var;
    node->var = var(name_of(token), annotation, span(token));
    for (const VarRef& other : pattern_vars_)
      if (other->name == node->var->name && node->var->name != "_")
        report_twice(format("two variables of this pattern are named %{}", other->name), span(token), other->span);
    if (names_) note(token, node->var, NameKind::Variable, true);
    pattern_vars_.push_back(node->var);
    declare(node->var);
  } else if (accept(Tok::LParen)) {
    node->kind = PatternKind::Tuple;
    if (!nested()) return {};
  } else if (token.kind == Tok::Ident) {
    take();
    std::string_view word = lexer_.text(token);
    if (word != "_") {
      node->kind = PatternKind::Constructor;
      auto found = constructors_.find(word);
      if (found != constructors_.end()) {
        node->constructor = found->second;
        if (names_)
          names_->note(token.begin, token.end, NameKind::Constructor, word, found->second.get(), found->second, false);
      } else {
        std::vector<std::string> names;
        for (const auto& [name, unused] : constructors_) names.push_back(name);
        std::optional<std::string> near = nearest(word, names);
        report(DiagnosticKind::unknown_variable, format("no type defines a constructor named {}", word), span(token),
               near                       ? format("did you mean {}?", *near)
               : prelude::part_with(word) ? format("import \"{}\" defines it", *prelude::part_with(word))
                                          : "patterns are constructors, tuples (a, b), variables %x and _");
        node->kind = PatternKind::Wildcard;
      }
      if (accept(Tok::LParen) && !nested()) return {};
      if (found != constructors_.end() && node->patterns.size() != found->second->inputs.size())
        report(DiagnosticKind::wrong_argument_count,
               format("the constructor {} has {}, the pattern {}", word,
                      plural(found->second->inputs.size(), "field", "fields"), node->patterns.size()),
               span_from(token.begin), format("write {}", pattern_form(*found->second)));
    }
  } else {
    unexpected("a pattern", "patterns are constructors, tuples (a, b), variables %x and _");
    return {};
  }
  node->span = span_from(token.begin);
  return result;
}

}  // namespace relay::text
