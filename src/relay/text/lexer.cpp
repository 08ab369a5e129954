#include "relay/text/lexer.h"

#include <algorithm>

#include "relay/base/fuzzing.h"

namespace relay::text {

const char* describe(Tok kind) {
  switch (kind) {
    case Tok::End: return "the end of the text";
    case Tok::Error: return "an unreadable character";
    case Tok::Ident: return "an identifier";
    case Tok::Local: return "a local variable";
    case Tok::Graph: return "a graph variable";
    case Tok::Global: return "a global variable";
    case Tok::Number: return "a number";
    case Tok::String: return "a string";
    case Tok::LParen: return "'('";
    case Tok::RParen: return "')'";
    case Tok::LBracket: return "'['";
    case Tok::RBracket: return "']'";
    case Tok::LBrace: return "'{'";
    case Tok::RBrace: return "'}'";
    case Tok::Comma: return "','";
    case Tok::Dot: return "'.'";
    case Tok::Equal: return "'='";
    case Tok::Semicolon: return "';'";
    case Tok::Colon: return "':'";
    case Tok::Plus: return "'+'";
    case Tok::Minus: return "'-'";
    case Tok::Star: return "'*'";
    case Tok::Slash: return "'/'";
    case Tok::Percent: return "'%'";
    case Tok::Less: return "'<'";
    case Tok::LessEqual: return "'<='";
    case Tok::Greater: return "'>'";
    case Tok::GreaterEqual: return "'>='";
    case Tok::EqualEqual: return "'=='";
    case Tok::NotEqual: return "'!='";
    case Tok::Arrow: return "'->'";
    case Tok::FatArrow: return "'=>'";
    case Tok::Question: return "'?'";
    case Tok::Hash: return "'#'";
    case Tok::Comment: return "a comment";
  }
  return "";
}

size_t find_metadata(const std::string& text) {
  for (size_t at = text.rfind(metadata_mark); at != std::string::npos;
       at = at == 0 ? std::string::npos : text.rfind(metadata_mark, at - 1))
    if (at == 0 || text[at - 1] == '\n') return at;
  return text.size();
}

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// The text may be read twice (types first): errors are reported only once.
Token Lexer::error(uint32_t begin, std::string message, std::string help) {
  if (begin < reported_to_) return {Tok::Error, begin, at_};
  reported_to_ = begin + 1;
  sink_.report(Diagnostic{.kind = DiagnosticKind::syntax,
                          .message = std::move(message),
                          .span = {source_, begin, at_, {}},
                          .help = std::move(help)});
  return {Tok::Error, begin, at_};
}

bool Lexer::skip_space() {
  while (at_ < text_.size()) {
    char c = text_[at_];
    if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '/') {
      const uint32_t begin = at_;
      const size_t end = text_.find('\n', at_);
      at_ = static_cast<uint32_t>(end == std::string_view::npos ? text_.size() : end);
      if (comments_) comments_->push_back({Tok::Comment, begin, at_});
    } else if (c == '/' && at_ + 1 < text_.size() && text_[at_ + 1] == '*') {
      uint32_t begin = at_;
      size_t depth = 0;
      do {
        std::string_view rest = text_.substr(at_);
        if (RELAY_REFUSES(rest.size() < 2)) {
          at_ = begin + 2;
          error(begin, "this comment is not closed", "close it with */");
          at_ = text_.size();
          return false;
        }
        if (rest[0] == '/' && rest[1] == '*') {
          ++depth, at_ += 2;
        } else if (rest[0] == '*' && rest[1] == '/') {
          --depth, at_ += 2;
        } else {
          ++at_;
        }
      } while (depth > 0);
      if (comments_) comments_->push_back({Tok::Comment, begin, at_});
    } else {
      return true;
    }
  }
  return true;
}

// digits [. digits] [e [+-] digits] and a suffix of letters and digits; the parser checks the suffix.
Token Lexer::number(uint32_t begin) {
  while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  if (after_dot_) return {Tok::Number, begin, at_};
  if (at_ + 1 < text_.size() && text_[at_] == '.' && is_digit(text_[at_ + 1])) {
    ++at_;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  } else if (at_ < text_.size() && text_[at_] == '.' &&
             (at_ + 1 == text_.size() || !is_letter(text_[at_ + 1]) || text_[at_ + 1] == 'f')) {
    ++at_;  // "1." and "1.f"
  }
  if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
    uint32_t digits = at_ + 1;
    if (digits < text_.size() && (text_[digits] == '+' || text_[digits] == '-')) ++digits;
    if (digits < text_.size() && is_digit(text_[digits])) at_ = digits;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
  }
  while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
  return {Tok::Number, begin, at_};
}

// Reads from the opening quote at at_ to the closing one. A backslash keeps the next character from ending the string.
Token Lexer::quoted(uint32_t begin, Tok kind) {
  for (++at_; at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n'; ++at_)
    if (text_[at_] == '\\' && at_ + 1 < text_.size() && text_[at_ + 1] != '\n') ++at_;
  if (at_ >= text_.size() || text_[at_] != '"') {
    at_ = std::min<size_t>(at_, text_.size());
    return error(begin, "this string is not closed", "close it with \" on the same line");
  }
  ++at_;
  return {kind, begin, at_};
}

Token Lexer::scan() {
  if (!skip_space()) return {Tok::End, at_, at_};
  uint32_t begin = at_;
  if (at_ >= text_.size()) return {Tok::End, begin, begin};
  char c = text_[at_];
  char next = at_ + 1 < text_.size() ? text_[at_ + 1] : '\0';
  if (is_digit(c)) {
    Token token = number(begin);
    after_dot_ = false;
    return token;
  }
  after_dot_ = c == '.';
  if (is_letter(c)) {
    while (at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_]))) ++at_;
    return {Tok::Ident, begin, at_};
  }
  if (c == '%' || c == '@') {
    ++at_;
    if (c == '%' && is_digit(next)) {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      return {Tok::Graph, begin, at_};
    }
    auto part_of_name = [&](size_t i) {
      return is_letter(text_[i]) || is_digit(text_[i]) ||
             // '/' belongs to a name unless it starts a comment.
             (text_[i] == '/' && !(i + 1 < text_.size() && (text_[i + 1] == '/' || text_[i + 1] == '*')));
    };
    if (is_letter(next)) {
      while (at_ < text_.size() && part_of_name(at_)) ++at_;
      return {c == '%' ? Tok::Local : Tok::Global, begin, at_};
    }
    if (next == '"') return quoted(begin, c == '%' ? Tok::Local : Tok::Global);
    if (c == '%') return {Tok::Percent, begin, at_};
    return error(begin, "'@' must be followed by the name of a global", "names of functions are written @main");
  }
  if (c == '"') return quoted(begin, Tok::String);
  auto two = [&](Tok kind) { return at_ += 2, Token{kind, begin, at_}; };
  auto one = [&](Tok kind) { return ++at_, Token{kind, begin, at_}; };
  switch (c) {
    case '(': return one(Tok::LParen);
    case ')': return one(Tok::RParen);
    case '[': return one(Tok::LBracket);
    case ']': return one(Tok::RBracket);
    case '{': return one(Tok::LBrace);
    case '}': return one(Tok::RBrace);
    case ',': return one(Tok::Comma);
    case '.': return one(Tok::Dot);
    case ';': return one(Tok::Semicolon);
    case ':': return one(Tok::Colon);
    case '+': return one(Tok::Plus);
    case '*': return one(Tok::Star);
    case '/': return one(Tok::Slash);
    case '?': return one(Tok::Question);
    case '#': return one(Tok::Hash);
    case '-': return next == '>' ? two(Tok::Arrow) : one(Tok::Minus);
    case '=': return next == '=' ? two(Tok::EqualEqual) : next == '>' ? two(Tok::FatArrow) : one(Tok::Equal);
    case '<': return next == '=' ? two(Tok::LessEqual) : one(Tok::Less);
    case '>': return next == '=' ? two(Tok::GreaterEqual) : one(Tok::Greater);
    case '!':
      if (next == '=') return two(Tok::NotEqual);
      break;
    default: break;
  }
  ++at_;
  while (at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80)
    ++at_;  // the rest of a UTF-8 character
  bool printable = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
  return error(begin,
               printable ? format("'{}' is not a part of a Relay program", text_.substr(begin, at_ - begin))
                         : format("the byte 0x{:02x} is not a part of a Relay program", static_cast<unsigned char>(c)),
               "remove it; names with other characters are quoted: %\"input.1\"");
}

}  // namespace relay::text
