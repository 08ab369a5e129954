// CKernelWriter: writes a kernel as a C function. Internal to codegen/c; statements are in c_kernel.cpp, expressions in
// c_expr.cpp, dot products in c_dot.cpp, register tiles in c_tile.cpp, the type of indices in c_index.cpp.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

#include "relay/codegen/c/c_helpers.h"
#include "relay/loop/loop.h"

namespace relay::codegen {

// The form of a kernel's function.
struct CKernelForm {
  enum class Entry : uint8_t {
    Pointers,   // as in codegen.h
    Static,     // with typed parameters, over all tasks
    WorkItems,  // an entry point of a device (c_source.h)
  };
  Entry entry = Entry::Pointers;
  const Dialect* dialect = &c99;
  bool may_overlap = false;     // arrays that it gets may overlap: no `restrict`
  scalar::Expr per_task{};      // WorkItems: the kernel's tasks for each task that is asked for; null: 1
  scalar::Expr thread{};        // WorkItems: the number of a thread in the block that runs a task; null without blocks
  int64_t threads = 1;          // of a block
  bool fuses_products = false;  // a product and the sum that it is added to are one call of multiply_add
  bool is_scalar = false;       // compilers need not find vectors: branches are allowed where they save work
};

// True if every index of the kernel, and each part of one, is known to fit into int32_t.
bool has_small_indices(const loop::Kernel& kernel, const CKernelForm& form);
// The part of a finished kernel that a dialect lacks, as "it computes float64"; unset if there is none.
std::optional<std::string> missing_in(const loop::Kernel& kernel, const Dialect& dialect, bool (*has_type)(DType));
// The row-major position of an element.
scalar::Expr flat_index_of(const loop::Buffer& buffer, const scalar::Exprs& indices);

class CKernelWriter {
 public:
  CKernelWriter(const loop::Kernel& kernel, CHelpers& helpers, const CKernelForm& form = {})
      : kernel_(kernel),
        helpers_(helpers),
        form_(form),
        narrow_(form.entry != CKernelForm::Entry::Pointers && has_small_indices(kernel, form_)) {}
  std::string run();
  int64_t scratch_bytes() const { return scratch_most_; }  // after run()

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

  // A register buffer whose elements are scalars, by flat index. Elements that nothing reads have no name.
  using Tile = std::map<int64_t, std::string>;

  // --- functions
  std::string static_function(const std::string& task, const std::string& body);
  std::string called_by_pointer(const std::string& task, const std::string& body);
  std::string entry_of_work_items(const std::string& task, const std::string& body);
  std::string entry_in_memory(const std::string& task, const std::string& body);
  // The loop of a work-item, or of a block of them, over its tasks.
  std::string items_loop(const std::string& first, const std::string& last, const std::string& task,
                         const std::string& body);

  // --- statements
  void stmt(const loop::Stmt& s);
  void let(const loop::Stmt& s);
  void store(const loop::Stmt& s);
  void alloc(const loop::Stmt& s);
  bool alloc_tile(const loop::Stmt& s);               // false if the buffer has to be an array
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
  Text multiply_add(const Expr& e);          // empty if `e` is not the sum or difference of a product
  Text dot(const Expr& e, const Expr& sum);  // `sum` may be null
  Text dot_added(const Expr& e);             // empty if `e` does not add a dot product
  std::optional<std::string> run_of_bytes(std::span<const Expr> numbers);
  Text select(const Expr& e);
  Text cast(const Expr& e);
  Text nearest_integer(const Expr& e);  // empty if `e` is not a rounded float as a short integer
  Text reinterpret(const Expr& e);
  Text load(const Expr& e);
  Text constant(const Expr& e);
  Text call(const std::string& function, std::initializer_list<Text> args);
  Text infix(const char* symbol, const Text& a, const Text& b, Binding binding, Binding left, Binding right);
  static std::string in(const Text& text, Binding least);
  Text rounded(Text text, DType t);
  std::string element(const loop::Buffer& buffer, const scalar::Exprs& indices);
  // Unset if the element is not a scalar; empty if nothing reads it.
  std::optional<std::string> scalar_of(const loop::Buffer& buffer, const scalar::Exprs& indices) const;
  std::string type_of(const Expr& e) const;
  DType computed_in(const Expr& e) const;
  const char* index_type() const { return form_.dialect->signed_types[narrow_ ? 2 : 3]; }
  std::string value_type(DType t) const { return form_.dialect->value_type(t); }
  std::string stored_type(DType t) const { return form_.dialect->stored_type(t); }
  std::string unsigned_type(int bits) const { return form_.dialect->integer(false, bits); }
  bool is_index(const Expr& e);  // integer arithmetic without loads, which never overflows
  Text named(const Expr& e, const Text& text);
  Text converted(const std::string& type, const Text& a) const;
  Text chosen(const Text& condition, const Text& yes, const Text& no) const;
  bool wraps(DType t) const { return form_.dialect->integers_wrap && t.bits == 32; }
  bool is_in_memory(const loop::Buffer& buffer) const;  // of a dialect without pointers
  // A value of type `from` that is `to` in memory, or the other way round.
  static std::string as_word(const std::string& to, const std::string& from, const std::string& text);

  const loop::Kernel& kernel_;
  CHelpers& helpers_;
  const CKernelForm form_;
  const bool narrow_;  // indices are int32_t
  std::vector<Block> blocks_{1};
  int indent_ = 1;
  int64_t scratch_used_ = 0, scratch_most_ = 0;
  std::string shared_;  // declarations of arrays that the threads of a block share
  std::set<std::string> shared_names_;
  bool reads_results_ = false;  // some array of the caller is both read and stored
  std::set<std::string> used_names_;
  std::set<const void*> used_;                          // variables and arrays that are read or written
  std::unordered_map<const void*, std::string> names_;  // of variables and arrays
  std::unordered_map<const void*, Tile> tiles_;
  std::unordered_map<const scalar::Node*, int> uses_;      // in the current statement
  std::unordered_map<const scalar::Node*, bool> indices_;  // is_index()
  std::set<const scalar::Node*> of_loads_;                 // variables that depend on a loaded value
  scalar::Exprs kept_;                                     // keeps the expressions in indices_ alive
};

}  // namespace relay::codegen
