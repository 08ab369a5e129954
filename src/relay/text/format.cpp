#include "relay/text/format.h"

#include <algorithm>

#include "relay/text/parser.h"
#include "relay/text/pieces.h"

namespace relay::text {

namespace {

// Writes the pieces in one pass. Brackets are on one line or broken: each of their parts, up to a `,` or `;`, then gets
// a line of its own. Brackets inside of brackets on one line are on it too.
class Formatter {
 public:
  Formatter(std::string_view text, const std::vector<Piece>& pieces)
      : text_(text), pieces_(pieces), layout_(measured(text, pieces)), broken_(pieces.size(), 0) {}

  std::string run() {
    for (size_t i = 0; i < pieces_.size(); ++i) {
      separate(i);
      write(i);
      settle(i);
    }
    if (!out_.empty()) out_ += "\n";
    return std::move(out_);
  }

 private:
  using Role = Measured::Role;
  // Brackets that are open, or the whole text.
  struct Level {
    size_t indent = 0;        // of its parts
    size_t close_indent = 0;  // of its closing bracket
    bool broken = true;
    bool in_part = false;  // a part of it has begun: its further lines are indented more
  };
  static constexpr size_t most_indent = 80;  // so that deep nesting does not make lines ever longer

  std::string_view text(size_t i) const { return text_.substr(pieces_[i].begin, pieces_[i].end - pieces_[i].begin); }
  bool is_comment(size_t i) const { return pieces_[i].kind == Tok::Comment; }

  // --- before a piece ------------------------------------------------------------------------------------------------
  void separate(size_t i) {
    Level& level = levels_.back();
    const Role role = layout_[i].role;
    const bool closes = role == Role::Close && levels_.size() > 1;
    if (role == Role::OwnLine || role == Role::Definition) {
      const Role next = after_comments(i);
      if (levels_.size() > 1 ? next == Role::Close : next == Role::Definition) level.in_part = false;
    }
    if (i == 0) return;
    bool new_line = role == Role::OwnLine || role == Role::Definition;
    if (waiting_) new_line = !stays(i);
    if (closes) new_line = new_line || (level.broken && !is_empty_group(i));
    if (role == Role::Infix && level.broken && column_ + 1 + width(i) + layout_[i + 1].tail > line_width)
      new_line = true;
    if (!new_line) {
      if (layout_[i].blank) out_ += " ", ++column_;
      return;
    }
    const bool blank_line = (pieces_[i].newlines > 1 && !opened_ && !closes) || ended_;
    out_ += blank_line ? "\n\n" : "\n";
    ended_ = waiting_ = false;
    line_indent_ = std::min(closes ? level.close_indent : level.indent + (level.in_part ? 2 : 0), most_indent);
    out_.append(line_indent_, ' ');
    column_ = line_indent_;
    ++lines_;
  }

  // The role of the first piece from i on that is not a comment. The end of the text is like another definition.
  Role after_comments(size_t i) const {
    while (i < pieces_.size() && is_comment(i)) ++i;
    return i == pieces_.size() ? Role::Definition : layout_[i].role;
  }

  // A comment behind the end of a part that stays on its line.
  bool stays(size_t i) const {
    return is_comment(i) && pieces_[i].newlines == 0 &&
           (layout_[i].role == Role::LineComment || i + 1 == pieces_.size() || pieces_[i + 1].newlines > 0);
  }

  bool is_empty_group(size_t close) const { return layout_[close].partner + 1 == close; }

  // --- a piece -------------------------------------------------------------------------------------------------------
  void write(size_t i) {
    std::string_view own = text(i);
    if (is_comment(i)) own = own.substr(0, own.find_last_not_of(" \t\r") + 1);
    if (layout_[i].role == Role::Definition) definition_line_ = lines_;
    out_ += own;
    const size_t line = own.rfind('\n');
    column_ = line == std::string_view::npos ? column_ + width(i) : own.size() - line - 1;
  }
  size_t width(size_t i) const { return layout_[i + 1].before - layout_[i].before - (layout_[i].blank ? 1 : 0); }

  // --- after a piece -------------------------------------------------------------------------------------------------
  void settle(size_t i) {
    Level& level = levels_.back();
    const Role role = layout_[i].role;
    if (!is_comment(i)) level.in_part = true;
    opened_ = opened_ && is_comment(i);
    switch (role) {
      case Role::OwnLine:
      case Role::LineComment: waiting_ = true; break;
      case Role::Separator:
        if (level.broken && levels_.size() > 1) waiting_ = true, level.in_part = false;
        break;
      case Role::Open:
      case Role::Block: open(i); break;
      case Role::Close: close(i); break;
      default: break;
    }
  }

  void open(size_t i) {
    const size_t end = layout_[i].partner;
    if (end == Measured::none) return;
    const bool broken = levels_.back().broken && end > i + 1 && (broken_[i] || !fits(i, end));
    levels_.push_back({line_indent_ + 2, line_indent_, broken, false});
    if (broken) waiting_ = opened_ = true;
  }

  // True if the brackets stay on this line. The two blocks of an if are both on one line, or both broken.
  bool fits(size_t i, size_t end) {
    size_t other = Measured::none;
    if (layout_[i].role == Role::Block && end + 2 < pieces_.size() && pieces_[end + 1].kind == Tok::Ident &&
        text(end + 1) == "else" && layout_[end + 2].role == Role::Block && layout_[end + 2].partner != Measured::none)
      other = end + 2;
    const size_t last = other == Measured::none ? end : layout_[other].partner;
    const bool flat =
        !layout_[i].forced && layout_[i + 1].breaks == layout_[last].breaks &&
        column_ + (layout_[last + 1].before - layout_[i + 1].before) + layout_[last + 1].tail <= line_width;
    if (other != Measured::none) broken_[other] = flat ? 0 : 1;
    return flat;
  }

  void close(size_t i) {
    if (layout_[i].partner == Measured::none) return;
    levels_.pop_back();
    if (levels_.size() > 1) return;
    const size_t open = layout_[i].partner;
    if (open > 0 && pieces_[open - 1].kind == Tok::Hash)
      waiting_ = true, levels_.back().in_part = false;  // the version
    ended_ = pieces_[i].kind == Tok::RBrace && lines_ > definition_line_;
  }

  std::string_view text_;
  const std::vector<Piece>& pieces_;
  const std::vector<Measured> layout_;
  std::vector<char> broken_;  // blocks that another one has decided to break
  std::string out_;
  std::vector<Level> levels_{1};
  size_t column_ = 0;       // characters on the line so far
  size_t line_indent_ = 0;  // of this line
  size_t lines_ = 0, definition_line_ = 0;
  bool waiting_ = false;  // a line break follows, unless a comment stays on the line
  bool opened_ = false;   // nothing but comments since an opening bracket
  bool ended_ = false;    // a definition of several lines has ended: a blank line follows
};

// Only white space may differ.
void check_same_pieces(const Source& before, const std::vector<Piece>& pieces, const std::string& body) {
  DiagnosticSink sink;
  const auto after = std::make_shared<const Source>(Source{before.name, body});
  const std::vector<Piece> again = pieces_of(after, body.size(), sink);
  bool same = pieces.size() == again.size();
  for (size_t i = 0; i < pieces.size() && same; ++i) {
    std::string_view a = std::string_view(before.text).substr(pieces[i].begin, pieces[i].end - pieces[i].begin);
    const std::string_view b = std::string_view(body).substr(again[i].begin, again[i].end - again[i].begin);
    if (pieces[i].kind == Tok::Comment) a = a.substr(0, a.find_last_not_of(" \t\r") + 1);
    same = pieces[i].kind == again[i].kind && a == b;
  }
  RELAY_CHECK(same, "formatting {} changed more than white space", before.name);
}

}  // namespace

Result<std::string> formatted(std::shared_ptr<const Source> source) {
  if (Result<ir::Module> module = parse(source); !module) {
    Diagnostics mistakes;
    for (const Diagnostic& d : module.errors())
      if (d.kind == DiagnosticKind::syntax || d.kind == DiagnosticKind::nesting_too_deep) mistakes.push_back(d);
    if (!mistakes.empty()) return mistakes;
  }
  const size_t end = find_metadata(source->text);
  DiagnosticSink sink;
  const std::vector<Piece> pieces = pieces_of(source, end, sink);
  if (sink.has_errors()) return sink.all();
  std::string out = Formatter(source->text, pieces).run();
  check_same_pieces(*source, pieces, out);
  if (end == source->text.size()) return out;
  return out + (out.empty() ? "" : "\n") + source->text.substr(end);
}

}  // namespace relay::text
