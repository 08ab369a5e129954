#include "relay/lsp/views.h"

#include <algorithm>

#include "relay/base/quote.h"
#include "relay/lsp/describe.h"
#include "relay/text/format.h"

namespace relay::lsp {

using llvm::json::Array;
using llvm::json::Object;
using text::NameKind;
using text::Occurrence;
using text::Thing;

static std::string valid(std::string_view text) {
  return llvm::json::fixUTF8(llvm::StringRef(text.data(), text.size()));
}

// --- diagnostics -----------------------------------------------------------------------------------------------------

// The range in the document; its beginning for places elsewhere, such as in the prelude.
static Range range_of(const Document& document, const Span& span) {
  if (!span.source || span.source->text != document.source->text) return document.lines.range(0, 0);
  return document.lines.range(span.begin, std::max(span.begin, span.end));
}

static Object shown(const Document& document, const relay::Diagnostic& d) {
  std::string message = d.message;
  for (const std::string& note : d.notes) message += format("\nnote: {}", note);
  if (!d.help.empty()) message += format("\nhelp: {}", d.help);
  Array related;
  for (const Label& label : d.labels)
    if (label.span.source)
      related.push_back(Object{
          {"location", Object{{"uri", document.uri}, {"range", llvm::lsp::toJSON(range_of(document, label.span))}}},
          {"message", valid(label.text)}});
  constexpr int error = 1, warning = 2;  // DiagnosticSeverity
  return Object{{"range", llvm::lsp::toJSON(range_of(document, d.span))},
                {"severity", d.severity == Severity::Error ? error : warning},
                {"code", info(d.kind).code},
                {"source", "relay"},
                {"message", valid(message)},
                {"relatedInformation", std::move(related)}};
}

Value diagnostics(const Document& document) {
  Array all;
  for (const relay::Diagnostic& d : document.diagnostics) all.push_back(shown(document, d));
  return Object{{"uri", document.uri}, {"version", document.version}, {"diagnostics", std::move(all)}};
}

// --- fixes -----------------------------------------------------------------------------------------------------------

namespace {
struct Fix {
  std::string title, text;
  uint32_t begin, end;
};
}  // namespace

// "did you mean 'units'?" and `import "list" defines it`: the forms of all help texts that propose an edit.
static std::optional<Fix> fix_of(const Document& document, const relay::Diagnostic& d) {
  constexpr std::string_view asks = "did you mean ", imports = "import \"", defines = "\" defines it";
  if (!d.span.source || d.span.source->text != document.source->text) return std::nullopt;
  const std::string_view help = d.help;
  if (help.starts_with(imports) && help.ends_with(defines)) {
    const size_t line = document.source->text.find('\n');
    if (line == std::string::npos) return std::nullopt;
    const std::string import = std::string(help.substr(0, help.size() - defines.size() + 1));
    const auto at = static_cast<uint32_t>(line + 1);
    return Fix{format("Add {}", import), import + "\n", at, at};
  }
  if (!help.starts_with(asks)) return std::nullopt;
  std::string_view name = help.substr(asks.size(), help.find('?') - asks.size());
  if (name.size() > 2 && name.front() == '\'' && name.back() == '\'') name = name.substr(1, name.size() - 2);
  // Places of attributes are those of name and value.
  const Occurrence* attribute = document.reading.names.at(d.span.begin);
  const bool is_attribute =
      attribute && attribute->begin == d.span.begin && document.thing(*attribute).kind == NameKind::Attribute;
  return Fix{format("Change to {}", name), std::string(name), d.span.begin, is_attribute ? attribute->end : d.span.end};
}

Value fixes(const Document& document, const Range& range) {
  Array out;
  for (const relay::Diagnostic& d : document.diagnostics) {
    const std::optional<Fix> fix = fix_of(document, d);
    if (!fix) continue;
    const Range place = range_of(document, d.span);
    if (range.end < place.start || place.end < range.start) continue;
    Object edit{{"range", llvm::lsp::toJSON(document.lines.range(fix->begin, fix->end))},
                {"newText", valid(fix->text)}};
    out.push_back(Object{{"title", valid(fix->title)},
                         {"kind", "quickfix"},
                         {"isPreferred", true},
                         {"diagnostics", Array{shown(document, d)}},
                         {"edit", Object{{"changes", Object{{document.uri, Array{std::move(edit)}}}}}}});
  }
  return out;
}

// --- symbols ---------------------------------------------------------------------------------------------------------

Value symbols(const Document& document) {
  constexpr int function = 12, constructor = 22, type = 10;  // SymbolKind
  const text::Occurrences& names = document.reading.names;
  auto symbol = [&](const Occurrence& name, int kind, uint32_t begin, uint32_t end) {
    return Object{{"name", valid(document.text_of(name.begin, name.end))},
                  {"kind", kind},
                  {"range", llvm::lsp::toJSON(document.lines.range(begin, end))},
                  {"selectionRange", llvm::lsp::toJSON(document.lines.range(name.begin, name.end))}};
  };
  Array out;
  for (size_t i = 0; i < names.places.size(); ++i) {
    const Occurrence& name = names.places[i];
    const Thing& thing = document.thing(name);
    if (thing.definition != name.begin || thing.begin == text::nowhere) continue;
    Object one = symbol(name, thing.kind == NameKind::Type ? type : function, thing.begin, thing.end);
    const auto found = document.reading.module.functions.find(thing.name);
    if (thing.kind == NameKind::Global && found != document.reading.module.functions.end())
      one["detail"] = valid(head_of(thing.name, *found->second));
    Array parts;
    for (size_t k = i + 1; k < names.places.size() && names.places[k].begin < thing.end; ++k)
      if (const Occurrence& part = names.places[k];
          document.thing(part).kind == NameKind::Constructor && document.thing(part).definition == part.begin)
        parts.push_back(symbol(part, constructor, part.begin, part.end));
    if (thing.kind == NameKind::Type) one["children"] = std::move(parts);
    out.push_back(std::move(one));
  }
  return out;
}

// --- types of variables ----------------------------------------------------------------------------------------------

Value inlay_hints(const Document& document, const Range& range) {
  constexpr size_t most = 100;  // bytes of a hint
  constexpr int kind = 1;       // InlayHintKind.Type
  const uint32_t begin = document.lines.offset(range.start), end = document.lines.offset(range.end);
  Array out;
  for (const Occurrence& name : document.reading.names.places) {
    const Thing& thing = document.thing(name);
    if (name.begin < begin || name.end > end || thing.definition != name.begin) continue;
    if (thing.kind != NameKind::Variable && thing.kind != NameKind::Parameter && thing.kind != NameKind::Graph)
      continue;
    const ir::Var* var = ir::as<ir::Var>(thing.expr);
    if (thing.kind != NameKind::Graph && var && var->annotation) continue;
    std::string type = type_of(thing.expr);
    if (type.empty() || type == "_") continue;
    if (type.size() > most) type = type.substr(0, most) + "...";
    out.push_back(Object{{"position", llvm::lsp::toJSON(document.lines.position(name.end))},
                         {"label", valid(": " + type)},
                         {"kind", kind}});
  }
  return out;
}

// --- tokens ----------------------------------------------------------------------------------------------------------

namespace {
enum TokenType : int {
  Keyword,
  Variable,
  Parameter,
  Function,
  Type,
  TypeParameter,
  EnumMember,
  Property,
  Number,
  String,
  Comment,
  Operator,
  NoToken
};
constexpr int declaration = 1, default_library = 2;  // modifiers, as bits

// Tokens as differences to the one before, a line at a time.
class Tokens {
 public:
  explicit Tokens(const Document& document) : document_(document) {}
  void add(uint32_t begin, uint32_t end, int type, int modifiers = 0) {
    while (begin < end) {
      const std::string_view rest = document_.text_of(begin, end);
      const uint32_t line = static_cast<uint32_t>(std::min(rest.size(), rest.find_first_of("\r\n")));
      if (line > 0) {
        const Position at = document_.lines.position(begin);
        const int length = Lines::units(rest.substr(0, line));
        for (int number : {at.line - last_.line, at.line == last_.line ? at.character - last_.character : at.character,
                           length, type, modifiers})
          data_.push_back(number);
        last_ = at;
      }
      begin += line + (begin + line < end ? 1 : 0);
    }
  }
  Value take() { return Object{{"data", std::move(data_)}}; }

 private:
  const Document& document_;
  Position last_;
  Array data_;
};
}  // namespace

Value token_legend() {
  return Object{{"tokenTypes", Array{"keyword", "variable", "parameter", "function", "type", "typeParameter",
                                     "enumMember", "property", "number", "string", "comment", "operator"}},
                {"tokenModifiers", Array{"declaration", "defaultLibrary"}}};
}

static int token_type(NameKind kind) {
  switch (kind) {
    case NameKind::Variable:
    case NameKind::Graph: return Variable;
    case NameKind::Parameter: return Parameter;
    case NameKind::Global:
    case NameKind::Operator: return Function;
    case NameKind::Constructor: return EnumMember;
    case NameKind::Type: return Type;
    case NameKind::TypeVariable:
    case NameKind::Size: return TypeParameter;
    case NameKind::Attribute: return Property;
  }
  return NoToken;
}

// The meaning of tokens other than names, and of unknown names.
static int token_type(const text::Piece& piece, std::string_view word) {
  switch (piece.kind) {
    case text::Tok::Comment: return Comment;
    case text::Tok::Number: return Number;
    case text::Tok::String: return String;
    case text::Tok::Local:
    case text::Tok::Graph: return Variable;
    case text::Tok::Global: return Function;
    case text::Tok::Arrow:
    case text::Tok::FatArrow: return Operator;
    case text::Tok::Ident: break;
    default: return NoToken;
  }
  for (const char* keyword : {"let", "fn", "def", "if", "else", "type", "match", "extern", "import", "free_var", "ref",
                              "ref_read", "ref_write", "True", "False", "meta", "version", "None"})
    if (word == keyword) return Keyword;
  if (word == "Tensor" || parse_dtype(word)) return Type;
  return NoToken;
}

Value semantic_tokens(const Document& document) {
  Tokens out(document);
  const std::vector<Occurrence>& names = document.reading.names.places;
  size_t next = 0;
  uint32_t done = 0;
  for (const text::Piece& piece : document.pieces) {
    if (piece.begin < done) continue;
    while (next < names.size() && names[next].begin < piece.begin) ++next;
    if (next < names.size() && names[next].begin == piece.begin) {
      const Occurrence& name = names[next];
      const Thing& thing = document.thing(name);
      const bool infix = thing.kind == NameKind::Operator && piece.kind != text::Tok::Ident;
      out.add(name.begin, name.end, infix ? static_cast<int>(Operator) : token_type(thing.kind),
              (thing.definition == name.begin ? declaration : 0) |
                  (thing.kind == NameKind::Operator ? default_library : 0));
      done = name.end;
      continue;
    }
    const int type = token_type(piece, document.text_of(piece.begin, piece.end));
    if (type != NoToken) out.add(piece.begin, piece.end, type);
  }
  return out.take();
}

// --- formatting ------------------------------------------------------------------------------------------------------

Value formatting(const Document& document) {
  const Result<std::string> formatted = text::formatted(document.source);
  if (!formatted) return Array();
  // The lines that differ.
  const std::string_view before = document.source->text, after = *formatted;
  if (before == after) return Array();
  const size_t common = std::min(before.size(), after.size());
  size_t begin = 0, end = 0;
  while (begin < common && before[begin] == after[begin]) ++begin;
  while (begin > 0 && before[begin - 1] != '\n') --begin;
  while (end < common - begin && before[before.size() - 1 - end] == after[after.size() - 1 - end]) ++end;
  while (end > 0 && before[before.size() - end - 1] != '\n') --end;
  const auto last = static_cast<uint32_t>(before.size() - end);
  return Array{Object{{"range", llvm::lsp::toJSON(document.lines.range(static_cast<uint32_t>(begin), last))},
                      {"newText", std::string(after.substr(begin, after.size() - end - begin))}}};
}

}  // namespace relay::lsp
