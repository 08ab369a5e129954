// Ensembles of decision trees. All samples walk down all trees together, one level per step: the table of nodes has the
// feature of a node, the value that it is compared with, and the next nodes; a leaf's next node is itself.
#include <algorithm>
#include <cmath>
#include <map>

#include "relay/base/fuzzing.h"
#include "relay/frontend/onnx/ml/scores.h"

namespace relay::onnx::ml {

using ir::Expr;
using ir::Ints;

namespace {

enum class Mode : uint8_t { LessEqual, Less, GreaterEqual, Greater, Equal, NotEqual, Member, Leaf };

struct Node {
  Mode mode = Mode::Leaf;
  int64_t feature = 0;
  double split = 0;
  int64_t yes = 0, no = 0;  // places in the table
  bool missing_yes = false;
  std::vector<std::pair<int64_t, double>> leaf = {};  // (target, weight)
};

struct Forest {
  std::vector<Node> nodes;
  Ints roots;
  int64_t targets = 1;
  int64_t depth = 0;
};

constexpr int64_t max_tree_depth = 512;

// The longest path from a root to a leaf, in time and memory proportional to the number of nodes; reports infinite
// paths.
bool measure(Convert& c, Forest& forest) {
  const int64_t count = static_cast<int64_t>(forest.nodes.size());
  constexpr int64_t unseen = -1, open = -2;
  Ints heights(forest.nodes.size(), unseen);  // the longest path from a node
  Ints work = forest.roots;
  while (!work.empty()) {
    const int64_t at = work.back();
    if (RELAY_REFUSES(at < 0 || at >= count)) {
      c.bad("a tree refers to node {} of {}", at, count);
      return false;
    }
    int64_t& height = heights[static_cast<size_t>(at)];
    const Node& node = forest.nodes[static_cast<size_t>(at)];
    if (height >= 0 || node.mode == Mode::Leaf) {
      height = std::max<int64_t>(height, 0);
      work.pop_back();
      continue;
    }
    int64_t longest = 0;
    const bool is_first = height == unseen;
    height = open;
    for (int64_t child : {node.yes, node.no}) {
      const int64_t below = child >= 0 && child < count ? heights[static_cast<size_t>(child)] : unseen;
      if (is_first && below < 0) work.push_back(child);
      if (!is_first && below < 0) return c.bad("the nodes of a tree form a cycle"), false;
      longest = std::max(longest, below + 1);
    }
    if (!is_first) height = longest, work.pop_back();
  }
  for (int64_t root : forest.roots) forest.depth = std::max(forest.depth, heights[static_cast<size_t>(root)] + 1);
  if (forest.depth <= max_tree_depth) return true;
  c.unsupported("a tree is {} deep; at most {} can be imported", forest.depth, max_tree_depth);
  return false;
}

std::optional<Mode> mode_of(std::string_view name) {
  static constexpr std::pair<std::string_view, Mode> names[] = {{"BRANCH_LEQ", Mode::LessEqual},
                                                                {"BRANCH_LT", Mode::Less},
                                                                {"BRANCH_GTE", Mode::GreaterEqual},
                                                                {"BRANCH_GT", Mode::Greater},
                                                                {"BRANCH_EQ", Mode::Equal},
                                                                {"BRANCH_NEQ", Mode::NotEqual},
                                                                {"LEAF", Mode::Leaf}};
  for (const auto& [text, mode] : names)
    if (text == name) return mode;
  return std::nullopt;
}

// The form before version 5: nodes are identified by a tree and a number in it. `what`: "target" or "class".
std::optional<Forest> read_named(Convert& c, const std::string& what) {
  const Ints trees = c.ints("nodes_treeids"), ids = c.ints("nodes_nodeids"), features = c.ints("nodes_featureids"),
             yes = c.ints("nodes_truenodeids"), no = c.ints("nodes_falsenodeids"),
             missing = c.ints("nodes_missing_value_tracks_true", Ints(ids.size(), 0));
  const std::vector<double> splits = float_values(c, "nodes_values", "nodes_values_as_tensor");
  const auto* modes = c.value_of<std::vector<std::string_view>>("nodes_modes");
  const size_t count = ids.size();
  if (!modes || modes->size() != count || trees.size() != count || features.size() != count || yes.size() != count ||
      no.size() != count || splits.size() != count || missing.size() != count || count == 0)
    return c.bad("the lists of its nodes differ in length, or are empty");
  std::map<std::pair<int64_t, int64_t>, int64_t> places;
  for (size_t i = 0; i < count; ++i)
    if (!places.emplace(std::pair(trees[i], ids[i]), static_cast<int64_t>(i)).second)
      return c.bad("node {} of tree {} is defined twice", ids[i], trees[i]);
  auto place = [&](int64_t tree, int64_t id) {
    auto found = places.find({tree, id});
    return found == places.end() ? int64_t{-1} : found->second;
  };
  Forest forest;
  for (size_t i = 0; i < count; ++i) {
    std::optional<Mode> mode = mode_of((*modes)[i]);
    if (!mode) return c.unsupported("a node's mode is '{}'", (*modes)[i]);
    Node node{*mode, features[i], splits[i], 0, 0, missing[i] != 0};
    node.yes = *mode == Mode::Leaf ? 0 : place(trees[i], yes[i]);
    node.no = *mode == Mode::Leaf ? 0 : place(trees[i], no[i]);
    if (*mode == Mode::Leaf) node.yes = node.no = static_cast<int64_t>(i), node.feature = 0;
    forest.nodes.push_back(std::move(node));
    if (i == 0 || trees[i] != trees[i - 1]) forest.roots.push_back(static_cast<int64_t>(i));
  }
  const Ints leaf_trees = c.ints(what + "_treeids"), leaf_ids = c.ints(what + "_nodeids"),
             targets = c.ints(what + "_ids");
  const std::vector<double> weights = float_values(c, what + "_weights", what + "_weights_as_tensor");
  if (leaf_ids.size() != leaf_trees.size() || targets.size() != leaf_ids.size() || weights.size() != leaf_ids.size())
    return c.bad("the lists of its leaves differ in length");
  for (size_t i = 0; i < leaf_ids.size(); ++i) {
    const int64_t at = place(leaf_trees[i], leaf_ids[i]);
    if (at < 0) return c.bad("a leaf is node {} of tree {}, which does not exist", leaf_ids[i], leaf_trees[i]);
    forest.nodes[static_cast<size_t>(at)].leaf.emplace_back(targets[i], weights[i]);
  }
  return forest;
}

// Splits a node that tests for several values into a chain of nodes that test for one each.
bool split_members(Convert& c, Forest& forest, const std::vector<double>& values) {
  size_t at = 0;
  const size_t count = forest.nodes.size();
  for (size_t i = 0; i < count; ++i) {
    if (forest.nodes[i].mode != Mode::Member) continue;
    size_t place = i;
    if (at >= values.size() || std::isnan(values[at])) {
      c.bad("a set of membership_values is missing or empty");
      return false;
    }
    for (; at < values.size() && !std::isnan(values[at]); ++at) {
      Node& node = forest.nodes[place];
      node.mode = Mode::Equal, node.split = values[at];
      const bool more = at + 1 < values.size() && !std::isnan(values[at + 1]);
      if (!more) continue;
      Node rest = node;
      forest.nodes[place].no = static_cast<int64_t>(forest.nodes.size());
      place = forest.nodes.size();
      forest.nodes.push_back(std::move(rest));
    }
    ++at;  // the NaN after the set
  }
  return true;
}

// Version 5: nodes and leaves have separate lists.
std::optional<Forest> read_numbered(Convert& c) {
  const Ints features = c.ints("nodes_featureids"), yes = c.ints("nodes_truenodeids"),
             no = c.ints("nodes_falsenodeids"), yes_leaf = c.ints("nodes_trueleafs"),
             no_leaf = c.ints("nodes_falseleafs"),
             missing = c.ints("nodes_missing_value_tracks_true", Ints(features.size(), 0)),
             targets = c.ints("leaf_targetids");
  const std::vector<double> splits = float_values(c, "", "nodes_splits"), weights = float_values(c, "", "leaf_weights"),
                            modes = float_values(c, "", "nodes_modes"),
                            members = float_values(c, "", "membership_values");
  const size_t count = features.size();
  if (count == 0 || yes.size() != count || no.size() != count || yes_leaf.size() != count || no_leaf.size() != count ||
      splits.size() != count || modes.size() != count || missing.size() != count || targets.size() != weights.size())
    return c.bad("the lists of its nodes or leaves differ in length, or are empty");
  Forest forest;
  forest.nodes.resize(count);
  const int64_t leaves = static_cast<int64_t>(count);
  for (size_t i = 0; i < targets.size(); ++i) {
    Node leaf;
    leaf.yes = leaf.no = leaves + static_cast<int64_t>(i);
    leaf.leaf.emplace_back(targets[i], weights[i]);
    forest.nodes.push_back(std::move(leaf));
  }
  for (size_t i = 0; i < count; ++i) {
    if (!(modes[i] >= 0 && modes[i] <= 6)) return c.bad("a node's mode is {}", modes[i]);
    Node& node = forest.nodes[i];
    node = {static_cast<Mode>(static_cast<int>(modes[i])), features[i], splits[i], yes[i], no[i], missing[i] != 0};
    for (auto [child, is_leaf] : {std::pair(&node.yes, yes_leaf[i]), std::pair(&node.no, no_leaf[i])}) {
      const int64_t limit = is_leaf ? static_cast<int64_t>(targets.size()) : leaves;
      if (*child < 0 || *child >= limit)
        return c.bad("a node refers to {} {} of {}", is_leaf ? "leaf" : "node", *child, limit);
      if (is_leaf) *child += leaves;
    }
  }
  forest.roots = c.ints("tree_roots");
  if (!split_members(c, forest, members)) return std::nullopt;
  return forest;
}

// Walks down, and adds up the weights of the leaves.
class Walk {
 public:
  Walk(Convert& c, const Forest& forest, Expr x) : c_(c), forest_(forest), x_(std::move(x)), dtype_(c.dtype(x_)) {}

  // (N, targets); `how`: SUM, AVERAGE, MIN or MAX.
  Expr scores(const std::string& how) {
    std::optional<int64_t> features = c_.extent(x_, 1);
    if (!features) return c_.unsized("X is {}; the number of features must be fixed", ir::str(x_->type));
    for (const Node& node : forest_.nodes)
      if (node.feature < 0 || node.feature >= *features)
        return c_.bad("a node reads feature {} of {}", node.feature, *features);
    row_ = c_.expand(c_.multiply(c_.cast(c_.count_up(x_, 0), DType::int64()), c_.integer_scalar(*features)), 1);
    flat_ = c_.emit("reshape", {x_}, {{"newshape", Ints{-1}}});
    Expr at =
        c_.constant(Tensor::from_ints({1, static_cast<int64_t>(forest_.roots.size())}, DType::int64(), forest_.roots));
    for (int64_t level = 1; level < std::max<int64_t>(forest_.depth, 2); ++level) at = step(at);
    return summed(at, how);
  }

 private:
  template <class F>
  Expr table(const char* name, DType dtype, F value) {
    Expr& made = tables_[name];
    if (made) return made;
    Tensor tensor = Tensor::empty({static_cast<int64_t>(forest_.nodes.size())}, dtype);
    for (size_t i = 0; i < forest_.nodes.size(); ++i) {
      if (dtype.is_float())
        tensor.set(static_cast<int64_t>(i), static_cast<double>(value(forest_.nodes[i])));
      else
        tensor.set_int(static_cast<int64_t>(i), static_cast<int64_t>(value(forest_.nodes[i])));
    }
    return made = c_.constant(std::move(tensor));
  }
  Expr look(const Expr& table, const Expr& at) {
    return c_.emit("take", {table, at}, {{"axis", int64_t{0}}, {"mode", "clip"}});
  }
  bool any(Mode mode) const {
    return std::any_of(forest_.nodes.begin(), forest_.nodes.end(), [&](const Node& n) { return n.mode == mode; });
  }

  Expr step(const Expr& at) {
    auto number = [](auto member) { return [member](const Node& n) { return n.*member; }; };
    Expr feature = look(table("feature", DType::int64(), number(&Node::feature)), at);
    Expr value = look(flat_, c_.add(row_, feature));
    Expr split = look(table("split", dtype_, number(&Node::split)), at);
    Expr yes = compared(value, split, at);
    if (std::any_of(forest_.nodes.begin(), forest_.nodes.end(), [](const Node& n) { return n.missing_yes; })) {
      Expr tracks = look(table("missing", DType::boolean(), number(&Node::missing_yes)), at);
      yes = c_.emit("logical_or", {yes, c_.emit("logical_and", {tracks, c_.emit("isnan", {value})})});
    }
    return c_.emit("where", {yes, look(table("yes", DType::int64(), number(&Node::yes)), at),
                             look(table("no", DType::int64(), number(&Node::no)), at)});
  }

  Expr compared(const Expr& value, const Expr& split, const Expr& at) {
    static constexpr std::pair<Mode, const char*> ops[] = {
        {Mode::LessEqual, "less_equal"}, {Mode::Less, "less"},   {Mode::GreaterEqual, "greater_equal"},
        {Mode::Greater, "greater"},      {Mode::Equal, "equal"}, {Mode::NotEqual, "not_equal"}};
    Expr result;
    for (const auto& [mode, op] : ops) {
      if (!any(mode)) continue;
      Expr holds = c_.emit(op, {value, split});
      if (result) {
        Expr modes = look(table("mode", DType::int32(), [](const Node& n) { return static_cast<int>(n.mode); }), at);
        Expr here = c_.emit("equal", {modes, c_.scalar(static_cast<double>(static_cast<int>(mode)), DType::int32())});
        holds = c_.emit("where", {here, holds, result});
      }
      result = holds;
    }
    return result ? result : c_.emit("less_equal", {value, split});  // leaves only
  }

  Expr summed(const Expr& at, const std::string& how) {
    const int64_t nodes = static_cast<int64_t>(forest_.nodes.size()), targets = forest_.targets;
    for (const Node& node : forest_.nodes)
      for (const auto& [target, weight] : node.leaf)
        if (target < 0 || target >= targets) return c_.bad("a leaf has target {} of {}", target, targets);
    if (how != "SUM" && how != "AVERAGE" && targets > 1)
      return c_.unsupported("aggregate_function is {} with {} targets", how, targets);
    if (nodes > INT32_MAX / targets || !c_.may_make(nodes * targets, dtype_)) return c_.bad("it has too many leaves");
    Tensor weights = Tensor::full({nodes, targets}, dtype_, 0);
    for (int64_t i = 0; i < nodes; ++i)
      for (const auto& [target, weight] : forest_.nodes[static_cast<size_t>(i)].leaf)
        weights.set(i * targets + target, weights.at(i * targets + target) + weight);
    Expr all = look(c_.constant(std::move(weights)), at);  // (N, trees, targets)
    if (how == "MIN" || how == "MAX") return c_.reduce(how == "MIN" ? "min" : "max", all, {1}, false);
    Expr sum = c_.reduce("sum", all, {1}, false);
    return how == "SUM" ? sum : c_.multiply(sum, 1 / static_cast<double>(forest_.roots.size()));
  }

  Convert& c_;
  const Forest& forest_;
  Expr x_;
  DType dtype_;
  Expr row_, flat_;
  std::map<std::string, Expr> tables_;
};

Expr evaluated(Convert& c, Forest& forest, const std::string& how) {
  Expr x = samples(c);
  if (!x || !measure(c, forest)) return nullptr;
  if (forest.targets < 1) return c.bad("it has {} targets", forest.targets);
  Expr scores = Walk(c, forest, x).scores(how);
  const std::vector<double> base = float_values(c, "base_values", "base_values_as_tensor");
  if (base.empty() || !scores) return scores;
  return c.add(scores, floats(c, base, {static_cast<int64_t>(base.size())}, c.dtype(scores)));
}

}  // namespace

Values TreeEnsembleRegressor(Convert& c) {
  std::optional<Forest> forest = read_named(c, "target");
  if (!forest) return {};
  forest->targets = c.integer("n_targets", 1);
  Expr scores = evaluated(c, *forest, c.text("aggregate_function", "SUM"));
  return {scores ? transformed(c, c.cast(scores, DType::float32())) : scores};
}

Values TreeEnsembleClassifier(Convert& c) {
  std::optional<Forest> forest = read_named(c, "class");
  if (!forest) return {};
  forest->targets = class_count(c);
  // Two classes with the scores of one: those of the second. If they have the number of the second class, the first
  // gets 0.
  Ints ids = c.ints("class_ids");
  std::sort(ids.begin(), ids.end());
  const bool one = forest->targets == 2 && !ids.empty() && ids.front() == ids.back();
  const bool first_is_zero = one && ids.front() == 1;
  if (one) {
    forest->targets = 1;
    for (Node& node : forest->nodes)
      for (auto& leaf : node.leaf) leaf.first = 0;
  }
  const std::vector<double> weights = float_values(c, "class_weights", "class_weights_as_tensor");
  const bool positive = std::all_of(weights.begin(), weights.end(), [](double w) { return w >= 0; });
  Expr scores = evaluated(c, *forest, "SUM");
  if (!scores) return {};
  scores = c.cast(scores, DType::float32());
  Values results = classified(c, scores, one && positive);
  if (first_is_zero && results.size() == 2)
    results[1] = Value(transformed(c, c.concatenate({c.multiply(scores, 0.0), scores}, 1)));
  return results;
}

Values TreeEnsemble(Convert& c) {
  std::optional<Forest> forest = read_numbered(c);
  if (!forest) return {};
  forest->targets = c.integer("n_targets", 1);
  static const char* const how[] = {"AVERAGE", "SUM", "MIN", "MAX"};
  const int64_t aggregate = c.integer("aggregate_function", 1), transform = c.integer("post_transform", 0);
  if (aggregate < 0 || aggregate > 3) return c.bad("aggregate_function is {}", aggregate);
  static const char* const transforms[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT"};
  if (transform < 0 || transform > 4) return c.bad("post_transform is {}", transform);
  Expr scores = evaluated(c, *forest, how[aggregate]);
  return {scores ? transformed(c, scores, transforms[transform]) : scores};
}

}  // namespace relay::onnx::ml
