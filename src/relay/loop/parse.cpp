// Parses the text form of kernels (see print.cpp). The first error ends the parse.
#include <charconv>
#include <map>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"
#include "relay/scalar/short_dot.h"

namespace relay::loop {
namespace {

using scalar::BinaryOp;
using scalar::UnaryOp;

struct Token {
  enum Kind : uint8_t { Name, Number, Symbol, End } kind = End;
  std::string text;
  uint32_t begin = 0, end = 0;
  bool first = false;  // of its line
};

std::vector<Token> tokenise(const std::string& text) {
  std::vector<Token> tokens;
  bool first = true;
  auto letter = [](char c) { return isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '\n') first = true;
    if (isspace(static_cast<unsigned char>(text[i]))) {
      ++i;
      continue;
    }
    size_t begin = i;
    Token::Kind kind = Token::Symbol;
    if (isdigit(static_cast<unsigned char>(text[i]))) {  // with its suffix: 12, 1.5f, 1e-05f64, 3i32
      kind = Token::Number;
      while (i < text.size() && (letter(text[i]) || (text[i] == '.' && i + 1 < text.size() && text[i + 1] != '.') ||
                                 ((text[i] == '-' || text[i] == '+') && text[i - 1] == 'e')))
        ++i;
    } else if (letter(text[i])) {
      kind = Token::Name;
      while (i < text.size() && letter(text[i])) ++i;
    } else {
      i += 1;
      for (std::string_view symbol : {"..+", "..", "//", "&&", "||", "==", "!=", "<="})
        if (text.compare(begin, symbol.size(), symbol) == 0) {
          i = begin + symbol.size();
          break;
        }
    }
    tokens.push_back(
        {kind, text.substr(begin, i - begin), static_cast<uint32_t>(begin), static_cast<uint32_t>(i), first});
    first = false;
  }
  uint32_t end = static_cast<uint32_t>(text.size());
  tokens.push_back({Token::End, "end of text", end, end, true});
  return tokens;
}

std::optional<DType> parse_lanes_dtype(const std::string& text) {
  if (std::optional<DType> t = parse_dtype(text)) return t;
  size_t x = text.rfind('x');
  int lanes = 0;
  if (x == std::string::npos ||
      std::from_chars(text.data() + x + 1, text.data() + text.size(), lanes).ptr != text.data() + text.size() ||
      lanes < 2)
    return std::nullopt;
  std::optional<DType> t = parse_dtype(text.substr(0, x));
  return t ? std::optional(t->with_lanes(lanes)) : std::nullopt;
}

std::optional<DType> suffix_dtype(std::string_view s) {
  if (s == "f") return DType::float32();
  if (s == "f64") return DType::float64();
  if (s == "f16") return DType::float16();
  if (s == "bf16") return DType::bfloat16();
  if (s.size() >= 2 && (s[0] == 'i' || s[0] == 'u'))
    return parse_dtype((s[0] == 'i' ? "int" : "uint") + std::string(s.substr(1)));
  return std::nullopt;
}

class Parser {
 public:
  Parser(const std::string& text, const std::string& name) : tokens_(tokenise(text)) {
    source_ = std::make_shared<relay::Source>(relay::Source{name, text});
  }

  Result<Kernel> run() {
    Kernel k;
    expect("kernel");
    k.name = name();
    expect("(");
    declaring_ = true;
    while (!is(")") && !failed_) {
      k.params.push_back(buffer_declaration(Scope::Param));
      if (!is(")")) expect(",");
    }
    declaring_ = false;
    expect(")"), expect(","), expect("shape"), expect("(");
    while (!is(")") && !failed_) {
      k.shape_vars.push_back(shape_var(name()));
      if (!is(")")) expect(",");
    }
    expect(")"), expect(","), expect("task");
    k.task = scalar::var(name());
    expect("<");
    k.tasks = expr(4);
    vars_[k.task->name] = k.task;
    k.body = braces();
    if (peek().kind != Token::End) fail("the end of the kernel");
    if (failed_) return *failed_;
    return k;
  }

 private:
  // --- tokens
  const Token& peek() const { return tokens_[at_]; }
  bool is(std::string_view text) const { return peek().kind != Token::End && peek().text == text; }
  bool accept(std::string_view text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text)) fail(format("'{}'", text));
  }
  std::string name() {
    if (peek().kind != Token::Name) return fail("a name"), "";
    return tokens_[at_++].text;
  }
  void fail(const std::string& wanted) { complain(format("expected {}, found '{}'", wanted, peek().text), at_); }
  void complain(std::string message, size_t token) {
    if (!failed_) {
      Span span;
      span.source = source_, span.begin = tokens_[token].begin, span.end = tokens_[token].end;
      failed_ = Diagnostic{.kind = DiagnosticKind::syntax, .message = std::move(message), .span = span};
    }
    at_ = tokens_.size() - 1;
  }

  // --- declarations
  Expr shape_var(const std::string& name) {
    Expr& v = vars_[name];
    if (!v) v = scalar::var(name);
    return v;
  }
  BufferRef buffer_declaration(Scope scope) {
    Buffer b;
    b.name = name();
    expect(":");
    size_t at = at_;
    std::optional<DType> t = parse_dtype(name());
    if (!t) complain(format("'{}' is not an element type", tokens_[at].text), at);
    b.dtype = t.value_or(DType::float32());
    expect("[");
    b.shape = list("]");
    b.scope = scope;
    if (scope == Scope::Param) b.read_only = accept("read");
    if (scope != Scope::Param) {
      expect("in");
      b.scope = is("register") ? Scope::Register
                : is("stack")  ? Scope::Stack
                : is("tile")   ? Scope::Tile
                : is("shared") ? Scope::Shared
                               : Scope::Scratch;
      if (!accept("register") && !accept("stack") && !accept("tile") && !accept("shared")) expect("scratch");
    }
    BufferRef made = make<Buffer>(std::move(b));
    if (scope == Scope::Param) buffers_[made->name] = made;
    return made;
  }

  // --- statements
  Stmt braces() {
    expect("{");
    Stmt s = rest();
    expect("}");
    return s;
  }
  Stmt rest() {  // to the end of the block
    Stmts stmts;
    while (!is("}") && peek().kind != Token::End) stmts.push_back(stmt());
    return block(std::move(stmts));
  }
  template <class Map, class T>
  Stmt in_scope(Map& map, const std::string& name, T value, function_ref<Stmt()> body) {
    T outer = map[name];
    map[name] = value;
    Stmt s = body();
    map[name] = outer;
    return s;
  }

  Stmt stmt() {
    if (is("{")) return braces();
    if (accept("for")) {
      Expr var = scalar::var(name());
      expect("in");
      Expr min = expr(), extent;
      if (accept("..+"))
        extent = expr();
      else
        expect(".."), extent = same(expr(), min, at_) ? last_ - min : min;
      ForKind kind = accept("unrolled")     ? ForKind::Unrolled
                     : accept("vectorised") ? ForKind::Vectorised
                     : accept("tile")       ? ForKind::Tile
                     : accept("block")      ? ForKind::Block
                     : accept("thread")     ? ForKind::Thread
                                            : ForKind::Serial;
      Stmt body = in_scope(vars_, var->name, var, [&] { return braces(); });
      return for_(var, min, extent, kind, body);
    }
    if (accept("let")) {
      std::string n = name();
      expect("=");
      Expr value = expr(), var = scalar::var_like(n, value);
      return let(var, value, in_scope(vars_, n, var, [&] { return rest(); }));
    }
    if (accept("alloc")) {
      BufferRef b = buffer_declaration(Scope::Stack);
      return alloc(b, in_scope(buffers_, b->name, b, [&] { return rest(); }));
    }
    if (accept("if")) {
      Expr condition = expr();
      Stmt then = braces();
      return if_(condition, then, accept("else") ? braces() : Stmt{});
    }
    if (accept("barrier")) return barrier();
    if (accept("commit")) return commit();
    if (accept("wait")) return wait(count());
    if (accept("async")) return async();
    if (accept("prefetch")) {
      BufferRef b = buffer_use();
      expect("[");
      return prefetch(b, list("]"));
    }
    size_t at = at_;
    BufferRef b = buffer_use();
    expect("[");
    Exprs indices = list("]");
    expect("=");
    Expr value = expr(), mask;
    if (is("if") && !peek().first) ++at_, mask = expr();
    if (failed_) return block({});
    if (indices.size() != b->shape.size())
      complain(format("{} has {}, {} given", b->name,
                      plural(static_cast<int64_t>(b->shape.size()), "dimension", "dimensions"), indices.size()),
               at);
    return store(b, std::move(indices), value, mask);
  }

  Stmt async() {
    const int64_t elements = count();
    const size_t at = at_;
    BufferRef to = buffer_use();
    expect("[");
    Exprs indices = list("]");
    expect("=");
    const size_t source = at_;
    Expr from = expr();
    if (failed_) return block({});
    if (from->kind != scalar::Kind::Load) complain("expected an element of an array", source);
    if (indices.size() != to->shape.size())
      complain(format("{} has {}, {} given", to->name,
                      plural(static_cast<int64_t>(to->shape.size()), "dimension", "dimensions"), indices.size()),
               at);
    return failed_ ? block({}) : async_copy(to, std::move(indices), from, elements);
  }
  int64_t count() {
    const Expr n = expr(6);
    if (!failed_ && n->kind != scalar::Kind::Int) complain("expected a number", at_ - 1);
    return failed_ ? 0 : n->ivalue;
  }

  BufferRef buffer_use() {
    size_t at = at_;
    std::string n = name();
    std::map<std::string, BufferRef>::iterator it = buffers_.find(n);
    if (it != buffers_.end() && it->second) return it->second;
    complain(format("no array named '{}' is in scope", n), at);
    return buffer("missing", DType::float32(), {}, Scope::Param);
  }

  // --- expressions
  Exprs list(std::string_view close) {
    Exprs exprs;
    while (!is(close) && !failed_) {
      exprs.push_back(expr());
      if (!is(close)) expect(",");
    }
    expect(close);
    return exprs;
  }

  bool same(Expr a, const Expr& b, size_t at) {
    last_ = std::move(a);
    if (failed_) return false;
    if (last_->dtype == b->dtype) return true;
    complain(format("the operands have types {} and {}", b->dtype.str(), last_->dtype.str()), at);
    return false;
  }

  Expr expr(int level = 1) {
    struct Operator {
      const char* text;
      BinaryOp op;
      int level;
    };
    static const Operator operators[] = {
        {"||", BinaryOp::Or, 1}, {"&&", BinaryOp::And, 2}, {"==", BinaryOp::Eq, 3},       {"!=", BinaryOp::Ne, 3},
        {"<", BinaryOp::Lt, 3},  {"<=", BinaryOp::Le, 3},  {"+", BinaryOp::Add, 4},       {"-", BinaryOp::Sub, 4},
        {"*", BinaryOp::Mul, 5}, {"/", BinaryOp::Div, 5},  {"//", BinaryOp::FloorDiv, 5}, {"%", BinaryOp::FloorMod, 5}};
    if (level > 5) return primary();
    Expr left = expr(level + 1);
    for (bool more = true; more && !failed_;) {
      more = false;
      for (const Operator& o : operators)
        if (o.level == level && is(o.text)) {
          size_t at = at_++;
          Expr right = expr(level + 1);
          if (!same(right, left, at)) return left;
          left = scalar::binary(o.op, left, right);
          more = level != 3;
          break;
        }
    }
    return left;
  }

  Expr number(const std::string& text, bool negative) {
    size_t digits = 0;
    bool real = false;
    while (digits < text.size() && (isdigit(static_cast<unsigned char>(text[digits])) || text[digits] == '.' ||
                                    (text[digits] == 'e' && digits + 1 < text.size() && text[digits + 1] != 'f') ||
                                    text[digits] == '-' || text[digits] == '+'))
      real |= !isdigit(static_cast<unsigned char>(text[digits++]));
    std::string suffix = text.substr(digits), body = (negative ? "-" : "") + text.substr(0, digits);
    std::optional<DType> t = suffix.empty() && !real ? std::optional(DType::int64()) : suffix_dtype(suffix);
    if (!t || (real && !t->is_float())) return complain(format("'{}' is not a number", text), at_ - 1), scalar::imm(0);
    if (t->is_float()) return scalar::fimm(strtod(body.c_str(), nullptr), *t);
    int64_t value = 0;
    if (t->code == DType::Code::UInt) {
      uint64_t positive = 0;
      std::from_chars(body.data(), body.data() + body.size(), positive);
      value = static_cast<int64_t>(positive);
    } else if (std::from_chars(body.data(), body.data() + body.size(), value).ec != std::errc{}) {
      complain(format("'{}' does not fit 64 bits", text), at_ - 1);
    }
    return scalar::imm(value, *t);
  }

  Expr special(const std::string& text, bool negative) {  // nanf, inff64
    if (!starts_with(text, "nan") && !starts_with(text, "inf")) return {};
    std::optional<DType> t = suffix_dtype(text.substr(3));
    if (!t || !t->is_float()) return {};
    double v = text[0] == 'n' ? __builtin_nan("") : __builtin_inf();
    return scalar::fimm(negative ? -v : v, *t);
  }

  Expr primary() {
    size_t at = at_;
    if (accept("(")) {
      Expr e = expr();
      expect(")");
      return e;
    }
    bool negative = accept("-");
    const Token& token = peek();
    if (token.kind == Token::Number) return ++at_, number(token.text, negative);
    if (token.kind != Token::Name) return fail("an expression"), scalar::imm(0);
    ++at_;
    if (Expr e = special(token.text, negative)) return e;
    if (negative) return complain("only a number can follow '-' here; write neg(x)", at), scalar::imm(0);
    if (token.text == "true" || token.text == "false") return scalar::imm(token.text == "true", DType::boolean());
    if (accept("(")) return call(token.text, list(")"), at);
    if (is("[")) {
      at_ = at;
      BufferRef b = buffer_use();
      expect("[");
      Exprs indices = list("]");
      if (!failed_ && indices.size() != b->shape.size())
        complain(format("{} has {}, {} given", b->name,
                        plural(static_cast<int64_t>(b->shape.size()), "dimension", "dimensions"), indices.size()),
                 at);
      return scalar::load(b, std::move(indices));
    }
    std::map<std::string, Expr>::iterator it = vars_.find(token.text);
    if (it != vars_.end() && it->second) return it->second;
    if (declaring_) return shape_var(token.text);
    complain(format("no variable named '{}' is in scope", token.text), at);
    return scalar::imm(0);
  }

  Expr call(const std::string& f, Exprs args, size_t at) {
    Expr zero = scalar::imm(0);
    if (failed_) return zero;
    auto wrong = [&](const char* what) { return complain(format("{} {}", f, what), at), zero; };
    if (f == "select") {
      if (args.size() != 3 || !args[0]->dtype.is_bool() || args[1]->dtype != args[2]->dtype)
        return wrong("needs a condition and two values of one type");
      return scalar::select(args[0], args[1], args[2]);
    }
    if (f == "ramp") {
      if (args.size() != 3 || !scalar::is_int(args[1]) || !scalar::is_int(args[2]))
        return wrong("needs a base, a constant stride and the lanes");
      return scalar::ramp(args[0], args[1]->ivalue, static_cast<int>(args[2]->ivalue));
    }
    if (f == "broadcast") {
      if (args.size() != 2 || !scalar::is_int(args[1])) return wrong("needs a value and the lanes");
      return scalar::broadcast(args[0], static_cast<int>(args[1]->ivalue));
    }
    if (const bool is_short = starts_with(f, "short_dot_"); is_short || starts_with(f, "dot_")) {
      const std::optional<DType> t = parse_lanes_dtype(f.substr(f.find("dot_") + 4));
      const size_t n = args.size() / 2;
      bool good = t && t->lanes == 1 && n > 0 && args.size() == 2 * n;
      for (size_t i = 0; good && i < 2 * n; ++i) good = args[i]->dtype == args[i < n ? 0 : n]->dtype;
      if (!good) return wrong("needs two groups of as many numbers, each of one type");
      const auto half = args.begin() + static_cast<std::ptrdiff_t>(n);
      return (is_short ? scalar::short_dot : scalar::dot)(*t, {args.begin(), half}, {half, args.end()});
    }
    bool bits = starts_with(f, "as_");
    if (std::optional<DType> t = parse_lanes_dtype(bits ? f.substr(3) : f)) {
      if (args.size() != 1 || t->lanes != args[0]->dtype.lanes) return wrong("needs one value of as many lanes");
      return bits ? scalar::reinterpret(*t, args[0]) : scalar::cast(*t, args[0]);
    }
    for (int op = 0; op <= static_cast<int>(UnaryOp::Rounded); ++op)
      if (f == scalar::name(static_cast<UnaryOp>(op))) {
        if (args.size() != 1) return wrong("takes one argument");
        return scalar::unary(static_cast<UnaryOp>(op), args[0]);
      }
    for (int op = 0; op <= static_cast<int>(BinaryOp::Shr); ++op)
      if (f == scalar::name(static_cast<BinaryOp>(op))) {
        if (args.size() != 2 || args[0]->dtype != args[1]->dtype) return wrong("takes two arguments of one type");
        return scalar::binary(static_cast<BinaryOp>(op), args[0], args[1]);
      }
    return wrong("is not a function");
  }

  std::shared_ptr<const relay::Source> source_;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  std::optional<Diagnostic> failed_;
  bool declaring_ = false;  // in the parameters, where a new name is a shape variable
  Expr last_;
  std::map<std::string, Expr> vars_;
  std::map<std::string, BufferRef> buffers_;
};

}  // namespace

Result<Kernel> parse_kernel(const std::string& text, const std::string& name) { return Parser(text, name).run(); }

}  // namespace relay::loop
