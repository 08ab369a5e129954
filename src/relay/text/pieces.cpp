#include "relay/text/pieces.h"

#include <algorithm>

namespace relay::text {

std::vector<Piece> pieces_of(const std::shared_ptr<const Source>& source, size_t limit, DiagnosticSink& sink) {
  std::vector<Token> comments;
  Lexer lexer(source, limit, sink);
  lexer.keep_comments(&comments);
  std::vector<Piece> out;
  uint32_t end = 0;
  auto add = [&](const Token& token) {
    const std::string_view between = std::string_view(source->text).substr(end, token.begin - end);
    const auto newlines = std::min<ptrdiff_t>(2, std::count(between.begin(), between.end(), '\n'));
    out.push_back({token.kind, token.begin, token.end, static_cast<uint8_t>(newlines)});
    end = token.end;
  };
  for (bool more = true; more;) {
    const Token token = lexer.take();
    for (const Token& comment : comments) add(comment);
    comments.clear();
    more = token.kind != Tok::End;
    if (more) add(token);
  }
  return out;
}

namespace {

class Measuring {
 public:
  using Role = Measured::Role;

  Measuring(std::string_view text, const std::vector<Piece>& pieces)
      : text_(text), pieces_(pieces), out_(pieces.size() + 1) {}

  std::vector<Measured> run() {
    for (size_t i = 0; i < pieces_.size(); ++i) find_role(i);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      out_[i].blank = i > 0 && needs_blank(i);
      out_[i + 1].before = out_[i].before + width(i);
      out_[i + 1].breaks = out_[i].breaks + (forces_break(i) ? 1 : 0);
    }
    for (size_t i = pieces_.size(); i-- > 0;) out_[i].tail = tail(i);
    return std::move(out_);
  }

 private:
  std::string_view text(size_t i) const { return text_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin); }
  Tok kind(size_t i) const { return i < pieces_.size() ? pieces_[i].kind : Tok::End; }
  Tok before(size_t i, size_t by = 1) const { return i < by ? Tok::End : pieces_[i - by].kind; }
  bool is_word(size_t i, std::string_view word) const { return kind(i) == Tok::Ident && text(i) == word; }

  // --- roles -----------------------------------------------------------------------------------------------------
  void find_role(size_t i) {
    Role& role = out_[i].role;
    switch (pieces_[i].kind) {
      case Tok::Comment: role = comment_role(i); break;
      case Tok::LParen:
      case Tok::LBracket: role = Role::Open, open_.push_back({i}); break;
      case Tok::LBrace:
        role = is_attribute(i + 1) ? Role::Open : Role::Block;
        out_[i].forced = role == Role::Block && breaks_after(i);
        open_.push_back({i});
        break;
      case Tok::RParen:
      case Tok::RBracket:
      case Tok::RBrace:
        role = Role::Close;
        if (open_.empty()) break;
        out_[i].partner = static_cast<uint32_t>(open_.back().piece);
        out_[open_.back().piece].partner = static_cast<uint32_t>(i);
        open_.pop_back();
        break;
      case Tok::Comma:
      case Tok::Semicolon: role = Role::Separator; break;
      case Tok::Ident:
        if (is_word(i, "let")) (open_.empty() ? top_ : open_.back()).binds = true;
        if (open_.empty() && starts_definition(i)) role = Role::Definition;
        break;
      case Tok::Equal: find_binding(i); break;
      default:
        if (is_infix(i)) role = Role::Infix;
    }
  }

  Role comment_role(size_t i) const {
    const bool begins_line = i == 0 || pieces_[i].newlines > 0;
    if (begins_line && (i + 1 == pieces_.size() || pieces_[i + 1].newlines > 0)) return Role::OwnLine;
    return text(i)[1] == '/' ? Role::LineComment : Role::Comment;
  }

  bool starts_definition(size_t i) const {
    if (is_word(i, "def")) return kind(i + 1) == Tok::Global;
    if (is_word(i, "import")) return kind(i + 1) == Tok::String;
    if (is_word(i, "extern")) return is_word(i + 1, "type");
    return is_word(i, "type") && kind(i + 1) == Tok::Ident && !(i > 0 && is_word(i - 1, "extern"));
  }

  // key= or ns.key=
  bool is_attribute(size_t i) const {
    if (kind(i) != Tok::Ident && kind(i) != Tok::String) return false;
    return kind(i + 1) == Tok::Equal || (kind(i + 1) == Tok::Dot && kind(i + 3) == Tok::Equal);
  }

  // The `=` of a let, of a graph variable and of the version; that of an attribute has no blanks.
  void find_binding(size_t i) {
    bool& binds = (open_.empty() ? top_ : open_.back()).binds;
    const bool version = before(i, 2) == Tok::LBracket && before(i, 3) == Tok::Hash;
    if (binds || version || before(i) == Tok::Graph || before(i) == Tok::Local) bindings_.push_back(i);
    binds = false;
  }

  // A line break behind an opening brace, perhaps after a comment.
  bool breaks_after(size_t i) const {
    const size_t next = kind(i + 1) == Tok::Comment && pieces_[i + 1].newlines == 0 ? i + 2 : i + 1;
    return next < pieces_.size() && pieces_[next].newlines > 0;
  }

  bool ends_operand(size_t i) const {
    while (i > 0 && kind(i - 1) == Tok::Comment) --i;
    if (i == 0) return false;
    switch (kind(i - 1)) {
      case Tok::Ident: return !is_word(i - 1, "match");
      case Tok::Local:
      case Tok::Graph:
      case Tok::Global:
      case Tok::Number:
      case Tok::String:
      case Tok::RParen:
      case Tok::RBracket:
      case Tok::RBrace:
      case Tok::Question: return true;
      default: return false;
    }
  }

  bool is_infix(size_t i) const {
    switch (pieces_[i].kind) {
      case Tok::Plus:
      case Tok::Minus:
      case Tok::Star:
      case Tok::Slash:
      case Tok::Percent:
      case Tok::Less:
      case Tok::LessEqual:
      case Tok::Greater:
      case Tok::GreaterEqual:
      case Tok::EqualEqual:
      case Tok::NotEqual: return ends_operand(i);
      default: return false;
    }
  }

  // --- blanks ----------------------------------------------------------------------------------------------------
  bool is_keyword(size_t i) const {
    for (const char* word : {"fn", "if", "match"})
      if (is_word(i, word)) return true;
    return false;
  }
  bool is_binding(size_t i) const { return std::binary_search(bindings_.begin(), bindings_.end(), i); }

  bool needs_blank(size_t i) const {
    const Tok last = before(i), next = kind(i);
    switch (next) {
      case Tok::RParen:
      case Tok::RBracket:
      case Tok::Comma:
      case Tok::Semicolon:
      case Tok::Colon: return false;
      case Tok::Dot: return last == Tok::Number && before(i, 2) != Tok::Dot;  // not a part of the number
      case Tok::Equal: return is_binding(i);
      case Tok::RBrace:
        return out_[i].partner != Measured::none && out_[out_[i].partner].role == Role::Block &&
               out_[i].partner + 1 != i;
      default: break;
    }
    if (last == Tok::LParen || last == Tok::LBracket || last == Tok::Dot || last == Tok::Hash) return false;
    if (last == Tok::LBrace) return out_[i - 1].role == Role::Block;
    if (last == Tok::Equal) return is_binding(i - 1);
    if (last == Tok::Minus && out_[i - 1].role != Role::Infix) return false;
    if (next == Tok::LParen || next == Tok::LBracket) return needs_blank_before_bracket(i);
    if (next == Tok::Question) return !(i > 0 && is_word(i - 1, "match"));
    return true;
  }

  // `fn (`, `fn [`, `if (`; but `f(`, `Tensor[`, `fn [A](`, `{ ... }(`
  bool needs_blank_before_bracket(size_t i) const {
    switch (before(i)) {
      case Tok::Ident: return is_keyword(i - 1);
      case Tok::Local:
      case Tok::Graph:
      case Tok::Global:
      case Tok::Number:
      case Tok::RParen:
      case Tok::RBracket:
      case Tok::RBrace: return false;
      default: return true;
    }
  }

  // --- columns ---------------------------------------------------------------------------------------------------
  uint32_t width(size_t i) const {  // with the blank before it
    const std::string_view own = text(i);
    const auto characters =
        std::count_if(own.begin(), own.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
    return static_cast<uint32_t>(characters) + (out_[i].blank ? 1 : 0);
  }

  bool forces_break(size_t i) const {
    switch (out_[i].role) {
      case Role::OwnLine:
      case Role::LineComment: return true;
      case Role::Comment: return text(i).find('\n') != std::string_view::npos;
      case Role::Separator: return kind(i) == Tok::Semicolon;
      case Role::Block: return out_[i].forced;
      default: return false;
    }
  }

  uint32_t tail(size_t i) const {
    switch (out_[i].role) {
      case Role::Close:
      case Role::Infix:
      case Role::Definition:
      case Role::OwnLine:
      case Role::LineComment: return 0;
      case Role::Block:
      case Role::Separator: return width(i);
      case Role::Open: {
        const uint32_t close = out_[i].partner;
        if (close == Measured::none || before(i) == Tok::RParen || before(i) == Tok::RBracket ||
            out_[close].breaks != out_[i].breaks)
          return width(i);
        return out_[close + 1].before - out_[i].before + out_[close + 1].tail;
      }
      default: return width(i) + out_[i + 1].tail;
    }
  }

  struct Bracket {
    size_t piece = 0;
    bool binds = false;  // the next `=` in it is that of a let
  };

  std::string_view text_;
  const std::vector<Piece>& pieces_;
  std::vector<Measured> out_;
  std::vector<Bracket> open_;
  Bracket top_;
  std::vector<size_t> bindings_;  // in order
};

}  // namespace

std::vector<Measured> measured(std::string_view text, const std::vector<Piece>& pieces) {
  return Measuring(text, pieces).run();
}

}  // namespace relay::text
