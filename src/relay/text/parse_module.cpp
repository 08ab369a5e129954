// Definitions, the metadata section, and the entry points of the parser.
#include <algorithm>

#include "relay/base/quote.h"
#include "relay/prelude/prelude.h"
#include "relay/text/parser.h"

namespace relay::text {

using namespace ir;

Parser::Parser(std::shared_ptr<const Source> source, const ParseOptions& options)
    : source_(std::move(source)),
      options_(options),
      body_end_(find_metadata(source_->text)),
      lexer_(source_, body_end_, sink_) {
  if (options.definitions)
    for (const auto& [name, def] : options.definitions->types) {
      type_names_.insert(name);
      for (const Ref<const Constructor>& c : def.constructors) constructors_[c->name] = c;
    }
}

// --- tokens and errors -----------------------------------------------------------------------------------------------

void Parser::report(DiagnosticKind kind, std::string message, Span span, std::string help) {
  sink_.report(
      Diagnostic{.kind = kind, .message = std::move(message), .span = std::move(span), .help = std::move(help)});
}

void Parser::report_twice(std::string message, Span span, Span first) {
  Diagnostic d{.kind = DiagnosticKind::duplicate_definition,
               .message = std::move(message),
               .span = std::move(span),
               .help = "give one of them another name"};
  if (first) d.labels.push_back({std::move(first), "the first one"});
  sink_.report(std::move(d));
}

bool Parser::unexpected(std::string_view wanted, std::string help) {
  const Token& token = peek();
  if (token.kind == Tok::Error) return false;  // reported by the lexer
  if (reading_ && token.kind == Tok::End) note_situation();
  std::string_view text = lexer_.text(token);
  std::string found = token.kind == Tok::End ? "the end of the text"
                                             : format("'{}'", text.substr(0, std::min<size_t>(text.size(), 40)));
  report(DiagnosticKind::syntax, format("expected {}, found {}", wanted, found), span(token), std::move(help));
  return false;
}

bool Parser::expect(Tok kind, std::string_view context, std::string help) {
  if (accept(kind)) return true;
  return unexpected(format("{} {}", describe(kind), context), std::move(help));
}

bool Parser::at_end(std::string_view after) {
  return at(Tok::End) || unexpected(format("the end of the text after {}", after),
                                    "remove the rest, or put ';' between two expressions");
}

std::string Parser::name_of(const Token& token) const {
  std::string_view text = lexer_.text(token);
  if (token.kind == Tok::Local || token.kind == Tok::Global) text.remove_prefix(1);
  return !text.empty() && text[0] == '"' ? unquote(text) : std::string(text);
}

Diagnostics Parser::by_place(Diagnostics all) {
  for (size_t i = 1; i < all.size(); ++i)  // by place; there are few
    for (size_t k = i; k > 0 && all[k].span.begin < all[k - 1].span.begin; --k) std::swap(all[k], all[k - 1]);
  return all;
}

// --- definitions -----------------------------------------------------------------------------------------------------

// #[version = "0.0.5"]
bool Parser::version(bool required) {
  if (!at(Tok::Hash)) {
    if (required)
      report(DiagnosticKind::bad_version, "a module begins with its version", span(peek()),
             "write #[version = \"0.0.5\"] in the first line");
    return true;
  }
  take();
  if (!expect(Tok::LBracket, "after '#'")) return false;
  if (!at_word("version")) return unexpected("version", "a text begins with #[version = \"0.0.5\"]");
  take();
  if (!expect(Tok::Equal, "after 'version'")) return false;
  Token value = peek();
  if (!expect(Tok::String, "that names a version")) return false;
  std::string version = unquote(lexer_.text(value));
  if (version != "0.0.5")
    report(DiagnosticKind::bad_version, format("this text has version \"{}\"; only \"0.0.5\" can be read", version),
           span(value), "print it again with a Relay that writes version 0.0.5");
  if (!expect(Tok::RBracket, "after the version")) return false;
  return true;
}

// Collects types and constructors, which are visible in the whole text: their definitions, and imports, are read first.
void Parser::collect_types() {
  std::string_view body = std::string_view(source_->text).substr(0, body_end_);
  if (body.find("type") == std::string_view::npos && body.find("import") == std::string_view::npos) return;
  size_t braces = 0;
  while (!at(Tok::End)) {
    if (at_word("def") && peek(1).kind == Tok::Global) braces = 0;  // also after an unclosed body
    if (at(Tok::LBrace)) ++braces;
    if (at(Tok::RBrace) && braces > 0) --braces;
    if (braces == 0 && at_word("import") && peek(1).kind == Tok::String) {
      if (!import()) recover();
      continue;
    }
    bool is_extern = braces == 0 && at_word("extern");
    if (is_extern) take();
    if (braces == 0 && at_word("type") && peek(1).kind == Tok::Ident) {
      if (!type_definition(is_extern)) recover();
      continue;
    }
    if (!is_extern && !at(Tok::End)) take();
  }
}

// type List[A] { Cons(A, List[A]), Nil }
bool Parser::type_definition(bool is_extern) {
  uint32_t begin = take().begin;
  Token name = take();
  TypeDef def;
  def.name = name_of(name);
  def.is_extern = is_extern;
  const uint32_t noted = names_ ? names_->note_named(name.begin, name.end, NameKind::Type, def.name, true) : nowhere;
  open_scope();
  struct Pop {
    Parser& parser;
    ~Pop() { parser.close_scope(); }
  } pop{*this};
  if (!type_params(&def.type_params)) return false;
  if (accept(Tok::LBrace)) {
    while (!at(Tok::RBrace)) {
      if (!at(Tok::Ident))
        return unexpected("the name of a constructor", "a type has the form: type List[A] { Cons(A, List[A]), Nil }");
      Token constructor = take();
      Types inputs;
      if (accept(Tok::LParen)) {
        while (!at(Tok::RParen)) {
          Type input = type();
          if (!input) return false;
          inputs.push_back(std::move(input));
          if (!accept(Tok::Comma)) break;
        }
        if (!expect(Tok::RParen, "after the fields of a constructor")) return false;
      }
      Constructor* node = new Constructor(name_of(constructor), std::move(inputs), def.name,
                                          static_cast<int64_t>(def.constructors.size()));
      Ref<const Constructor> made(node);
      node->span = span_from(constructor.begin);
      if (names_) names_->note(constructor.begin, constructor.end, NameKind::Constructor, node->name, node, made, true);
      if (!constructors_.emplace(node->name, made).second)
        report_twice(format("two constructors are named {}", node->name), span(constructor),
                     constructors_.find(node->name)->second->span);
      def.constructors.push_back(std::move(made));
      if (!accept(Tok::Comma)) break;
    }
    if (!expect(Tok::RBrace, "after the constructors of a type")) return false;
  }
  if (is_extern && !def.constructors.empty())
    report(DiagnosticKind::syntax, format("the extern type {} cannot have constructors", def.name), span_from(begin),
           "leave out the constructors, or the word extern");
  def.span = span_from(begin);
  if (names_) names_->set_extent(noted, begin, last_end_);
  if (!type_names_.insert(def.name).second)
    report_twice(format("the type {} is defined twice", def.name), span(name), module_.types[def.name].span);
  module_.types.emplace(def.name, std::move(def));
  return true;
}

bool Parser::definition() {
  uint32_t begin = take().begin;
  Token name = peek();
  if (!expect(Tok::Global, "after 'def'", "the name of a function begins with @: def @main() { ... }")) return false;
  std::string global = name_of(name);
  definition_begin_ = begin;
  const uint32_t noted = names_ ? names_->note_named(name.begin, name.end, NameKind::Global, global, true) : nowhere;
  graphs_.clear(), hidden_graphs_.clear();
  push(Open::Function, begin);
  functions_.push_back({.is_global = true, .type_params = {}, .params = {}, .result = {}, .attrs = {}});
  size_t outer = open_.size() - 1;
  FunctionHead* head = &functions_.back();
  Expr made;
  const bool has_body = function_head(head) || (reading_ && skip_to_body());
  if (!run(has_body ? Step::Item : Step::Failed, outer, &made)) return false;
  if (names_) names_->set_extent(noted, begin, last_end_);
  if (broken_from_) {  // parse() would leave it out
    if (module_.functions.emplace(global, FunctionRef(as<Function>(made))).second) broken_globals_.insert(global);
    return true;
  }
  if (broken_globals_.erase(global) > 0) module_.functions.erase(global);
  auto [it, added] = module_.functions.emplace(global, FunctionRef(as<Function>(made)));
  if (!added)
    report_twice(format("@{} is defined twice", global), span(name),
                 defined_.count(global) ? defined_[global] : it->second->span);
  defined_.emplace(global, span(name));
  return true;
}

// Skips to the next definition: a line that begins with def, type, extern, import.
void Parser::recover() {
  std::string_view text = std::string_view(source_->text).substr(0, body_end_);
  size_t next = text.size();
  if (reading_ && at_next_definition()) return restart(peek().begin);
  for (size_t line = text.find('\n', peek().begin); line != std::string_view::npos; line = text.find('\n', line + 1)) {
    std::string_view rest = text.substr(line + 1, 8);
    if (!starts_with(rest, "def ") && !starts_with(rest, "type ") && !starts_with(rest, "extern ") &&
        !starts_with(rest, "import "))
      continue;
    next = line + 1;
    break;
  }
  restart(static_cast<uint32_t>(next));
}

// Continues with a definition, without anything of the last one.
void Parser::restart(uint32_t offset) {
  lexer_.seek(offset);
  open_.clear(), operands_.clear(), functions_.clear(), lets_.clear(), matches_.clear();
  locals_.clear(), declared_.clear();
  types_in_scope_.close_all(), dims_.close_all();
  depth_ = 0;
}

void Parser::check_type_names() {
  for (const TypeUse& use : type_uses_) {
    if (type_names_.count(use.name) != 0) continue;
    std::vector<std::string> names(type_names_.begin(), type_names_.end());
    for (const char* builtin :
         {"float32", "float16", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "Tensor"})
      names.push_back(builtin);
    std::optional<std::string> near = nearest(use.name, names);
    report(DiagnosticKind::unknown_type, format("no type is named {}", use.name), use.span,
           near                           ? format("did you mean {}?", *near)
           : prelude::part_with(use.name) ? format("import \"{}\" defines it", *prelude::part_with(use.name))
                                          : format("define it, or declare it as a type variable: [{}]", use.name));
  }
}

// --- entry points ----------------------------------------------------------------------------------------------------

void Parser::read_module() {
  auto read = [&] {
    if (body_end_ < source_->text.size()) {
      Span place = span(static_cast<uint32_t>(body_end_), static_cast<uint32_t>(body_end_ + metadata_mark.size()));
      Result<Metadata> read =
          read_metadata(std::string_view(source_->text).substr(body_end_ + metadata_mark.size()), place, options_);
      if (read) {
        metadata_ = *std::move(read);
      } else {
        sink_.report(read.errors());
      }
    }
    if (!version(true)) return;
    uint32_t body = peek().begin;
    collect_types();
    lexer_.seek(body);
    while (!at(Tok::End)) {
      bool good = false;
      if (reading_ && at_next_definition()) end_broken(peek().begin);
      if (at_word("def")) {
        good = definition();
      } else if (at_word("type") || at_word("extern")) {  // read by collect_types
        if (at_word("extern")) take();
        take();
        while (!at(Tok::End) && !at_word("def") && !at_word("type") && !at_word("extern") && !at_word("import")) take();
        good = true;
      } else if (at_word("import")) {  // the same
        take();
        good =
            expect(Tok::String, "that names a part of the prelude, after 'import'", "it has the form: import \"list\"");
      } else {
        good = unexpected("a definition: def, type or import",
                          at(Tok::Hash) ? "only #[version = \"0.0.5\"] and #[metadata] have this form"
                                        : "expressions belong in a function: def @main() { ... }");
      }
      if (good) continue;
      if (reading_ && !broken_from_) begin_broken();
      recover();
    }
  };
  read();
  end_broken(static_cast<uint32_t>(body_end_));
  check_type_names();
  if (sink_.has_errors() || metadata_.module_attrs.empty()) return;
  Result<AttrValues> attrs = text::parse_attrs(metadata_.module_attrs);
  if (!attrs) return sink_.report(attrs.errors());
  for (auto& [key, value] : *attrs) module_.attrs.emplace(key, std::move(value));
}

Result<Module> Parser::parse_module() {
  read_module();
  if (sink_.has_errors()) return all_errors();
  return std::move(module_);
}

Result<Expr> Parser::parse_expr() {
  Expr result;
  if (body_end_ < source_->text.size()) {
    Result<Metadata> read =
        read_metadata(std::string_view(source_->text).substr(body_end_ + metadata_mark.size()), {}, options_);
    if (!read) return read.errors();
    metadata_ = *std::move(read);
  }
  if (version(false) && expression(&result)) at_end("an expression");
  check_type_names();
  if (sink_.has_errors()) return all_errors();
  return result;
}

// Declares shape variables that texts share.
void Parser::declare(const DimNames& names) {
  for (const auto& [name, dim] : names) dims_.declare(name, dim);
}
DimNames Parser::declared_dims() const {
  DimNames out;
  for (const std::string& name : dims_.names()) out[name] = *dims_.find(name);
  return out;
}

Result<Type> Parser::parse_type(DimNames* names, TypeForm form) {
  if (names) declare(*names);
  Type result = form == TypeForm::Short ? short_type() : type();
  if (result) at_end("a type");
  if (names) *names = declared_dims();
  if (sink_.has_errors()) return all_errors();
  return result;
}

Result<AttrValues> Parser::parse_attrs(DimNames* names) {
  if (names) declare(*names);
  AttrValues values;
  while (at_attribute() && attribute(&values, nullptr))
    if (!accept(Tok::Comma) && !at_attribute()) break;
  if (!sink_.has_errors()) at_end("attributes");
  if (names) *names = declared_dims();
  if (sink_.has_errors()) return all_errors();
  return values;
}

static std::shared_ptr<const Source> source_of(std::string text) {
  return std::make_shared<const Source>(Source{"<text>", std::move(text)});
}

// Checks the encoding and the size: places are 32-bit offsets, in bytes.
static Status check_text(const Source& source) {
  const std::string_view text = source.text;
  const char* encoding = starts_with(text, "\xef\xbb\xbf") ? "a byte-order mark"
                         : starts_with(text, "\xff\xfe") || starts_with(text, "\xfe\xff")
                             ? "the byte-order mark of UTF-16"
                             : nullptr;
  if (encoding)
    return Diagnostic{DiagnosticKind::syntax,
                      format("{} begins with {}", source.name, encoding),
                      {},
                      {},
                      {},
                      "save the text as UTF-8 without a byte-order mark"};
  if (source.text.size() < (size_t{1} << 32) - 16) return ok();
  return Diagnostic{DiagnosticKind::limit_exceeded,
                    format("{} is larger than 4 GiB", source.name),
                    {},
                    {},
                    {},
                    "keep large weights in a .safetensors file beside the program: Module.save does"};
}

Result<Module> parse(std::shared_ptr<const Source> source, const ParseOptions& options) {
  RELAY_RETURN_IF_ERROR(check_text(*source));
  return Parser(std::move(source), options).parse_module();
}
Result<Module> parse(std::string text, const ParseOptions& options) {
  return parse(source_of(std::move(text)), options);
}
Result<Expr> parse_expr(std::shared_ptr<const Source> source, const ParseOptions& options) {
  RELAY_RETURN_IF_ERROR(check_text(*source));
  return Parser(std::move(source), options).parse_expr();
}
Result<Expr> parse_expr(std::string text, const ParseOptions& options) {
  return parse_expr(source_of(std::move(text)), options);
}
Reading read(std::shared_ptr<const Source> source, const ParseOptions& options) {
  Reading out;
  if (const Status readable = check_text(*source); !readable) {
    out.diagnostics = readable.errors();
  } else {
    Parser(std::move(source), options).read(&out);
  }
  return out;
}
Result<Type> parse_type(std::string text, DimNames* names, TypeForm form) {
  ParseOptions options;
  return Parser(source_of(std::move(text)), options).parse_type(names, form);
}
Result<AttrValues> parse_attrs(std::string text, DimNames* names) {
  ParseOptions options;
  return Parser(source_of(std::move(text)), options).parse_attrs(names);
}

}  // namespace relay::text
