// Reading for an editor: the parser notes names, and goes on inside of a definition after a mistake in its syntax.
#include <algorithm>

#include "relay/text/parser.h"

namespace relay::text {

using namespace ir;

void Parser::note(const Token& token, const VarRef& var, NameKind kind, bool defines) {
  names_->note(token.begin, token.end, kind, var->name, var.get(), var, defines);
}

// --- the end of the text ---------------------------------------------------------------------------------------------

void Parser::note_situation() {
  if (std::exchange(noted_situation_, true)) return;
  Situation& out = reading_->end;
  out.in_definition = !functions_.empty();
  for (const auto& [name, stack] : locals_)
    if (!stack.empty()) out.variables.push_back(stack.back());
  for (const FunctionHead& head : functions_)  // whose parameters are not declared yet
    for (const VarRef& param : head.params)
      if (locals_[param->name].empty()) out.variables.push_back(param);
  std::sort(out.variables.begin(), out.variables.end(),
            [](const VarRef& a, const VarRef& b) { return a->name < b->name; });
  for (const auto& [number, value] : graphs_)
    if (value) out.graphs.emplace_back(number, value);
  std::sort(out.graphs.begin(), out.graphs.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = open_.size(); i-- > 0;) {
    const Entry& entry = open_[i];
    if (entry.open == Open::Binary || entry.open == Open::Paren) continue;
    if (entry.open != Open::Args) break;
    // The arguments before the one that is being read, which may have operands of its own.
    size_t count = operands_.size() - entry.base - 1;
    if (i + 1 < open_.size()) {
      count = open_[i + 1].base - entry.base - 1 - (open_[i + 1].open == Open::Binary ? 1 : 0);
    } else if (const char last = last_end_ ? source_->text[last_end_ - 1] : ' ';
               call_attributes_.empty() && last != ',' && last != '(' && count > 0) {
      --count;
    }
    out.call = Situation::Call{operands_[entry.base].expr, count, call_attributes_};
    break;
  }
}

// --- after a mistake -------------------------------------------------------------------------------------------------

void Parser::begin_broken() {
  if (broken_from_) return;
  broken_from_ = sink_.all().size();
  broken_type_uses_ = type_uses_.size();
}

// The definition ends here; diagnostics after its first mistake in syntax are consequences.
void Parser::end_broken(uint32_t end) {
  if (!broken_from_) return;
  DiagnosticSink kept;  // the others must not count towards its limit
  for (size_t i = 0; i < sink_.all().size(); ++i)  // the lexer may have looked at the next definition already
    if (i < *broken_from_ || sink_.all()[i].span.begin >= end) kept.report(sink_.all()[i]);
  sink_ = std::move(kept);
  reading_->broken.push_back({definition_begin_, end});
  type_uses_.resize(broken_type_uses_);
  broken_from_.reset();
}

// True where parse() would go on after a mistake, and in front of a function anywhere.
bool Parser::at_next_definition() {
  if (at(Tok::End)) return true;
  if (at_word("def") && peek(1).kind == Tok::Global) return true;
  const uint32_t begin = peek().begin;
  if (begin > 0 && source_->text[begin - 1] != '\n') return false;
  if (at_word("def")) return source_->text[peek().end] == ' ';
  if (at_word("import")) return peek(1).kind == Tok::String;
  return (at_word("type") || at_word("extern")) && peek(1).kind == Tok::Ident;
}

// Skips to a `;` or `}` that is not inside of brackets, to a `let` or `%0 =` that begins a line, or to the next
// definition.
void Parser::skip_step() {
  for (size_t depth = 0; !at_next_definition(); take()) {
    const Token& token = peek();
    const size_t line = source_->text.find_last_not_of(" \t\r", token.begin ? token.begin - 1 : 0);
    const bool begins_line = line == std::string::npos || source_->text[line] == '\n';
    if (begins_line &&
        ((at_word("let") && peek(1).kind == Tok::Local) || (token.kind == Tok::Graph && peek(1).kind == Tok::Equal)))
      return;
    switch (token.kind) {
      case Tok::LParen:
      case Tok::LBracket:
      case Tok::LBrace: ++depth; break;
      case Tok::RParen:
      case Tok::RBracket: depth -= depth > 0 ? 1 : 0; break;
      case Tok::RBrace:
        if (depth-- == 0) return;
        break;
      case Tok::Semicolon:
        if (depth == 0) return;
        break;
      default: break;
    }
  }
}

bool Parser::skip_to_body() {
  begin_broken();
  while (!at_next_definition() && !at(Tok::LBrace) && !at(Tok::Semicolon)) take();
  if (!accept(Tok::LBrace)) return false;
  for (const VarRef& param : functions_.back().params) declare(param);
  return true;
}

// The operands from this one on, as one value.
Expr Parser::taken_operands(size_t from) {
  Exprs values;
  for (size_t i = from; i < operands_.size(); ++i)
    if (!as<Op>(operands_[i].expr)) values.push_back(std::move(operands_[i].expr));
  if (from < operands_.size()) operands_.resize(from);
  if (values.empty()) return stand_in(span(peek()));
  return values.size() == 1 ? values[0] : ir::tuple(std::move(values), span(peek()));
}

// Operands of other constructs stay on the stack, for the construct around them.
void Parser::give_up_top() {
  const Entry entry = open_.back();
  switch (entry.open) {
    case Open::Let:
    case Open::LetBody: {
      Expr body = entry.open == Open::LetBody ? taken_operands(entry.base + 1) : stand_in(span(peek()));
      Expr value = taken_operands(entry.base);
      push_operand(let(lets_.back(), std::move(value), std::move(body), span(entry.begin, entry.begin)), entry.begin);
      lets_.pop_back();
      break;
    }
    case Open::Function:
      push_operand(taken_operands(entry.base), entry.begin);
      close_function();
      return;
    case Open::MatchData:
    case Open::MatchArm: {
      OpenMatch match = std::move(matches_.back());
      matches_.pop_back();
      if (!match.data) break;
      Expr last = taken_operands(entry.base);
      if (match.pattern) match.clauses.push_back({std::move(match.pattern), std::move(last)});
      Ref<Match> made(new Match(std::move(match.data), std::move(match.clauses), false));
      made->span = span(entry.begin, entry.begin);
      push_operand(std::move(made), entry.begin);
      break;
    }
    default: break;
  }
  open_.pop_back();
  leave_scopes(entry);
}

// The value of the step is on the operand stack.
Parser::Step Parser::next_step() {
  const Span place = span(peek());
  accept(Tok::Semicolon);
  Entry& top = open_.back();
  if (top.open == Open::Let) {
    leave_scopes(top);
    declare(lets_.back());
    top.open = Open::LetBody;
    return Step::Item;
  }
  if (top.open == Open::Graph) return bind_graph(top);
  return begin_sequence(operands_.back().begin, place);
}

Parser::Step Parser::resume(size_t outer) {
  begin_broken();
  if (at(Tok::End)) note_situation();
  skip_step();
  const bool ends_block = at(Tok::RBrace), ends_all = at_next_definition();
  auto continues = [&](Open open) {
    switch (open) {
      case Open::Let:
      case Open::LetBody:
      case Open::Graph: return !ends_block;
      case Open::Function:
      case Open::Brace:
      case Open::IfThen:
      case Open::IfElse:
      case Open::MatchArm:
      case Open::Root: return true;
      default: return false;
    }
  };
  while (open_.size() - 1 > outer && (ends_all || !continues(open_.back().open))) give_up_top();
  const Entry& top = open_.back();
  const size_t before = top.open == Open::IfElse ? 2 : top.open == Open::IfThen || top.open == Open::LetBody ? 1 : 0;
  push_operand(taken_operands(top.base + before), peek().begin);
  if (ends_all) {
    if (top.open == Open::Function) close_function();
    return Step::Done;
  }
  if (!ends_block) return next_step();
  // The pattern of a clause may be what is missing.
  if (top.open == Open::MatchArm && !matches_.back().pattern) matches_.back().pattern = Pattern(new PatternNode);
  return Step::After;
}

// --- the entry point -------------------------------------------------------------------------------------------------

void Parser::read(Reading* out) {
  reading_ = out;
  names_.emplace(&out->names);
  read_module();
  names_->finish();
  out->diagnostics = all_errors();
  out->module = std::move(module_);
}

}  // namespace relay::text
