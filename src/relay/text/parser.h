// The parser, shared by its files: parse_expr.cpp and parse_operand.cpp (an explicit stack), parse_type.cpp (types,
// dimensions, attribute values, patterns: recursive with a depth limit), parse_module.cpp (definitions, metadata, the
// entry points).
//
// A syntax error ends the current definition, and parsing continues at the next one; for editors, it continues inside
// of the definition (parse_again.cpp). A semantic error (an unknown variable, operator, attribute) is reported and
// replaced by a stand-in, so that one run reports all of them.
#pragma once

#include <set>
#include <unordered_map>

#include "relay/text/lexer.h"
#include "relay/text/metadata.h"
#include "relay/text/nested_names.h"
#include "relay/text/reading.h"
#include "relay/text/text.h"

namespace relay::text {

using AttrValues = std::vector<std::pair<std::string, ir::AttrValue>>;

// The help of a diagnostic without a more specific one.
constexpr const char* where_to_read = "docs/language.md shows how each construct is written";

class Parser {
 public:
  Parser(std::shared_ptr<const Source> source, const ParseOptions& options);

  Result<ir::Module> parse_module();
  Result<ir::Expr> parse_expr();
  Result<ir::Type> parse_type(DimNames* names, TypeForm form);
  Result<AttrValues> parse_attrs(DimNames* names);
  void read(Reading* out);  // for editors

 private:
  // --- tokens and errors ---------------------------------------------------------------------------------------------
  const Token& peek(size_t ahead = 0) { return lexer_.peek(ahead); }
  bool at(Tok kind) { return peek().kind == kind; }
  bool at_word(std::string_view word) { return at(Tok::Ident) && lexer_.text(peek()) == word; }
  Token take() {
    Token token = lexer_.take();
    last_end_ = token.end;
    return token;
  }
  bool accept(Tok kind) { return at(kind) ? (take(), true) : false; }
  bool expect(Tok kind, std::string_view context, std::string help = where_to_read);
  Span span(uint32_t begin, uint32_t end) const { return {source_, begin, end, {}}; }
  Span span(const Token& token) const { return span(token.begin, token.end); }
  Span span_from(uint32_t begin) const { return span(begin, std::max(begin, last_end_)); }
  void report(DiagnosticKind kind, std::string message, Span span, std::string help);
  void report_twice(std::string message, Span span, Span first);  // something has two definitions
  bool unexpected(std::string_view wanted,
                  std::string help = where_to_read);  // "expected ..., found ..." at the next token; false
  std::string name_of(const Token& token) const;      // of %x, @f, %"a b", an identifier
  static Diagnostics by_place(Diagnostics all);
  Diagnostics all_errors() const { return by_place(sink_.all()); }
  void read_module();

  // --- definitions ---------------------------------------------------------------------------------------------------
  bool version(bool required);
  void open_scope() { types_in_scope_.open(), dims_.open(); }  // for type variables and shape variables
  void close_scope() { types_in_scope_.close(), dims_.close(); }
  void collect_types();
  bool import();
  bool type_definition(bool is_extern);
  bool definition();
  void recover();
  void restart(uint32_t offset);
  void check_type_names();

  // --- expressions ---------------------------------------------------------------------------------------------------
  enum class Open : uint8_t {
    Root,
    Binary,
    Paren,
    Args,
    Brace,
    Let,
    LetBody,
    Graph,
    Function,
    IfCondition,
    IfThen,
    IfElse,
    RefCreate,
    RefRead,
    RefWrite,
    MatchData,
    MatchArm
  };
  // A construct that has begun and whose text is incomplete.
  struct Entry {
    Open open;
    uint8_t precedence = 0;           // Binary
    bool comma = false;               // Paren: a tuple
    bool graph = false;               // LetBody: after a graph variable, while reading for an editor
    Tok op = Tok::End;                // Binary
    uint32_t begin = 0;               // the beginning of its text
    uint32_t base = 0;                // the index of its first operand
    uint32_t locals = 0, graphs = 0;  // marks of the scopes to restore
    int64_t number = 0;               // Graph
  };
  struct Operand {
    ir::Expr expr;
    uint32_t begin;
  };
  struct FunctionHead {
    bool is_global = false;  // of a def
    ir::Types type_params;
    std::vector<ir::VarRef> params;
    ir::Type result;
    ir::DictAttrs attrs;
  };
  struct OpenMatch {
    bool complete;
    ir::Expr data;
    std::vector<ir::Clause> clauses;
    ir::Pattern pattern;
  };
  enum class Step : uint8_t { Item, Operand, After, Done, Failed };

  bool expression(ir::Expr* out);  // the next tokens up to one that belongs to no open construct
  bool run(Step step, size_t outer, ir::Expr* out);
  Step item();
  Step operand();
  Step word_operand();
  Step after();
  Step close(const Token& next);  // `next` ends the operand on top: passes it to the innermost open construct
  // The cases of close() for `top`, the innermost construct.
  Step close_graph(Entry& top);
  Step bind_graph(Entry& top);
  Step close_paren(Entry& top, bool comma);
  Step close_if(Entry& top);
  Step close_ref(Entry& top);
  Step close_write(Entry& top);
  Step close_arm(Entry& top);
  Step finish_call();
  Step finish_function();
  void close_function();
  Step begin_sequence(uint32_t begin, const Span& place);
  Step begin_let();
  Step begin_arm();
  Step begin_block(Open open, uint32_t begin, std::string_view context, const char* form);
  std::string expression_help();  // for a missing expression at the next token
  void reduce_binary();
  void reduce_let();
  bool function_head(FunctionHead* head);
  Step push_operand(ir::Expr expr, uint32_t begin);
  void push(Open open, uint32_t begin);
  void leave_scopes(const Entry& entry);
  void declare(const ir::VarRef& var);
  ir::Expr call_expr(const Operand& callee, ir::Exprs args, const AttrValues* attrs,
                     const std::vector<Span>& attr_spans, Span span);
  ir::Expr operator_node(std::string_view name, const Span& span);
  std::string help_for_unknown(std::string_view name) const;  // no operator has it
  ir::Expr stand_in(const Span& span) const;
  ir::Expr number_constant(const Token& token, bool negative, uint32_t begin);
  struct MetaReference {
    std::string_view key;
    int64_t index;
    Span place;
  };
  std::optional<MetaReference> meta_reference();
  ir::Expr meta_constant();
  bool meta_device(ir::AttrValue* out);
  bool param_device(std::string* out);

  // --- for editors ---------------------------------------------------------------------------------------------------
  void note(const Token& token, const ir::VarRef& var, NameKind kind, bool defines);
  void note_situation();      // at the end of the text
  Step resume(size_t outer);  // after a mistake
  void skip_step();
  bool skip_to_body();  // of a function whose head has a mistake
  bool at_next_definition();
  void give_up_top();                    // closes the innermost construct with what it has
  ir::Expr taken_operands(size_t from);  // as one value
  Step next_step();                      // a `;` was read, or is missing
  void begin_broken(), end_broken(uint32_t end);
  bool is_stand_in(const ir::Expr& expr) const;

  // --- types, dimensions, attributes, patterns -----------------------------------------------------------------------
  ir::Type type();
  ir::Type short_type();
  ir::Type tensor_type();
  bool type_params(ir::Types* out);
  bool shape(ir::Dims* out);
  ir::Dim dim();
  ir::Dim within_parts(ir::Dim dim);
  ir::Dim dim_sum();
  ir::Dim dim_product();
  ir::Dim dim_factor();
  ir::Dim dim_name(const std::string& name);
  void declare(const DimNames& names);
  DimNames declared_dims() const;
  bool attribute(AttrValues* out, std::vector<Span>* spans);
  bool attr_value(ir::AttrValue* out);
  bool attr_list(ir::AttrValue* out, Tok close);
  ir::Pattern pattern();
  // key=, ns.key=, "any key"=
  bool at_attribute() {
    if (at(Tok::Ident) && peek(1).kind == Tok::Dot) return peek(2).kind == Tok::Ident && peek(3).kind == Tok::Equal;
    return (at(Tok::Ident) || at(Tok::String)) && peek(1).kind == Tok::Equal;
  }
  bool at_end(std::string_view after);  // the whole text has been read
  bool enter();                         // one level deeper; reports and returns false beyond the limit
  struct Leave {
    int& depth;
    ~Leave() { --depth; }
  };

  std::shared_ptr<const Source> source_;
  const ParseOptions& options_;
  DiagnosticSink sink_;
  size_t body_end_;  // the beginning of the metadata section
  Lexer lexer_;
  uint32_t last_end_ = 0;
  int depth_ = 0;

  ir::Module module_;
  Metadata metadata_;
  std::map<int64_t, ir::Expr> meta_nodes_;
  std::map<std::string, Ref<const ir::Constructor>, std::less<>> constructors_;
  std::set<std::string> type_names_;
  std::map<std::string, Span> defined_;  // the places where globals were defined
  struct TypeUse {
    std::string name;
    size_t args;
    Span span;
  };
  std::vector<TypeUse> type_uses_;
  std::map<std::string, std::string, std::less<>> unknown_operators_;  // with the help of the diagnostic

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, std::vector<ir::VarRef>, Hash, std::equal_to<>> locals_;
  std::vector<std::vector<ir::VarRef>*> declared_;  // to be undone when a scope ends
  std::unordered_map<int64_t, ir::Expr> graphs_;
  std::vector<std::pair<int64_t, ir::Expr>> hidden_graphs_;  // outer bindings hidden by inner ones
  std::unordered_map<std::string, ir::Expr, Hash, std::equal_to<>> operators_, globals_;
  std::unordered_map<std::string, Tensor, Hash, std::equal_to<>> literals_;
  std::vector<Entry> open_;
  std::vector<Operand> operands_;
  std::vector<FunctionHead> functions_;
  std::vector<ir::VarRef> lets_;
  std::vector<OpenMatch> matches_;
  std::vector<ir::VarRef> pattern_vars_;  // of the current pattern
  NestedNames<ir::Type> types_in_scope_;  // variables
  NestedNames<ir::Dim> dims_;

  // Set while reading for an editor.
  Reading* reading_ = nullptr;
  std::optional<OccurrenceRecorder> names_;
  std::vector<std::string> call_attributes_;  // of the call whose attributes are being read
  bool noted_situation_ = false;
  std::optional<size_t> broken_from_;  // diagnostics from this one on are consequences of a mistake
  std::set<size_t> lexed_ahead_;       // diagnostics of tokens that the lexer read to find the next definition
  size_t broken_type_uses_ = 0;        // entries of type_uses_ before the mistake
  uint32_t definition_begin_ = 0;
  std::set<std::string> broken_globals_;  // functions that have a mistake in their syntax
};

}  // namespace relay::text
