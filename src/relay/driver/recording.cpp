#include "relay/driver/recording.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <deque>
#include <unordered_set>

#include "relay/base/printable.h"
#include "relay/ir/fields.h"
#include "relay/ir/rewrite.h"
#include "relay/text/text.h"

namespace relay::driver {

static std::string cut_text(const std::string& text) {
  if (text.size() <= Texts::longest) return printable_line(text);
  return printable_line(text.substr(0, Texts::longest)) + "...";
}

int Texts::number(const std::string& text) {
  std::string clean = cut_text(text);
  const auto [place, added] = numbers_.try_emplace(std::move(clean), static_cast<int>(texts_.size()));
  if (added) texts_.push_back(place->first);
  return place->second;
}

// --- descriptions of nodes -------------------------------------------------------------------------------------------

// The size of a value of this type in bytes; -1 if unknown.
static int64_t bytes_of(const ir::Type& type) {
  if (type && type->kind == ir::TypeKind::Tensor) {
    const auto& tensor = static_cast<const ir::TensorType&>(*type);
    double bytes = tensor.dtype.bytes();
    for (const scalar::Expr& size : tensor.shape) {
      if (!scalar::is_int(size)) return -1;
      bytes *= static_cast<double>(size->ivalue);
    }
    return bytes < 9e18 ? static_cast<int64_t>(bytes) : -1;
  }
  if (!type || type->kind != ir::TypeKind::Tuple) return -1;
  int64_t sum = 0;
  for (const ir::Type& field : static_cast<const ir::TupleType&>(*type).fields) {
    // Tuples inside of tuples are rare, and types may be nested deeply: they count as unknown.
    const int64_t bytes = field && field->kind == ir::TypeKind::Tensor ? bytes_of(field) : -1;
    if (bytes < 0) return -1;
    sum += bytes;
  }
  return sum;
}

int Recording::type_of(const ir::Type& type) {
  if (!type) return -1;
  if (auto seen = seen_types_.find(type.get()); seen != seen_types_.end()) return seen->second.second;
  TypeText text{cut_text(ir::str(type)), {}, bytes_of(type)};
  if (type->kind == ir::TypeKind::Tensor) text.dtype = static_cast<const ir::TensorType&>(*type).dtype.str();
  const auto [place, added] = type_numbers_.try_emplace(text.text, static_cast<int>(types_.size()));
  if (added) types_.push_back(std::move(text));
  seen_types_.emplace(type.get(), std::pair(type, place->second));
  return place->second;
}

int Recording::place_number(const Span& span) {
  if (!span) return -1;
  const auto [place, added] =
      place_numbers_.try_emplace(build::Provenance::key(span), static_cast<int>(places_.size()));
  if (added) places_.push_back(span);
  return place->second;
}

int Recording::place_of(const Span& span) const {
  const auto found = span ? place_numbers_.find(build::Provenance::key(span)) : place_numbers_.end();
  return found == place_numbers_.end() ? -1 : found->second;
}

// "Cons(%head, _)", of an outer pattern only: inner ones become "..".
static std::string text_of(const ir::Pattern& pattern) {
  auto outer = [](const ir::Pattern& p) -> std::string {
    switch (p->kind) {
      case ir::PatternKind::Wildcard: return "_";
      case ir::PatternKind::Var: return "%" + p->var->name;
      case ir::PatternKind::Constructor: return ir::as<ir::Constructor>(p->constructor)->name;
      case ir::PatternKind::Tuple: return "";
    }
    return "";
  };
  std::string out = outer(pattern);
  if (pattern->patterns.empty()) return out;
  std::vector<std::string> inner;
  for (const ir::Pattern& p : pattern->patterns) inner.push_back(outer(p) + (p->patterns.empty() ? "" : "(..)"));
  return format("{}({})", out, join(inner, ", "));
}

static std::string label_of(const ir::Expr& e) {
  if (const ir::Call* call = ir::as<ir::Call>(e)) {
    const ir::Op* op = ir::as<ir::Op>(call->callee);
    return op ? op->name : "call";
  }
  if (const ir::Var* var = ir::as<ir::Var>(e)) return "%" + var->name;
  if (const ir::GlobalVar* global = ir::as<ir::GlobalVar>(e)) return "@" + global->name;
  if (const ir::Constructor* constructor = ir::as<ir::Constructor>(e)) return constructor->name;
  if (const ir::Op* op = ir::as<ir::Op>(e)) return op->name;
  if (const ir::TupleGetItem* get = ir::as<ir::TupleGetItem>(e)) return format(".{}", get->index);
  if (const ir::Constant* constant = ir::as<ir::Constant>(e))
    return constant->value.elements() == 1 && constant->value.shape().empty() ? text::str(e) : "constant";
  if (const ir::Function* f = ir::as<ir::Function>(e)) return f->is_primitive() ? "group" : "fn";
  std::string name = ir::name(e->kind);  // "Match"
  name[0] = static_cast<char>(std::tolower(name[0]));
  return name;
}

static std::string attrs_of(const ir::Expr& e) {
  if (const ir::Call* call = ir::as<ir::Call>(e)) return call->attrs ? text::str(call->attrs) : "";
  std::vector<std::string> parts;
  if (const ir::Function* f = ir::as<ir::Function>(e)) {
    for (const auto& [name, value] : f->attrs) parts.push_back(format("{}={}", name, cut_text(ir::str(value))));
    return format("{}", join(parts, ", "));
  }
  const ir::Match* match = ir::as<ir::Match>(e);
  if (!match) return "";
  for (const ir::Clause& clause : match->clauses) parts.push_back(text_of(clause.pattern));
  return format("{}", join(parts, " | "));
}

Row Recording::described(const ir::Expr& node) {
  Row row;
  row.kind = static_cast<int>(node->kind);
  const ir::Call* call = ir::as<ir::Call>(node);
  if (call && call->callee->kind == ir::ExprKind::Op) row.kind = operator_call;
  row.label = labels_.number(label_of(node));
  row.type = type_of(node->type);
  row.place = place_number(node->span);
  if (const std::string attrs = attrs_of(node); !attrs.empty()) row.attrs = labels_.number(attrs);
  if (const ir::Constant* constant = ir::as<ir::Constant>(node)) row.data = constant->value.data();
  return row;
}

// The number that stands between the variables of a match's patterns and its bodies.
static constexpr int end_of_variables = -1;

static Row without_operands(const Row& row) {
  return {
      .kind = row.kind, .label = row.label, .type = row.type, .place = row.place, .attrs = row.attrs, .data = row.data};
}

// Calls f with the parameters of a function or the variable of a let, then with the children. A match has its data, the
// variables of its patterns, null, and its bodies.
static void for_each_part(const ir::Expr& node, function_ref<void(const ir::Expr&)> f) {
  if (const ir::Function* function = ir::as<ir::Function>(node))
    for (const ir::VarRef& p : function->params) f(p);
  if (const ir::Let* let = ir::as<ir::Let>(node)) f(let->var);
  if (const ir::Match* match = ir::as<ir::Match>(node)) {
    f(match->data);
    for (const ir::Clause& clause : match->clauses) ir::for_each_var(clause.pattern, f);
    f(nullptr);
    for (const ir::Clause& clause : match->clauses) f(clause.body);
    return;
  }
  const ir::Call* call = ir::as<ir::Call>(node);
  const bool has_operator = call && call->callee->kind == ir::ExprKind::Op;
  bool is_first = true;
  ir::for_each_child(node, [&](const ir::Expr& child) {
    if (!(has_operator && is_first)) f(child);
    is_first = false;
  });
}

void Recording::add_children(const ir::Expr& node, const ir::NodeMap<int>& numbers, Row& row) const {
  for_each_part(node,
                [&](const ir::Expr& part) { row.args.push_back(part ? *numbers.find(part.get()) : end_of_variables); });
}

// --- a module as a list of nodes -------------------------------------------------------------------------------------

// The nodes of each definition, operands first. Nodes that several functions share belong to the outermost.
std::vector<Recording::Item> Recording::items_of(const ir::Module& module) {
  std::vector<Item> out;
  ir::NodeSet seen;
  std::deque<Item> functions;  // whose bodies are still to be visited
  for (const auto& [name, f] : module.functions) {
    if (!seen.insert(f.get())) continue;
    out.push_back({f, nullptr});
    functions.push_back(out.back());
    while (!functions.empty()) {
      const ir::Expr owner = functions.front().node;
      functions.pop_front();
      std::vector<std::pair<ir::Expr, bool>> stack;  // true: its parts are done
      std::vector<ir::Expr> parts;
      auto add_part = [&](const ir::Expr& part) {
        if (part) parts.push_back(part);
      };
      for_each_part(owner, add_part);
      for (size_t i = parts.size(); i-- > 0;) stack.emplace_back(parts[i], false);
      while (!stack.empty()) {
        auto [node, is_done] = stack.back();
        stack.pop_back();
        if (is_done) {
          out.push_back({node, owner.get()});
          continue;
        }
        if (!seen.insert(node.get())) continue;
        if (node->kind == ir::ExprKind::Function) {
          out.push_back({node, owner.get()});
          functions.push_back(out.back());
          continue;
        }
        stack.emplace_back(node, true);
        parts.clear();
        for_each_part(node, add_part);
        for (size_t i = parts.size(); i-- > 0;) stack.emplace_back(parts[i], false);
      }
    }
  }
  return out;
}

// --- numbers of new nodes --------------------------------------------------------------------------------------------

// The rows of removed nodes, which new nodes take over.
class Recording::Match {
 public:
  Match(const std::vector<Row>& rows, const std::vector<int>& free) {
    for (int number : free) {
      const Row& row = rows[static_cast<size_t>(number)];
      exact_[{key(row), row.args}].push_back(number);
      near_[key(row)].push_back(number);
      if (row.place >= 0 && is_call(row)) by_place_[row.place].push_back(number);
    }
  }
  // -1 if none. `args`: of the new row, if all have numbers.
  int take(const Row& row, const std::vector<int>* args) {
    if (args) {
      if (auto found = exact_.find({key(row), *args}); found != exact_.end())
        if (const int number = first(found->second); number >= 0) return number;
    }
    auto found = near_.find(key(row));
    return found == near_.end() ? -1 : first(found->second);
  }
  int take_by_place(const Row& row) {
    if (row.place < 0 || !is_call(row)) return -1;
    auto found = by_place_.find(row.place);
    return found == by_place_.end() ? -1 : first(found->second);
  }
  bool is_taken(int number) const { return taken_.contains(number); }

 private:
  using Key = std::array<int, 4>;
  static bool is_call(const Row& row) {
    return row.kind == operator_call || row.kind == static_cast<int>(ir::ExprKind::Call);
  }
  // Constants and variables have no operands that tell them from others: their type does.
  static Key key(const Row& row) {
    const bool is_leaf =
        row.kind == static_cast<int>(ir::ExprKind::Constant) || row.kind == static_cast<int>(ir::ExprKind::Var);
    return {row.place, row.kind, row.label, is_leaf ? row.type : -1};
  }
  int first(std::deque<int>& numbers) {
    while (!numbers.empty() && taken_.contains(numbers.front())) numbers.pop_front();
    if (numbers.empty()) return -1;
    const int number = numbers.front();
    numbers.pop_front();
    taken_.insert(number);
    return number;
  }

  std::unordered_set<int> taken_;
  std::map<std::pair<Key, std::vector<int>>, std::deque<int>> exact_;
  std::map<Key, std::deque<int>> near_;
  std::unordered_map<int, std::deque<int>> by_place_;
};

Recording::Recording(const ir::Module& typed) { record("input", 0, {}, typed); }

void Recording::see(const transform::PassTrace& trace) {
  if (steps_.empty()) record("input", 0, {}, trace.before);
  record(trace.pass.name, trace.seconds * 1e3, trace.applied, trace.after);
}

// Numbers the nodes, and returns the numbers that are not in use any more. `made`: their rows, without operands.
std::vector<int> Recording::number_nodes(const std::vector<Item>& items, const std::vector<Row>& made,
                                         ir::NodeMap<int>& numbers) {
  std::vector<char> is_kept(rows_.size(), 0);
  for (const Item& item : items)
    if (const int* number = numbers_.find(item.node.get())) {
      numbers[item.node.get()] = *number;
      is_kept[static_cast<size_t>(*number)] = 1;
    }
  std::vector<int> free;
  for (int number : alive_)
    if (!is_kept[static_cast<size_t>(number)]) free.push_back(number);

  // The same operation at the same place first, so that no other node of the place takes its row.
  Match match(rows_, free);
  for (size_t i = 0; i < items.size(); ++i) {
    if (numbers.contains(items[i].node.get())) continue;
    std::vector<int> args;
    bool has_all = true;
    for_each_part(items[i].node, [&](const ir::Expr& part) {
      const int* number = part ? numbers.find(part.get()) : &end_of_variables;
      number ? args.push_back(*number) : void(has_all = false);
    });
    if (const int number = match.take(made[i], has_all ? &args : nullptr); number >= 0)
      numbers[items[i].node.get()] = number;
  }
  // Then the last of the operations that replace another, because it makes the value that the others read.
  for (size_t i = items.size(); i-- > 0;) {
    if (numbers.contains(items[i].node.get())) continue;
    if (const int number = match.take_by_place(made[i]); number >= 0) numbers[items[i].node.get()] = number;
  }
  for (const Item& item : items) {
    if (numbers.contains(item.node.get())) continue;
    numbers[item.node.get()] = static_cast<int>(rows_.size());
    rows_.emplace_back();
  }
  std::vector<int> removed;
  for (int number : free)
    if (!match.is_taken(number)) removed.push_back(number);
  return removed;
}

void Recording::record(const std::string& pass, double ms, const transform::Applied& applied, const ir::Module& after) {
  Step step{.pass = pass, .ms = ms, .applied = applied, .first = static_cast<int>(rows_.size())};
  if (!steps_.empty() && now_.functions == after.functions) {
    steps_.push_back(std::move(step));
    return;
  }
  const std::vector<Item> items = items_of(after);
  std::vector<Row> made;
  for (const Item& item : items) {
    const int* number = numbers_.find(item.node.get());
    made.push_back(number ? without_operands(rows_[static_cast<size_t>(*number)]) : described(item.node));
  }
  ir::NodeMap<int> numbers;
  step.removed = number_nodes(items, made, numbers);
  step.added.resize(rows_.size() - static_cast<size_t>(step.first));
  alive_.clear();
  for (size_t i = 0; i < items.size(); ++i) {
    const int number = *numbers.find(items[i].node.get());
    if (items[i].owner) made[i].owner = *numbers.find(items[i].owner);
    add_children(items[i].node, numbers, made[i]);
    alive_.push_back(number);
    Row& row = rows_[static_cast<size_t>(number)];
    if (number >= step.first)
      step.added[static_cast<size_t>(number - step.first)] = made[i];
    else if (!(row == made[i]))
      step.changed.emplace_back(number, made[i]);
    row = std::move(made[i]);
  }
  std::sort(alive_.begin(), alive_.end());
  std::sort(step.changed.begin(), step.changed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  for (const auto& [name, f] : after.functions) {
    const int number = *numbers.find(f.get());
    const auto before = now_.functions.find(name);
    const int* old = before == now_.functions.end() ? nullptr : numbers_.find(before->second.get());
    if (!old || *old != number) step.functions[name] = number;
  }
  for (const auto& [name, f] : now_.functions)
    if (!after.functions.contains(name)) step.gone_functions.push_back(name);
  now_ = after;
  numbers_ = std::move(numbers);
  steps_.push_back(std::move(step));
}

}  // namespace relay::driver
