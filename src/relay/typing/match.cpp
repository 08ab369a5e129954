// Match: patterns determine the types of their variables, clauses agree on one type, a complete match leaves no case
// out, and every clause is reachable.
#include <algorithm>

#include "relay/typing/infer.h"
#include "relay/typing/typing.h"

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
      matched_ = {place(match->data, match), format("the matched value has type {}", show(type_of(match->data)))};
      type_pattern(clause.pattern, type_of(match->data), 0);
      if (need(clause.body)) return false;
    } else {
      Type& result = results_[match];
      Type body = type_of(clause.body);
      Type both = unifier_.join(result, body);
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
  check_clauses(match);
  set(match, results_[match]);
  results_.erase(match);
  return true;
}

// Assigns types to the variables of a pattern. `type` is that of the matched value.
void Inference::type_pattern(const Pattern& pattern, const Type& type, int depth) {
  if (depth > Unifier::depth_limit)
    return report(DiagnosticKind::nesting_too_deep, "this pattern is nested too deep", pattern->span,
                  "match in two steps");
  Types parts;
  switch (pattern->kind) {
    case PatternKind::Wildcard: return;
    case PatternKind::Var: {
      const Var* var = pattern->var.get();
      check_annotation(var->annotation, var->span);
      Type known = type;
      if (var->annotation && !unifier_.unify(var->annotation, type))
        mismatch(format("%{}", var->name), var->annotation, type, pattern->span, {matched_}, false);
      set(var, var->annotation ? var->annotation : known);
      return;
    }
    case PatternKind::Tuple: {
      for (size_t i = 0; i < pattern->patterns.size(); ++i) parts.push_back(unifier_.fresh());
      Type tuple = tuple_type(parts);
      if (!unifier_.unify(type, tuple)) {
        mismatch("this pattern", type, tuple, pattern->span, {matched_}, false);
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
               pattern->span, "a pattern has one pattern for each field");
        parts.resize(pattern->patterns.size(), unifier_.error_type());
      }
      if (!unifier_.unify(type, f->result))
        mismatch(format("the pattern {}", constructor->name), type, f->result, pattern->span, {matched_}, false);
      break;
    }
  }
  for (size_t i = 0; i < parts.size(); ++i) type_pattern(pattern->patterns[i], parts[i], depth + 1);
}

// --- the values that the clauses match -------------------------------------------------------------------------------

namespace {

// Rows of patterns, matched column by column; a null pattern matches everything.
class Cases {
 public:
  explicit Cases(const Module& module) : module_(module) {}

  using Row = std::vector<const PatternNode*>;
  using Example = std::optional<std::vector<std::string>>;  // one text per column

  // A value that `wanted` matches and no row does; nullopt if there is none, or if the search gave up.
  Example find(const std::vector<Row>& rows, const Row& wanted) {
    if (gave_up_ || ++steps_ > 20000 || depth_ > 1000) return gave_up_ = true, std::nullopt;
    // The first column with a pattern that is not a variable or wildcard.
    size_t column = 0;
    const PatternNode* shape = nullptr;
    for (; column < wanted.size(); ++column) {
      shape = looks_inside(wanted[column]) ? wanted[column] : nullptr;
      for (size_t r = 0; !shape && r < rows.size(); ++r)
        if (looks_inside(rows[r][column])) shape = rows[r][column];
      if (shape) break;
    }
    if (!shape) return rows.empty() ? Example(std::vector<std::string>(wanted.size(), "_")) : std::nullopt;
    if (shape->kind == PatternKind::Tuple) return find_with(rows, wanted, column, nullptr, shape->patterns.size());
    const Constructor* constructor = as<Constructor>(shape->constructor);
    if (looks_inside(wanted[column])) return find_with(rows, wanted, column, constructor, shape->patterns.size());
    auto def = module_.types.find(constructor->data_type);
    if (def == module_.types.end()) return std::nullopt;
    for (const Ref<const Constructor>& c : def->second.constructors)
      if (Example found = find_with(rows, wanted, column, c.get(), c->inputs.size())) return found;
    return std::nullopt;
  }
  bool gave_up() const { return gave_up_; }

 private:
  static bool looks_inside(const PatternNode* p) {
    return p && (p->kind == PatternKind::Constructor || p->kind == PatternKind::Tuple);
  }

  // The row for values with this constructor (null for a tuple) in a column: its fields replace it. Nullopt if the row
  // does not match them.
  static std::optional<Row> inside(const Row& row, size_t column, const Constructor* c, size_t fields) {
    const PatternNode* p = row[column];
    if (looks_inside(p)) {
      if (p->patterns.size() != fields || (p->kind == PatternKind::Constructor) != (c != nullptr)) return std::nullopt;
      if (c && as<Constructor>(p->constructor)->name != c->name) return std::nullopt;
    }
    Row out(row.begin(), row.begin() + static_cast<std::ptrdiff_t>(column));
    for (size_t i = 0; i < fields; ++i) out.push_back(looks_inside(p) ? p->patterns[i].get() : nullptr);
    out.insert(out.end(), row.begin() + static_cast<std::ptrdiff_t>(column) + 1, row.end());
    return out;
  }

  Example find_with(const std::vector<Row>& rows, const Row& wanted, size_t column, const Constructor* c,
                    size_t fields) {
    std::vector<Row> inner;
    for (const Row& row : rows)
      if (std::optional<Row> next = inside(row, column, c, fields)) inner.push_back(*std::move(next));
    std::optional<Row> inner_wanted = inside(wanted, column, c, fields);
    if (!inner_wanted) return std::nullopt;
    ++depth_;
    Example found = find(inner, *inner_wanted);
    --depth_;
    if (!found) return found;
    auto first = found->begin() + static_cast<std::ptrdiff_t>(column),
         last = first + static_cast<std::ptrdiff_t>(fields);
    std::string text = c ? c->name : "";
    if (fields > 0 || !c)
      text += format("({}{})", join(std::vector<std::string>(first, last), ", "), !c && fields == 1 ? "," : "");
    found->erase(first, last);
    found->insert(found->begin() + static_cast<std::ptrdiff_t>(column), std::move(text));
    return found;
  }

  const Module& module_;
  int64_t steps_ = 0;
  int depth_ = 0;
  bool gave_up_ = false;
};

}  // namespace

// Checks that a complete match leaves no value out, and that each clause matches a value that earlier ones do not.
void Inference::check_clauses(const Match* match) {
  if (!module_) return;
  std::vector<Cases::Row> rows;
  for (const Clause& clause : match->clauses) {
    Cases::Row row{clause.pattern.get()};
    Cases cases(*module_);
    if (!cases.find(rows, row) && !cases.gave_up()) {
      std::vector<Label> labels;
      for (size_t i = 0; i < rows.size() && labels.empty(); ++i)
        if (!Cases(*module_).find({rows[i]}, row) && match->clauses[i].pattern->span)
          labels.push_back({match->clauses[i].pattern->span, "this clause matches all of its values"});
      sink_.report(Diagnostic{.kind = DiagnosticKind::unreachable_clause,
                              .message = "this clause is never reached: the clauses before it match all of its values",
                              .span = clause.pattern->span,
                              .labels = std::move(labels),
                              .help = "remove it, or move it up",
                              .severity = Severity::Warning});
    }
    rows.push_back(std::move(row));
  }
  if (!match->complete) return;
  Cases cases(*module_);
  if (Cases::Example example = cases.find(rows, {nullptr})) {
    report(DiagnosticKind::incomplete_match, format("this match does not handle {}", (*example)[0]), match->span,
           "add a clause for it, or write match? if it cannot occur");
  } else if (cases.gave_up()) {
    report(DiagnosticKind::incomplete_match, "this match is too large to check that it handles every value",
           match->span, "write match?, or match in two steps");
  }
}

std::optional<std::string> unmatched_case(const Match& match, const Module& module) {
  std::vector<Cases::Row> rows;
  for (const Clause& clause : match.clauses) rows.push_back({clause.pattern.get()});
  Cases::Example example = Cases(module).find(rows, {nullptr});
  return example ? std::optional((*example)[0]) : std::nullopt;
}

}  // namespace relay::typing
