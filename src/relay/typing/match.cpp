// Match: patterns give their variables types, clauses agree on one type, and a complete match leaves no case out.
#include <algorithm>

#include "relay/typing/infer.h"

namespace relay::typing {

using namespace ir;

bool Inference::visit_match(const Match* match, uint32_t& step) {
  if (step == 0 && (++step, need(match->data))) return false;
  if (step == 1) {
    step = 2;
    Type data = unifier_.resolve(type_of(match->data));
    if (as<HoleType>(data)) retry_pending();
    results_[match] = unifier_.fresh();
  }
  // Clause i: its pattern at step 2 + 2i, its result at step 3 + 2i.
  while (step - 2 < 2 * match->clauses.size()) {
    const Clause& clause = match->clauses[(step - 2) / 2];
    bool entering = (step++ - 2) % 2 == 0;
    if (entering) {
      type_pattern(clause.pattern, type_of(match->data), 0);
      if (need(clause.body)) return false;
    } else {
      Type& result = results_[match];
      Type body = type_of(clause.body);
      Type both = unifier_.unify(result, body);
      if (both) {
        result = both;
      } else {
        std::vector<Label> labels;
        const Expr& first = match->clauses[0].body;
        if (match->span && &clause != &match->clauses[0]) labels.push_back({place(first, match), "the first clause"});
        mismatch("this clause of the match", result, body, place(clause.body, match), std::move(labels));
      }
    }
  }
  if (match->complete) check_exhaustive(match);
  set(match, results_[match]);
  results_.erase(match);
  return true;
}

// Gives the variables of a pattern their types. `type` is that of what it is matched with.
void Inference::type_pattern(const Pattern& pattern, const Type& type, int depth) {
  if (depth > Unifier::depth_limit)
    return report(DiagnosticKind::nesting_too_deep, "this pattern is nested too deep", pattern->span);
  Types parts;
  switch (pattern->kind) {
    case PatternKind::Wildcard: return;
    case PatternKind::Var: {
      const Var* var = pattern->var.get();
      check_annotation(var->annotation, var->span);
      Type known = type;
      if (var->annotation && !unifier_.unify(var->annotation, type))
        mismatch(format("%{}", var->name), var->annotation, type, pattern->span);
      set(var, var->annotation ? var->annotation : known);
      return;
    }
    case PatternKind::Tuple: {
      for (size_t i = 0; i < pattern->patterns.size(); ++i) parts.push_back(unifier_.fresh());
      Type tuple = tuple_type(parts);
      if (!unifier_.unify(type, tuple)) {
        mismatch("this pattern", type, tuple, pattern->span);
        for (Type& part : parts) part = unifier_.error_type();
      }
      break;
    }
    case PatternKind::Constructor: {
      const Constructor* constructor = as<Constructor>(pattern->constructor);
      Type instance = unifier_.instantiate(constructor_type(constructor), false);
      const FuncType* f = as<FuncType>(instance);
      parts = f->args;
      if (parts.size() != pattern->patterns.size()) {
        report(DiagnosticKind::wrong_argument_count,
               format("the constructor {} has {}, the pattern {}", constructor->name,
                      plural(static_cast<int64_t>(parts.size()), "field", "fields"), pattern->patterns.size()),
               pattern->span);
        parts.resize(pattern->patterns.size(), unifier_.error_type());
      }
      if (!unifier_.unify(type, f->result))
        mismatch(format("the pattern {}", constructor->name), type, f->result, pattern->span);
      break;
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) type_pattern(pattern->patterns[i], parts[i], depth + 1);
}

// --- exhaustiveness -------------------------------------------------------------------------------------------------------

namespace {

// Rows of patterns, matched column by column; a null pattern matches everything. Finds values that no row matches.
class Cases {
 public:
  explicit Cases(const Module& module) : module_(module) {}

  using Row = std::vector<const PatternNode*>;
  // An example, one text a column; nothing when every value is matched (or the search took too long).
  std::optional<std::vector<std::string>> missing(const std::vector<Row>& rows, size_t width) {
    if (++steps_ > 20000) return std::nullopt;
    if (width == 0) return rows.empty() ? std::optional(std::vector<std::string>()) : std::nullopt;
    const PatternNode* shape = nullptr;  // the first pattern of the first column that looks inside
    for (const Row& row : rows)
      if (row[0] && (row[0]->kind == PatternKind::Constructor || row[0]->kind == PatternKind::Tuple)) {
        shape = row[0];
        break;
      }
    if (!shape) return with_first(rows, nullptr, 0, width, "_");
    if (shape->kind == PatternKind::Tuple) return with_first(rows, nullptr, shape->patterns.size(), width, "");
    auto def = module_.types.find(as<Constructor>(shape->constructor)->data_type);
    if (def == module_.types.end()) return std::nullopt;
    for (const Ref<const Constructor>& c : def->second.constructors)
      if (std::optional<std::vector<std::string>> found = with_first(rows, c.get(), c->inputs.size(), width, c->name))
        return found;
    return std::nullopt;
  }

 private:
  // The rows whose first pattern takes this constructor (null: a tuple, or anything), its fields in place of it.
  std::optional<std::vector<std::string>> with_first(const std::vector<Row>& rows, const Constructor* c, size_t fields,
                                                     size_t width, const std::string& name) {
    std::vector<Row> inner;
    for (const Row& row : rows) {
      const PatternNode* first = row[0];
      bool looks = first && (first->kind == PatternKind::Constructor || first->kind == PatternKind::Tuple);
      if (looks && c &&
          (first->kind != PatternKind::Constructor || as<Constructor>(first->constructor)->name != c->name))
        continue;
      if (looks && first->patterns.size() != fields) continue;
      Row next;
      for (size_t i = 0; i < fields; ++i) next.push_back(looks ? first->patterns[i].get() : nullptr);
      next.insert(next.end(), row.begin() + 1, row.end());
      inner.push_back(std::move(next));
    }
    std::optional<std::vector<std::string>> found = missing(inner, fields + width - 1);
    if (!found) return found;
    std::string text = name;
    if (fields > 0 || name.empty())
      text += format(
          "({})",
          join(std::vector<std::string>(found->begin(), found->begin() + static_cast<std::ptrdiff_t>(fields)), ", "));
    std::vector<std::string> example{text};
    example.insert(example.end(), found->begin() + static_cast<std::ptrdiff_t>(fields), found->end());
    return example;
  }

  const Module& module_;
  int64_t steps_ = 0;
};

}  // namespace

void Inference::check_exhaustive(const Match* match) {
  if (!module_) return;
  std::vector<Cases::Row> rows;
  for (const Clause& clause : match->clauses) rows.push_back({clause.pattern.get()});
  std::optional<std::vector<std::string>> example = Cases(*module_).missing(rows, 1);
  if (example)
    report(DiagnosticKind::type_mismatch, format("this match does not handle {}", (*example)[0]), match->span,
           "add a clause for it, or write match? where it cannot happen");
}

}  // namespace relay::typing
