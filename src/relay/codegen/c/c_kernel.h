// CKernelWriter: writes a kernel as a C function. Internal to codegen/c; statements are in c_kernel.cpp, expressions in
// c_expr.cpp.
#pragma once

#include <set>
#include <unordered_map>

#include "relay/codegen/c/c_helpers.h"
#include "relay/loop/loop.h"

namespace relay::codegen {

class CKernelWriter {
 public:
  CKernelWriter(const loop::Kernel& kernel, CHelpers& helpers) : kernel_(kernel), helpers_(helpers) {}
  std::string run();

 private:
  using Expr = scalar::Expr;
  // The precedence of an expression: parentheses go around an expression that binds less tightly than its context
  // requires.
  enum Binding : uint8_t { Atom, Prefix, Product, Sum, Comparison, Conjunction, Disjunction };
  struct Text {
    std::string text;
    Binding binding = Atom;
    int depth = 0;  // of parentheses and calls
  };
  // Expressions that are computed once, in the lines of a block.
  struct Block {
    std::string lines;
    std::unordered_map<const scalar::Node*, std::string> known;
  };

  // --- statements
  void stmt(const loop::Stmt& s);
  void let(const loop::Stmt& s);
  void store(const loop::Stmt& s);
  void alloc(const loop::Stmt& s);
  void statement_begins(const scalar::Exprs& exprs);  // expressions that it uses more than once are computed once
  void line(const std::string& text) { lines() += std::string(static_cast<size_t>(2 * indent_), ' ') + text + "\n"; }
  void nested(const loop::Stmt& s);
  std::string unique(const std::string& name);
  std::string& lines() { return blocks_.back().lines; }

  // --- expressions
  Text value(const Expr& e);
  std::string top(const Expr& e) { return value(e).text; }  // for a place that takes any expression
  Text compute(const Expr& e);
  Text unary(const Expr& e);
  Text float_unary(const Expr& e);
  Text binary(const Expr& e);
  Text arithmetic(const Expr& e);
  Text select(const Expr& e);
  Text cast(const Expr& e);
  Text reinterpret(const Expr& e);
  Text load(const Expr& e);
  Text constant(const Expr& e);
  Text call(const std::string& function, std::initializer_list<Text> args);
  Text infix(const char* symbol, const Text& a, const Text& b, Binding binding, Binding left, Binding right);
  static std::string in(const Text& text, Binding least);
  Text rounded(Text text, DType t);
  std::string element(const loop::Buffer& buffer, const scalar::Exprs& indices);
  bool is_index(const Expr& e);  // integer arithmetic without loads, which never overflows
  Text named(const Expr& e, const Text& text);

  const loop::Kernel& kernel_;
  CHelpers& helpers_;
  std::vector<Block> blocks_{1};
  int indent_ = 1;
  int64_t scratch_used_ = 0, scratch_most_ = 0;
  std::set<std::string> used_names_;
  std::set<const void*> used_;                             // variables and arrays that are read or written
  std::unordered_map<const void*, std::string> names_;     // of variables and arrays
  std::unordered_map<const scalar::Node*, int> uses_;      // in the current statement
  std::unordered_map<const scalar::Node*, bool> indices_;  // is_index()
  std::set<const scalar::Node*> of_loads_;                 // variables that depend on a loaded value
  scalar::Exprs kept_;                                     // keeps the expressions in indices_ alive
};

}  // namespace relay::codegen
