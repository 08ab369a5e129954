// Operands at the beginning of an expression: literals, variables, operators, constructors, references into the
// metadata section.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "relay/op/registry.h"
#include "relay/prelude/prelude.h"
#include "relay/text/from_tvm.h"
#include "relay/text/parser.h"

namespace relay::text {

using namespace ir;

Parser::Step Parser::operand() {
  Token token = peek();
  switch (token.kind) {
    case Tok::Ident: return word_operand();
    case Tok::Number: take(); return push_operand(number_constant(token, false, token.begin), token.begin);
    case Tok::Minus: {
      bool negative = false;
      for (; at(Tok::Minus); negative = !negative) take();
      Token number = peek();
      std::string_view word = lexer_.text(number);
      if (number.kind != Tok::Number &&
          !(number.kind == Tok::Ident && (starts_with(word, "inff") || starts_with(word, "nanf"))))
        return unexpected("a number after '-'", "negative(...) negates a value"), Step::Failed;
      take();
      return push_operand(number_constant(number, negative, token.begin), token.begin);
    }
    case Tok::Local: {
      take();
      std::string name = name_of(token);
      auto found = locals_.find(name);
      if (found != locals_.end() && !found->second.empty()) {
        if (names_) note(token, found->second.back(), NameKind::Variable, false);
        return push_operand(found->second.back(), token.begin);
      }
      std::vector<std::string> names;
      for (const auto& [known, stack] : locals_)
        if (!stack.empty()) names.push_back(known);
      std::sort(names.begin(), names.end());
      std::optional<std::string> near = nearest(name, names);
      bool own = false;  // in its own let
      size_t let = lets_.size();
      for (size_t i = open_.size(); i-- > 0 && !own;)
        if (open_[i].open == Open::Let || open_[i].open == Open::LetBody)
          own = lets_[--let]->name == name && open_[i].open == Open::Let;
      report(DiagnosticKind::unknown_variable, format("%{} is not defined here", name), span(token),
             own    ? "only a function can use the name that its let gives it: let %f = fn (...) { ... }"
             : near ? format("did you mean %{}?", *near)
                    : format("bind it before its use: let %{} = ...; or make it a parameter", name));
      return push_operand(stand_in(span(token)), token.begin);
    }
    case Tok::Graph: {
      take();
      std::string_view digits = lexer_.text(token).substr(1);
      int64_t number = -1;
      std::from_chars(digits.data(), digits.data() + digits.size(), number);
      auto found = graphs_.find(number);
      if (found != graphs_.end()) {
        if (names_) names_->note_graph(token.begin, token.end, number, found->second);
        return push_operand(found->second, token.begin);
      }
      report(DiagnosticKind::unknown_variable, format("%{} is not defined before this use", digits), span(token),
             "graph variables are defined in the lines above: %0 = ...;");
      return push_operand(stand_in(span(token)), token.begin);
    }
    case Tok::Global: {
      take();
      std::string name = name_of(token);
      Expr& node = globals_[name];
      if (!node) node = global(name, span(token));
      if (names_) names_->note_named(token.begin, token.end, NameKind::Global, name, false);
      return push_operand(node, token.begin);
    }
    case Tok::LParen:
      take();
      if (accept(Tok::RParen)) return push_operand(ir::tuple({}, span_from(token.begin)), token.begin);
      push(Open::Paren, token.begin);
      return Step::Item;
    case Tok::LBrace:
      take();
      push(Open::Brace, token.begin);
      return Step::Item;
    default: break;
  }
  return unexpected("an expression", expression_help()), Step::Failed;
}

std::string Parser::expression_help() {
  Open open = open_.back().open;
  if (at(Tok::String)) return "strings are only allowed as attributes: mode=\"edge\"";
  if (at(Tok::LBracket)) return "lists are only allowed as attributes: newshape=[4]; a tuple is (a, b)";
  if (open == Open::Binary) return "an infix operator needs a right side";
  if (open == Open::LetBody) return "a block ends with its value, after the last ';'";
  if (open == Open::Let) return "a let needs a value: let %x = value; body";
  return "an expression is a value such as 1f, %x, @f, (a, b), a call, or one of fn, if, match, let";
}

Parser::Step Parser::word_operand() {
  Token token = take();
  std::string_view word = lexer_.text(token);
  if (word == "True" || word == "False")
    return push_operand(constant(Tensor::scalar(word == "True", DType::boolean()), span(token)), token.begin);
  if (word == "fn") {
    push(Open::Function, token.begin);
    functions_.emplace_back();
    return function_head(&functions_.back()) ? Step::Item : Step::Failed;
  }
  if (word == "if") {
    if (!expect(Tok::LParen, "after 'if'", "an if has the form: if (c) { a } else { b }")) return Step::Failed;
    push(Open::IfCondition, token.begin);
    return Step::Item;
  }
  if ((word == "ref" || word == "ref_read" || word == "ref_write") && at(Tok::LParen)) {
    take();
    push(word == "ref" ? Open::RefCreate : word == "ref_read" ? Open::RefRead : Open::RefWrite, token.begin);
    return Step::Item;
  }
  if (word == "match") {
    matches_.push_back({!accept(Tok::Question), {}, {}, {}});
    push(Open::MatchData, token.begin);
    return Step::Operand;
  }
  if (word == "meta" && at(Tok::LBracket)) {
    Expr value = meta_constant();
    return value ? push_operand(std::move(value), token.begin) : Step::Failed;
  }
  if (word == "let") {
    report(DiagnosticKind::syntax, "a let cannot be an operand of an infix operator or a projection", span(token),
           "put it in parentheses: (let %x = ...; ...)");
    return Step::Failed;
  }
  if (starts_with(word, "inff") || starts_with(word, "nanf"))
    return push_operand(number_constant(token, false, token.begin), token.begin);
  auto constructor = constructors_.find(word);
  if (constructor != constructors_.end() && !at(Tok::Dot)) {
    Expr node = constructor->second;
    if (names_) names_->note(token.begin, token.end, NameKind::Constructor, word, node.get(), node, false);
    if (!constructor->second->inputs.empty() || at(Tok::LParen)) return push_operand(std::move(node), token.begin);
    return push_operand(ir::call(std::move(node), {}, {}, span(token)), token.begin);
  }
  while (at(Tok::Dot) && peek(1).kind == Tok::Ident) take(), take();
  std::string_view name = std::string_view(source_->text).substr(token.begin, last_end_ - token.begin);
  auto known = operators_.find(name);
  Expr node = known != operators_.end() ? known->second : operator_node(name, span_from(token.begin));
  if (names_ && as<Op>(node)) names_->note(token.begin, last_end_, NameKind::Operator, name, node.get(), node, false);
  return push_operand(std::move(node), token.begin);
}

Expr Parser::operator_node(std::string_view name, const Span& span) {
  if (const op::OpDef* def = op::find(name)) return operators_[std::string(name)] = op::node(*def);
  std::vector<std::string> names;
  for (const op::OpDef* def : op::all()) names.push_back(def->name);
  for (const auto& [constructor, unused] : constructors_) names.push_back(constructor);
  std::optional<std::string> near = nearest(name, names);
  std::optional<std::string> part = prelude::part_with(name), absent = absent_operator(name);
  report(DiagnosticKind::unknown_operator, format("there is no operator or constructor '{}'", name), span,
         absent ? *absent
         : part ? format("import \"{}\" defines it", *part)
         : near ? format("did you mean {}?", *near)
                : "docs/operators.md and relay.operators() list the operators; those written in Python are known only "
                  "in a process that has called relay.op.define");
  return stand_in(span);
}

static std::string integer_range(DType dtype) {
  bool is_signed = dtype.code == DType::Code::Int;
  uint64_t high = ~uint64_t{0} >> (64 - dtype.bits + (is_signed ? 1 : 0));
  return format("the range of {} is {} to {}", dtype.str(), is_signed ? -static_cast<int64_t>(high) - 1 : 0, high);
}

// 1 is int32 (int64 if it does not fit), 2i64, 3u8, 1f is float32, 1f16, 1bf16, inff, -nanf64.
Expr Parser::number_constant(const Token& token, bool negative, uint32_t begin) {
  std::string text = (negative ? "-" : "") + std::string(lexer_.text(token));
  auto cached = literals_.find(text);
  if (cached != literals_.end()) return constant(cached->second, span_from(begin));
  auto bad = [&](std::string message, std::string help) {
    report(DiagnosticKind::bad_literal, std::move(message), span_from(begin), std::move(help));
    return constant(0, DType::float32());
  };
  size_t digits = negative ? 1 : 0;
  bool special = text[digits] == 'i' || text[digits] == 'n';
  size_t suffix_at = special ? digits + 3 : text.find_first_not_of("0123456789.", digits);
  if (!special && suffix_at < text.size() && (text[suffix_at] == 'e' || text[suffix_at] == 'E')) {
    suffix_at = text.find_first_not_of("+-0123456789", suffix_at + 1);
  }
  suffix_at = std::min(suffix_at, text.size());
  std::string number = text.substr(0, suffix_at), suffix = text.substr(suffix_at);
  static const std::map<std::string, DType, std::less<>> suffixes = {
      {"f", DType::float32()},     {"f16", DType::float16()}, {"f32", DType::float32()}, {"f64", DType::float64()},
      {"bf16", DType::bfloat16()}, {"i", DType::int32()},     {"i8", DType::int8()},     {"i16", DType::int16()},
      {"i32", DType::int32()},     {"i64", DType::int64()},   {"u8", DType::uint8()},    {"u16", DType::uint16()},
      {"u32", DType::uint32()},    {"u64", DType::uint64()}};
  auto found = suffixes.find(suffix);
  if (!suffix.empty() && found == suffixes.end())
    return bad(format("'{}' is not a suffix of a number", suffix),
               "the suffixes are f, f16, f64, bf16, i8 to i64, u8 to u64");
  bool is_integer = number.find_first_of(".eE") == std::string::npos && !special;
  if (suffix.empty() && !is_integer)
    return bad(format("'{}' has no type", number), format("a float is written {}f, or {}f64", number, number));
  DType dtype = suffix.empty() ? DType::int32() : found->second;
  Tensor value;
  if (dtype.is_float()) {
    double parsed = 0;
    if (special) {
      parsed = number[digits] == 'i' ? HUGE_VAL : std::numeric_limits<double>::quiet_NaN();
      if (negative) parsed = -parsed;
    } else if (dtype == DType::float32()) {
      float nearest_float = std::strtof(number.c_str(), nullptr);  // one rounding
      parsed = nearest_float;
    } else {
      parsed = std::strtod(number.c_str(), nullptr);
    }
    value = Tensor::scalar(parsed, dtype);
    if (!special && std::isinf(value.at(0)))
      return bad(format("{} does not fit in {}", number, dtype.str()), format("infinity is written inf{}", suffix));
  } else {
    if (!is_integer)
      return bad(format("'{}' is not an integer, but has the suffix '{}'", number, suffix),
                 format("write {}f, or an integer", number));
    int64_t parsed = 0;
    uint64_t large = 0;
    const char* end = number.data() + number.size();
    bool fits = std::from_chars(number.data(), end, parsed).ec == std::errc();
    if (!fits && dtype == DType::uint64())
      fits = std::from_chars(number.data(), end, large).ec == std::errc(), parsed = static_cast<int64_t>(large);
    if (!fits && suffix.empty()) dtype = DType::int64();
    if (fits && suffix.empty() && parsed != static_cast<int32_t>(parsed)) dtype = DType::int64();
    if (fits && dtype.bits < 64) {
      int64_t low = dtype.code == DType::Code::UInt ? 0 : -(int64_t{1} << (dtype.bits - 1));
      int64_t high = (int64_t{1} << (dtype.code == DType::Code::UInt ? dtype.bits : dtype.bits - 1)) - 1;
      fits = parsed >= low && parsed <= high;
    } else if (fits && dtype == DType::uint64() && negative) {
      fits = parsed == 0;
    }
    if (!fits) return bad(format("{} does not fit in {}", number, dtype.str()), integer_range(dtype));
    value = Tensor::from_ints({}, dtype, std::span<const int64_t>(&parsed, 1));
  }
  if (literals_.size() < 4096) literals_.emplace(std::move(text), value);
  return constant(std::move(value), span_from(begin));
}

// meta[KEY][3], after the word.
std::optional<Parser::MetaReference> Parser::meta_reference() {
  uint32_t begin = last_end_ - 4;
  take();
  uint32_t key_begin = peek().begin;
  while (at(Tok::Ident) || at(Tok::Dot)) take();
  std::string_view key = std::string_view(source_->text).substr(key_begin, last_end_ - key_begin);
  if (!expect(Tok::RBracket, "after the type key of a metadata reference") ||
      !expect(Tok::LBracket, "before the index of a metadata reference"))
    return {};
  int64_t index = -1;
  std::string_view digits = lexer_.text(peek());
  if (!at(Tok::Number) || std::from_chars(digits.data(), digits.data() + digits.size(), index).ec != std::errc())
    return unexpected("an index into the metadata section"), std::nullopt;
  take();
  if (!expect(Tok::RBracket, "after the index of a metadata reference")) return {};
  return MetaReference{key, index, span_from(begin)};
}

Expr Parser::meta_constant() {
  const std::optional<MetaReference> reference = meta_reference();
  if (!reference) return {};
  const auto [key, index, place] = *reference;
  if (key != "relay.Constant") {
    report(DiagnosticKind::bad_metadata, format("meta[{}] cannot be an expression", key), place,
           "only meta[relay.Constant][N] can");
    return stand_in(place);
  }
  if (index >= static_cast<int64_t>(metadata_.constants.size())) {
    if (!(metadata_.constants.empty() && sink_.has_errors()))
      report(DiagnosticKind::bad_metadata,
             format("the metadata section has {}, there is no meta[relay.Constant][{}]",
                    plural(metadata_.constants.size(), "constant", "constants"), index),
             place,
             body_end_ == source_->text.size()
                 ? "the text has no #[metadata] section; perhaps it was printed without it"
                 : "refer to an existing entry, or print the program again");
    return stand_in(place);
  }
  Expr& node = meta_nodes_[index];
  if (!node) node = constant(metadata_.constants[index], place);
  return node;
}

// meta[VirtualDevice][0], after the word: the name of a device.
bool Parser::meta_device(AttrValue* out) {
  const std::optional<MetaReference> reference = meta_reference();
  if (!reference) return false;
  const auto [key, index, place] = *reference;
  *out = std::string();
  if (key != "VirtualDevice") {
    report(DiagnosticKind::bad_metadata, format("meta[{}] cannot be an attribute", key), place,
           "only meta[VirtualDevice][N] can");
  } else if (index < 0 || index >= static_cast<int64_t>(metadata_.devices.size())) {
    report(DiagnosticKind::bad_metadata,
           format("the metadata section has {}, there is no meta[VirtualDevice][{}]",
                  plural(metadata_.devices.size(), "device", "devices"), index),
           place, "write the name of the device in its place: virtual_device=\"cpu:1\"");
  } else {
    *out = metadata_.devices[static_cast<size_t>(index)];
  }
  return true;
}

// virtual_device="cpu:1"}, after the brace behind a parameter's name.
bool Parser::param_device(std::string* out) {
  AttrValues attrs;
  while (at_attribute() && attribute(&attrs, nullptr)) accept(Tok::Comma);
  for (const auto& [name, value] : attrs) {
    const std::string* device = std::get_if<std::string>(&value);
    if (name == "virtual_device" && device)
      *out = *device;
    else
      report(DiagnosticKind::bad_attribute, format("a parameter has no attribute '{}' of this kind", name),
             span_from(last_end_), "it has one: {virtual_device=\"cpu:1\"}");
  }
  return expect(Tok::RBrace, "after the attributes of a parameter",
                "they have the form: %x {virtual_device=\"cpu:1\"}");
}

}  // namespace relay::text
