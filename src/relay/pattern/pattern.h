// Dataflow patterns: descriptions of parts of programs, for matching, rewriting and partitioning.
//
//   Pattern x = wildcard();
//   Pattern p = call(op("nn.relu"), {optional(call(op("nn.conv2d"), {x, wildcard()}), ...)});
//   Matcher matcher(p);
//   if (const Match* m = matcher.match(e)) use(m->at(x));
//
// One pattern node matches one expression: a node used in two places requires the same expression in both (constants:
// the same values). The arguments of add and multiply match in either order; (a * b) / c matches a * (b / c) and vice
// versa. Matching backtracks over alternatives. A wildcard redirected to an enclosing pattern matches chains of any
// length. No function here recurses over programs or patterns, except that a dominator's parts are matched by separate
// matchers.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "relay/ir/expr.h"

namespace relay::pattern {

enum class Kind : uint8_t {
  Wildcard,  // parts: the pattern it is redirected to, if any
  Expr,      // this expression, up to the names of bound variables
  Var,       // of this name; empty for any
  Constant,  // any
  Call,      // parts: callee, arguments
  Function,  // parts: body, parameters
  If,        // parts: condition, then, else
  Let,       // parts: variable, value, body
  Tuple,     // parts: elements
  Get,       // parts: tuple; of this index, or -1
  Either,    // parts: one, other
  Type,      // parts: pattern; the conditions apply to the expression that it matches
  DType,
  Shape,
  Attrs,      // of a call, a function, an operator
  Guard,      // evaluated last, on the expression that the part matches
  Dominates,  // parts: parent, path, child
};

struct Node;
using Pattern = Ref<const Node>;
using Patterns = std::vector<Pattern>;

struct Node : Counted {
  explicit Node(Kind k, Patterns p = {}) : kind(k), parts(std::move(p)) {}
  Kind kind;
  Patterns parts;
  bool any = false;  // Call, Function, Tuple: with any arguments, parameters, elements
  ir::Expr expr;
  std::string name;
  int64_t index = -1;
  ir::Type type;
  DType dtype = {};
  ir::Dims shape;
  ir::DictAttrs attrs;
  std::function<bool(const ir::Expr&)> guard;
};

Pattern wildcard();
Pattern expr(ir::Expr e);
Pattern op(std::string_view name);  // the operator itself: call(op("add"), {x, y})
Pattern var(std::string name = "");
Pattern constant();
Pattern call(Pattern callee, Patterns args);
Pattern any_call(Pattern callee);
Pattern function(Patterns params, Pattern body);
Pattern any_function(Pattern body);
Pattern if_(Pattern condition, Pattern then_branch, Pattern else_branch);
Pattern let(Pattern var, Pattern value, Pattern body);
Pattern tuple(Patterns elements);
Pattern any_tuple();
Pattern get(Pattern tuple, int64_t index = -1);
Pattern either(Pattern one, Pattern other);
Pattern has_type(Pattern p, ir::Type type);
Pattern has_dtype(Pattern p, DType dtype);
Pattern has_shape(Pattern p, ir::Dims shape);
// Requires these attributes of the call or function; of an operator TOpPattern, its fusion class as a number (0
// elementwise, 1 broadcast, 2 injective, 3 reduction, 4 with elementwise followers, 8 opaque).
Pattern has_attrs(Pattern p, ir::DictAttrs attrs);
Pattern where(Pattern p, std::function<bool(const ir::Expr&)> guard);
// Matches `child` if every path from it to the inputs passes through expressions that match `path` to one that matches
// `parent`.
Pattern dominates(Pattern parent, Pattern path, Pattern child);

// Makes a wildcard match whatever `target` matches, independently at each use; if `target` contains the wildcard, the
// pattern repeats. A null target restores an ordinary wildcard. A pattern that contains itself is never freed. Returns
// an error if the pattern would repeat without consuming a part of the program, or within the parent or path of a
// dominator.
Status redirect(const Pattern& wildcard, const Pattern& target);

// The expression matched by each pattern node. Nodes of alternatives that were not taken are absent.
struct Match {
  // `turn`: the repetition of a redirected wildcard that contains the node; 0 outside of them.
  struct Entry {
    const Node* pattern;
    int turn;
    ir::Expr e;
  };
  std::vector<Entry> entries;

  const ir::Expr* find(const Pattern& p, int turn = 0) const {
    for (const Entry& entry : entries)
      if (entry.pattern == p.get() && entry.turn == turn) return &entry.e;
    return nullptr;
  }
  const ir::Expr& at(const Pattern& p, int turn = 0) const {
    const ir::Expr* e = find(p, turn);
    RELAY_CHECK(e, "the match does not have this pattern");
    return *e;
  }
};

class Matcher {
 public:
  // `module`: used to infer the types of untyped expressions.
  explicit Matcher(Pattern pattern, const ir::Module* module = nullptr);
  ~Matcher();
  Matcher(Matcher&&) noexcept;

  // Null if `e` does not match. The result is valid until the next call.
  const Match* match(const ir::Expr& e);
  // The reasons why types that the pattern requires could not be inferred.
  const Diagnostics& errors() const { return errors_; }

 private:
  struct Goal {
    const Node* pattern;
    ir::Expr e;
    int turn;
    int next;
    bool after;  // the part has matched; only the remaining checks are left
  };
  struct Choice {
    int goals;  // -1: a redirected wildcard has no alternatives left
    size_t entries;
    const Node* redirected = nullptr;
    ir::Expr e = {};
  };
  struct Paths;
  using Key = std::pair<const Node*, int>;
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const Node*>()(key.first) + static_cast<size_t>(key.second) * 0x9E3779B97F4A7C15ull;
    }
  };

  int add(const Node* pattern, const ir::Expr& e, int turn, int next, bool after = false);
  int add(const Patterns& patterns, size_t first, const ir::Exprs& e, int turn, int next);
  void choose(int goals) { choices_.push_back({goals, match_.entries.size()}); }
  int last_choice();
  bool step(const Goal& goal, int* next);
  bool structure(const Goal& goal, int* next);
  bool call(const Goal& goal, int* next);
  void associate(const Goal& goal, const ir::Call& c);
  bool conditions(const Node& p, const ir::Expr& e);
  bool last_questions(const Goal& goal, int* next);
  const ir::Type& type_of(const ir::Expr& e);

  Pattern pattern_;
  const ir::Module* module_;
  Match match_;
  std::vector<Goal> goals_;
  std::vector<Choice> choices_;
  std::unordered_map<Key, size_t, KeyHash> bound_;  // index in the entries
  int turns_ = 0;
  // The result for a redirected wildcard does not depend on its context, so it is computed once per expression.
  struct AskedHash {
    size_t operator()(const std::pair<const Node*, ir::Expr>& asked) const {
      return std::hash<const void*>()(asked.first) * 31 + std::hash<const void*>()(asked.second.get());
    }
  };
  std::unordered_map<std::pair<const Node*, ir::Expr>, bool, AskedHash> redirected_;  // whether it matches
  std::unordered_map<const Node*, std::unique_ptr<Paths>> paths_;
  Diagnostics errors_;
};

// True if has_type(), has_dtype() or has_shape() occurs in the pattern.
bool needs_types(const Pattern& pattern);

struct Rule {
  Pattern pattern;
  // The replacement of a match. `before`: the node before this sweep; `now`: the node with replacements below it;
  // `match` is a match of `now`.
  std::function<ir::Expr(const ir::Expr& before, const ir::Expr& now, const Match& match)> replace;
  bool once = false;   // one sweep only
  bool typed = false;  // `before` has a type
};

// Sweeps over the program with one rule after another until none changes it; an error if they still do after 100
// sweeps. In one sweep of a rule, matches do not overlap (those nearer to the result win), and no inner value of a
// match is used outside of it, so nothing is computed twice afterwards.
Result<ir::Expr> rewrite(const std::vector<Rule>& rules, const ir::Expr& root, const ir::Module* module = nullptr);

// Replaces every match for which `check` holds by a call of a function of the values of its wildcards and variables.
// Matches are those of rewrite(); in a match that contains a branch or a let, all inputs are variables or constants.
// The functions have `attrs` and PartitionedFromPattern: the operators in them, "nn.conv2d_nn.relu_".
Result<ir::Expr> partition(const Pattern& pattern, const ir::Expr& root, const ir::DictAttrs& attrs = {},
                           const std::function<bool(const ir::Expr&)>& check = {}, const ir::Module* module = nullptr);

}  // namespace relay::pattern
