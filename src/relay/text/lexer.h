// The lexer: tokens of a Relay text, one at a time, with their places.
//
//   %0 = nn.dense(%x, 1.5f)    is    Graph Equal Ident Dot Ident LParen Local Comma Number RParen
//
// Names after `%` and `@` may contain '/' and '.' is never part of a name; bare identifiers have no '/', so that `m/2`
// is a division. Any other name is quoted: %"input.1". Comments are `// ...` and nested `/* ... */`. Keywords are
// identifiers that the parser recognises.
#pragma once

#include "relay/base/diagnostics.h"

namespace relay::text {

enum class Tok : uint8_t {
  End,
  Error,
  Ident,
  Local,
  Graph,
  Global,
  Number,
  String,
  LParen,
  RParen,
  LBracket,
  RBracket,
  LBrace,
  RBrace,
  Comma,
  Dot,
  Equal,
  Semicolon,
  Colon,
  Plus,
  Minus,
  Star,
  Slash,
  Percent,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  EqualEqual,
  NotEqual,
  Arrow,
  FatArrow,
  Question,
  Hash,
  Comment  // only among the comments that a lexer is told to keep
};
const char* describe(Tok kind);  // "','", "an identifier": for "expected ..., found ..."

struct Token {
  Tok kind = Tok::End;
  uint32_t begin = 0, end = 0;
};

// The beginning of the metadata section, a line `#[metadata]`, where a program's tokens end; the size of the text if it
// has none.
constexpr std::string_view metadata_mark = "#[metadata]";
size_t find_metadata(const std::string& text);

class Lexer {
 public:
  // Reads text[0, limit); a character sequence that is not a token is reported once and becomes Tok::Error.
  Lexer(std::shared_ptr<const Source> source, size_t limit, DiagnosticSink& sink)
      : source_(std::move(source)), text_(std::string_view(source_->text).substr(0, limit)), sink_(sink) {}

  const Token& peek(size_t ahead = 0) {
    while (filled_ <= ahead) buffer_[filled_++] = scan();
    return buffer_[ahead];
  }
  Token take() {
    Token token = peek();
    for (size_t i = 1; i < filled_; ++i) buffer_[i - 1] = buffer_[i];
    --filled_;
    return token;
  }
  std::string_view text(const Token& token) const { return text_.substr(token.begin, token.end - token.begin); }
  // Appends all comments that are read from now on; unset, they are dropped.
  void keep_comments(std::vector<Token>* comments) { comments_ = comments; }
  // Continues at `offset`, dropping the lookahead.
  void seek(uint32_t offset) { at_ = offset, filled_ = 0, after_dot_ = false; }

 private:
  Token scan();
  bool skip_space();  // false after an unterminated comment, which is reported
  Token number(uint32_t begin);
  Token quoted(uint32_t begin, Tok kind);
  Token error(uint32_t begin, std::string message, std::string help);

  std::shared_ptr<const Source> source_;
  std::string_view text_;
  DiagnosticSink& sink_;
  uint32_t at_ = 0;
  uint32_t reported_to_ = 0;
  bool after_dot_ = false;  // in %x.0.1 the projections are two integers, not one float
  std::vector<Token>* comments_ = nullptr;
  Token buffer_[4];
  size_t filled_ = 0;
};

}  // namespace relay::text
