// Expressions. Nothing here recurses: every open construct is an Entry on open_, every value without a user yet is on
// operands_, and the loop of expression() is in one of three states:
//
//   Item     a sequence begins: `let`, `%0 = ...`, `{ ... }`, `free_var`, or an operand
//   Operand  a value is required: a literal, a variable, `(`, `fn`, `if`, ...
//   After    a value has been read: `(args)`, `.0`, an infix operator, or the end of the innermost open construct
#include <algorithm>
#include <charconv>

#include "relay/op/registry.h"
#include "relay/text/from_tvm.h"
#include "relay/text/parser.h"

namespace relay::text {

using namespace ir;

// The forms of constructs, for messages.
static constexpr const char *let_form = "a let has the form: let %x = value; body",
                            *function_form = "a function has the form: fn (%x: int32) -> int32 { body }",
                            *if_form = "an if has the form: if (c) { a } else { b }",
                            *match_form = "a match has the form: match (x) { pattern => value, pattern => value }",
                            *write_form = "it has the form: ref_write(reference, value)",
                            *two_expressions = "put ';' between two expressions, or an operator";

template <class T, class... Args>
static Expr make_expr(Span span, Args&&... args) {
  T* node = new T(std::forward<Args>(args)...);
  Expr result(node);
  node->span = std::move(span);
  return result;
}

bool Parser::expression(Expr* out) {
  push(Open::Root, peek().begin);
  return run(Step::Item, open_.size() - 1, out);
}

// Runs until the entry at `outer` is closed (Root stays and is popped here); returns its value.
bool Parser::run(Step step, size_t outer, Expr* out) {
  Entry first = open_[outer];
  while (step != Step::Done && step != Step::Failed) {
    switch (step) {
      case Step::Item: step = item(); break;
      case Step::Operand: step = operand(); break;
      default: step = after(); break;
    }
    if (step == Step::Failed && reading_) step = resume(outer);
  }
  if (step == Step::Done) {
    *out = std::move(operands_.back().expr);
  } else {
    functions_.clear(), lets_.clear(), matches_.clear();
  }
  operands_.resize(first.base);
  leave_scopes(first);
  open_.resize(outer);
  return step == Step::Done;
}

// --- scopes ----------------------------------------------------------------------------------------------------------

void Parser::push(Open open, uint32_t begin) {
  open_.push_back(Entry{.open = open,
                        .begin = begin,
                        .base = static_cast<uint32_t>(operands_.size()),
                        .locals = static_cast<uint32_t>(declared_.size()),
                        .graphs = static_cast<uint32_t>(hidden_graphs_.size())});
}

void Parser::declare(const VarRef& var) {
  std::vector<VarRef>& stack = locals_[var->name];
  stack.push_back(var);
  declared_.push_back(&stack);
}

void Parser::leave_scopes(const Entry& entry) {
  for (; declared_.size() > entry.locals; declared_.pop_back()) declared_.back()->pop_back();
  for (; hidden_graphs_.size() > entry.graphs; hidden_graphs_.pop_back())
    graphs_[hidden_graphs_.back().first] = hidden_graphs_.back().second;
}

Expr Parser::stand_in(const Span& span) const {
  if (reading_) return var("", {}, span);  // of unknown type
  return ir::tuple({}, span);
}
bool Parser::is_stand_in(const Expr& expr) const {
  const Var* var = as<Var>(expr);
  return as<Tuple>(expr) || (var && var->name.empty() && reading_);
}

Parser::Step Parser::push_operand(Expr expr, uint32_t begin) {
  operands_.push_back({std::move(expr), begin});
  return Step::After;
}

// --- Item ------------------------------------------------------------------------------------------------------------

Parser::Step Parser::item() {
  Token token = peek();
  if (token.kind == Tok::Graph && peek(1).kind == Tok::Equal) {
    take();
    take();
    push(Open::Graph, token.begin);
    std::string_view digits = lexer_.text(token).substr(1);
    if (std::from_chars(digits.data(), digits.data() + digits.size(), open_.back().number).ec != std::errc())
      report(DiagnosticKind::bad_literal, "the number of this graph variable is too large", span(token),
             "number them from %0");
    if (names_) names_->define_graph(token.begin, token.end, open_.back().number);
    return Step::Operand;
  }
  if (at_word("let") && peek(1).kind == Tok::Local) return begin_let();
  if (at_word("free_var") && peek(1).kind == Tok::Local) {
    take();
    Token name = take();
    Type annotation;
    if (accept(Tok::Colon) && !(annotation = type())) return Step::Failed;
    if (!expect(Tok::Semicolon, "after the declaration of a free variable", "it has the form: free_var %x: int32; ..."))
      return Step::Failed;
    const VarRef declared = var(name_of(name), annotation, span(name));
    if (names_) note(name, declared, NameKind::Parameter, true);
    declare(declared);
    return Step::Item;
  }
  return Step::Operand;
}

// let %x: T = ...; the variable is visible in its own value only if that is a function.
Parser::Step Parser::begin_let() {
  Token word = take();
  Token name = take();
  Type annotation;
  if (accept(Tok::Colon) && !(annotation = type())) return Step::Failed;
  if (!expect(Tok::Equal, "after the variable of a let", let_form)) return Step::Failed;
  push(Open::Let, word.begin);
  lets_.push_back(var(name_of(name), annotation, span(name)));
  if (names_) note(name, lets_.back(), NameKind::Variable, true);
  if (at_word("fn")) declare(lets_.back());
  return Step::Operand;
}

// --- functions -------------------------------------------------------------------------------------------------------

// [A](%x: T, Primitive=1) -> R { ; on top of its entry. The body's scope begins here.
bool Parser::function_head(FunctionHead* head) {
  open_scope();
  if (!type_params(&head->type_params) || !expect(Tok::LParen, "before the parameters", function_form)) return false;
  AttrValues attrs;
  Strings devices;  // of the parameters
  std::set<std::string> names;
  while (!at(Tok::RParen)) {
    if (at_attribute()) {
      if (!attribute(&attrs, nullptr)) return false;
    } else {
      if (!at(Tok::Local)) return unexpected("a parameter such as %x", function_form);
      Token name = take();
      devices.emplace_back();
      if (accept(Tok::LBrace) && !param_device(&devices.back())) return false;
      Type annotation;
      const bool good = !accept(Tok::Colon) || (annotation = type());
      head->params.push_back(var(name_of(name), annotation, span(name)));
      if (names_) note(name, head->params.back(), NameKind::Parameter, true);
      if (!good) return false;
      if (!names.insert(head->params.back()->name).second)
        report_twice(format("two parameters are named %{}", head->params.back()->name), span(name),
                     (*std::find_if(head->params.begin(), head->params.end(), [&](const VarRef& p) {
                       return p->name == head->params.back()->name;
                     }))->span);
    }
    if (!accept(Tok::Comma) && !at_attribute()) break;
  }
  if (!expect(Tok::RParen, "after the parameters", function_form)) return false;
  if (accept(Tok::Arrow) && !(head->result = type())) return false;
  if (!expect(Tok::LBrace, "before the body of a function", function_form)) return false;
  for (auto& [key, value] : attrs) head->attrs.emplace(key, std::move(value));
  if (std::any_of(devices.begin(), devices.end(), [](const std::string& device) { return !device.empty(); }))
    head->attrs["param_virtual_devices"] = std::move(devices);
  for (const VarRef& param : head->params) declare(param);
  return true;
}

// --- After -----------------------------------------------------------------------------------------------------------

static int precedence(Tok kind) {
  switch (kind) {
    case Tok::Star:
    case Tok::Slash: return 12;
    case Tok::Plus:
    case Tok::Minus: return 10;
    case Tok::Less:
    case Tok::LessEqual:
    case Tok::Greater:
    case Tok::GreaterEqual: return 8;
    case Tok::EqualEqual:
    case Tok::NotEqual: return 7;
    default: return 0;
  }
}

static const char* infix_operator(Tok kind) {
  switch (kind) {
    case Tok::Star: return "multiply";
    case Tok::Slash: return "divide";
    case Tok::Plus: return "add";
    case Tok::Minus: return "subtract";
    case Tok::Less: return "less";
    case Tok::LessEqual: return "less_equal";
    case Tok::Greater: return "greater";
    case Tok::GreaterEqual: return "greater_equal";
    case Tok::EqualEqual: return "equal";
    default: return "not_equal";
  }
}

Parser::Step Parser::after() {
  Token token = peek();
  if (token.kind == Tok::LParen) {
    take();
    push(Open::Args, operands_.back().begin);
    open_.back().base -= 1;  // the callee
    if (at(Tok::RParen) || at_attribute()) return finish_call();
    return Step::Item;
  }
  if (token.kind == Tok::Dot) {
    take();
    Token number = peek();
    std::string_view digits = lexer_.text(number);
    int64_t index = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, index);
    if (number.kind != Tok::Number || stop != end)
      return unexpected("the index of a tuple field", "tuple fields are accessed by number: %x.0"), Step::Failed;
    if (error != std::errc()) {
      report(DiagnosticKind::bad_literal,
             format("{} is too large for the index of a tuple field", digits.substr(0, 40)), span(number),
             "fields are numbered from .0");
      return Step::Failed;
    }
    take();
    Operand& top = operands_.back();
    top.expr = get(std::move(top.expr), index, span_from(top.begin));
    return Step::After;
  }
  if (int level = precedence(token.kind)) {
    while (open_.back().open == Open::Binary && open_.back().precedence >= level) reduce_binary();
    take();
    push(Open::Binary, token.begin);
    open_.back().precedence = static_cast<uint8_t>(level);
    open_.back().op = token.kind;
    return Step::Operand;
  }
  while (open_.back().open == Open::Binary) reduce_binary();
  while (open_.back().open == Open::LetBody && token.kind != Tok::Semicolon) reduce_let();
  return close(token);
}

void Parser::reduce_binary() {
  Entry entry = open_.back();
  open_.pop_back();
  Operand right = std::move(operands_.back());
  operands_.pop_back();
  Operand& left = operands_.back();
  std::string_view name = infix_operator(entry.op);
  auto known = operators_.find(name);
  Expr callee = known != operators_.end() ? known->second : operator_node(name, span(entry.begin, entry.begin + 1));
  if (names_) {
    const uint32_t end = entry.begin + static_cast<uint32_t>(std::string_view(describe(entry.op)).size() - 2);
    names_->note(entry.begin, end, NameKind::Operator, name, callee.get(), callee, false);
  }
  left.expr = ir::call(std::move(callee), {left.expr, std::move(right.expr)}, {}, span_from(left.begin));
  if (names_) names_->note_call(entry.begin, left.expr);
}

// The operands on top are the value of a let and its body.
void Parser::reduce_let() {
  Entry entry = open_.back();
  open_.pop_back();
  Operand body = std::move(operands_.back());
  operands_.pop_back();
  Operand& value = operands_.back();
  value.expr = let(lets_.back(), value.expr, std::move(body.expr), span(entry.begin, body.begin));
  value.begin = entry.begin;
  lets_.pop_back();
  leave_scopes(entry);
}

// name(a, b, key=value): the arguments are on the operand stack; at an attribute or the closing parenthesis.
Parser::Step Parser::finish_call() {
  Entry entry = open_.back();
  AttrValues attrs;
  std::vector<Span> spans;
  call_attributes_.clear();
  while (at_attribute()) {
    if (!attribute(&attrs, &spans)) return Step::Failed;
    if (!accept(Tok::Comma) && !at_attribute()) break;
  }
  if (!expect(Tok::RParen, "after the arguments of a call",
              attrs.empty() ? "close the call with ')', or put ',' between two arguments"
                            : "attributes such as axis=1 come after all arguments"))
    return Step::Failed;
  Exprs args;
  args.reserve(operands_.size() - entry.base - 1);
  for (size_t i = entry.base + 1; i < operands_.size(); ++i) args.push_back(std::move(operands_[i].expr));
  operands_.resize(entry.base + 1);
  Operand& callee = operands_.back();
  callee.expr = call_expr(callee, std::move(args), &attrs, spans, span_from(entry.begin));
  callee.begin = entry.begin;
  if (names_) names_->note_call(entry.begin, callee.expr);
  call_attributes_.clear();
  open_.pop_back();
  return Step::After;
}

Expr Parser::call_expr(const Operand& callee, Exprs args, const AttrValues* given, const std::vector<Span>& spans,
                       Span span) {
  const Op* op = as<Op>(callee.expr);
  AttrValues values;
  for (const auto& value : *given)
    if (value.first != "attrs_type_key") values.push_back(value);
  if (!op) {
    if (!values.empty() && !(is_stand_in(callee.expr) && sink_.has_errors()))
      report(DiagnosticKind::bad_attribute,
             format("'{}' is given, but only calls of operators have attributes", values[0].first), spans[0],
             "pass it as an argument, without a name");
    return ir::call(callee.expr, std::move(args), {}, std::move(span));
  }
  args = in_operator_order(*op->def, std::move(args));
  Result<Attrs> attrs = op::attributes(*op->def, values, span);
  if (attrs) return ir::call(callee.expr, std::move(args), *std::move(attrs), std::move(span));
  for (Diagnostic d : attrs.errors()) {
    for (size_t i = 0; i < given->size(); ++i)
      if (d.message.find("'" + (*given)[i].first + "'") != std::string::npos) d.span = spans[i];
    sink_.report(std::move(d));
  }
  if (reading_) return ir::call(stand_in(span), std::move(args), {}, span);  // not typed with other attributes
  return ir::call(callee.expr, std::move(args), {}, std::move(span));
}

Parser::Step Parser::begin_block(Open open, uint32_t begin, std::string_view context, const char* form) {
  if (!expect(Tok::LBrace, context, form)) return Step::Failed;
  open_.back().open = open;
  open_.back().begin = begin;
  return Step::Item;
}

Parser::Step Parser::begin_arm() {
  pattern_vars_.clear();
  Pattern p = pattern();
  if (!p || !expect(Tok::FatArrow, "after the pattern", match_form)) return Step::Failed;
  matches_.back().pattern = std::move(p);
  return Step::Item;
}

Parser::Step Parser::finish_function() {
  take();
  const bool is_global = functions_.back().is_global;
  close_function();
  return is_global ? Step::Done : Step::After;
}

// The function whose head and body were read becomes an operand.
void Parser::close_function() {
  Entry entry = open_.back();
  open_.pop_back();
  FunctionHead head = std::move(functions_.back());
  functions_.pop_back();
  Operand body = std::move(operands_.back());
  operands_.pop_back();
  leave_scopes(entry);
  close_scope();
  FunctionRef f = function(std::move(head.params), std::move(body.expr), std::move(head.result),
                           std::move(head.type_params), std::move(head.attrs), span_from(entry.begin));
  push_operand(f, entry.begin);
}

Parser::Step Parser::close_graph(Entry& top) {
  if (!expect(Tok::Semicolon, "after the value of a graph variable", "it has the form: %0 = value; ..."))
    return Step::Failed;
  return bind_graph(top);
}

// The value of a graph variable is on the operand stack.
Parser::Step Parser::bind_graph(Entry& top) {
  Expr& bound = graphs_[top.number];
  if (bound) hidden_graphs_.emplace_back(top.number, bound);
  if (names_) names_->bind_graph(top.number, operands_.back().expr);
  const uint32_t begin = top.begin;
  bound = operands_.back().expr;
  open_.pop_back();
  // For an editor, values without a use have types too.
  if (reading_ && !as<Op>(bound) && !as<Constructor>(bound)) {
    begin_sequence(begin, span(begin, begin));
    open_.back().graph = true;
    return Step::Item;
  }
  operands_.pop_back();
  return Step::Item;
}

// A value is on the operand stack that is computed before the next step.
Parser::Step Parser::begin_sequence(uint32_t begin, const Span& place) {
  push(Open::LetBody, begin);
  open_.back().base -= 1;
  lets_.push_back(var("_", {}, place));
  return Step::Item;
}

Parser::Step Parser::close_paren(Entry& top, bool comma) {
  if (comma) {
    take();
    top.comma = true;
    if (!at(Tok::RParen)) return Step::Item;
  }
  if (!expect(Tok::RParen, "after an expression in parentheses",
              "close it with ')', or put ',' between the fields of a tuple"))
    return Step::Failed;
  Entry entry = top;
  open_.pop_back();
  if (entry.comma) {
    Exprs elements;
    for (size_t i = entry.base; i < operands_.size(); ++i) elements.push_back(std::move(operands_[i].expr));
    operands_.resize(entry.base);
    push_operand(make_expr<Tuple>(span_from(entry.begin), std::move(elements)), entry.begin);
  }
  operands_.back().begin = entry.begin;
  return Step::After;
}

Parser::Step Parser::close_if(Entry& top) {
  if (!expect(Tok::RBrace, "after the second branch of an if", two_expressions)) return Step::Failed;
  Entry entry = top;
  open_.pop_back();
  leave_scopes(entry);
  Exprs three;
  for (size_t i = entry.base; i < operands_.size(); ++i) three.push_back(std::move(operands_[i].expr));
  operands_.resize(entry.base);
  return push_operand(if_(three[0], three[1], three[2], span_from(entry.begin)), entry.begin);
}

Parser::Step Parser::close_ref(Entry& top) {
  if (!expect(Tok::RParen, "after the operand", "ref and ref_read take one operand: ref(%x), ref_read(%r)"))
    return Step::Failed;
  Entry entry = top;
  open_.pop_back();
  Operand& value = operands_.back();
  Expr made = entry.open == Open::RefCreate ? make_expr<RefCreate>(span_from(entry.begin), value.expr)
                                            : make_expr<RefRead>(span_from(entry.begin), value.expr);
  value = {std::move(made), entry.begin};
  return Step::After;
}

Parser::Step Parser::close_write(Entry& top) {
  if (operands_.size() - top.base == 1)
    return expect(Tok::Comma, "between a reference and the value to write", write_form) ? Step::Item : Step::Failed;
  if (!expect(Tok::RParen, "after the operands of ref_write", write_form)) return Step::Failed;
  Entry entry = top;
  open_.pop_back();
  Expr value = std::move(operands_.back().expr);
  operands_.pop_back();
  Operand& ref = operands_.back();
  ref = {make_expr<RefWrite>(span_from(entry.begin), ref.expr, std::move(value)), entry.begin};
  return Step::After;
}

Parser::Step Parser::close_arm(Entry& top) {
  OpenMatch& match = matches_.back();
  match.clauses.push_back({std::move(match.pattern), std::move(operands_.back().expr)});
  operands_.pop_back();
  leave_scopes(top);
  if (accept(Tok::Comma) && !at(Tok::RBrace)) return begin_arm();
  if (!expect(Tok::RBrace, "after the clauses of a match", match_form)) return Step::Failed;
  Entry entry = top;
  open_.pop_back();
  Expr made = make_expr<Match>(span_from(entry.begin), std::move(match.data), std::move(match.clauses), match.complete);
  matches_.pop_back();
  return push_operand(std::move(made), entry.begin);
}

Parser::Step Parser::close(const Token& next) {
  Entry& top = open_.back();
  bool semicolon = next.kind == Tok::Semicolon, comma = next.kind == Tok::Comma;
  switch (top.open) {
    case Open::Let:
      if (!expect(Tok::Semicolon, "after the value of a let", let_form)) return Step::Failed;
      leave_scopes(top);
      declare(lets_.back());
      top.open = Open::LetBody;
      return Step::Item;
    case Open::Graph: return close_graph(top);
    default: break;
  }
  if (semicolon && top.open != Open::MatchData) {  // e1; e2
    const Span place = span(next);
    take();
    return begin_sequence(operands_.back().begin, place);
  }
  switch (top.open) {
    case Open::Root: return Step::Done;
    case Open::Paren: return close_paren(top, comma);
    case Open::Args:
      if (comma) {
        take();
        if (!at(Tok::RParen) && !at_attribute()) return Step::Item;
      }
      return finish_call();
    case Open::Brace: {
      if (!expect(Tok::RBrace, "after a block", two_expressions)) return Step::Failed;
      Entry entry = top;
      open_.pop_back();
      leave_scopes(entry);
      return Step::After;
    }
    case Open::Function:
      if (next.kind != Tok::RBrace)
        return unexpected("'}' after the body of a function",
                          next.kind == Tok::End ? "every '{' needs its '}'" : two_expressions),
               Step::Failed;
      return finish_function();
    case Open::IfCondition:
      if (!expect(Tok::RParen, "after the condition of an if", if_form)) return Step::Failed;
      return begin_block(Open::IfThen, top.begin, "before the first branch of an if", if_form);
    case Open::IfThen:
      if (!expect(Tok::RBrace, "after the first branch of an if", two_expressions)) return Step::Failed;
      leave_scopes(top);
      if (!at_word("else")) return unexpected("'else'", if_form), Step::Failed;
      take();
      return begin_block(Open::IfElse, top.begin, "before the second branch of an if", if_form);
    case Open::IfElse: return close_if(top);
    case Open::RefCreate:
    case Open::RefRead: return close_ref(top);
    case Open::RefWrite: return close_write(top);
    case Open::MatchData:
      matches_.back().data = std::move(operands_.back().expr);
      operands_.pop_back();
      if (begin_block(Open::MatchArm, top.begin, "before the clauses of a match", match_form) == Step::Failed)
        return Step::Failed;
      return begin_arm();
    case Open::MatchArm: return close_arm(top);
    default: break;
  }
  RELAY_CHECK(false, "an open construct was not closed");
  return Step::Failed;
}

}  // namespace relay::text
