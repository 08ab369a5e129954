#include "relay/exec/match.h"

#include <algorithm>

namespace relay::exec {

using ir::Pattern;
using ir::PatternKind;

namespace {

constexpr size_t max_decisions = 1 << 16;

class Decider {
 public:
  Decider(const ir::Match& match, const TypeDefs& types) : match_(match), types_(types) {}

  Result<DecisionTree> run() {
    tree_.places.push_back({});
    tree_.uses.assign(match_.clauses.size(), 0);
    Rows rows;
    for (size_t i = 0; i < match_.clauses.size(); ++i) {
      rows.push_back({{}, {}, static_cast<int>(i)});
      add(&rows.back(), 0, match_.clauses[i].pattern);
    }
    tree_.decisions.emplace_back();
    work_.push_back({0, std::move(rows)});
    while (!work_.empty()) {
      Work work = std::move(work_.back());
      work_.pop_back();
      RELAY_RETURN_IF_ERROR(decide(work.decision, std::move(work.rows)));
    }
    return std::move(tree_);
  }

 private:
  struct Test {
    int place;
    Pattern pattern;  // of kind Constructor
  };
  struct Row {
    std::vector<Test> tests;
    std::vector<std::pair<ir::VarRef, int>> variables;
    int clause;
  };
  using Rows = std::vector<Row>;
  struct Work {
    int decision;
    Rows rows;
  };

  int field(int place, uint32_t index) {
    auto [it, fresh] = fields_.try_emplace({place, index}, static_cast<int>(tree_.places.size()));
    if (fresh) tree_.places.push_back({place, index});
    return it->second;
  }

  const ir::TypeDef& definition(const Pattern& p) const {
    const ir::Constructor* c = ir::as<ir::Constructor>(p->constructor);
    RELAY_CHECK(c && types_.count(c->data_type), "a pattern names a constructor of no type");
    return types_.at(c->data_type);
  }

  // Patterns are as deep as written, which the reader limits: this recurses.
  void add(Row* row, int place, const Pattern& p) {
    switch (p->kind) {
      case PatternKind::Wildcard: return;
      case PatternKind::Var: row->variables.emplace_back(p->var, place); return;
      case PatternKind::Constructor:
        if (definition(p).constructors.size() > 1) {
          row->tests.push_back({place, p});
          return;
        }
        break;
      case PatternKind::Tuple: break;
    }
    add_fields(row, place, p);
  }
  void add_fields(Row* row, int place, const Pattern& p) {
    for (size_t i = 0; i < p->patterns.size(); ++i)
      if (p->patterns[i]->kind != PatternKind::Wildcard)
        add(row, field(place, static_cast<uint32_t>(i)), p->patterns[i]);
  }

  Status decide(int number, Rows rows) {
    if (tree_.decisions.size() > max_decisions)
      return Diagnostic{DiagnosticKind::limit_exceeded,
                        "the patterns of this match need too many tests",
                        match_.span,
                        {},
                        {},
                        "match in two steps"};
    if (rows.empty()) return ok();  // a Fail
    const Row& first = rows[0];
    if (first.tests.empty()) {
      Decision& d = tree_.decisions[static_cast<size_t>(number)];
      d.kind = Decision::Kind::Clause, d.clause = first.clause, d.variables = first.variables;
      ++tree_.uses[static_cast<size_t>(first.clause)];
      return ok();
    }
    int place = first.tests[0].place;
    const ir::TypeDef& type = definition(first.tests[0].pattern);
    std::vector<int> targets;
    int otherwise = -1;  // one decision for all constructors that no row names
    for (const Ref<const ir::Constructor>& c : type.constructors) {
      bool named = false;
      Rows fitting;
      for (const Row& row : rows) {
        std::vector<Test>::const_iterator test =
            std::find_if(row.tests.begin(), row.tests.end(), [&](const Test& t) { return t.place == place; });
        if (test == row.tests.end()) {
          fitting.push_back(row);
          continue;
        }
        if (ir::as<ir::Constructor>(test->pattern->constructor)->tag != c->tag) continue;
        named = true;
        Row rest{{}, row.variables, row.clause};
        for (std::vector<Test>::const_iterator t = row.tests.begin(); t != row.tests.end(); ++t)
          if (t != test)
            rest.tests.push_back(*t);
          else
            add_fields(&rest, place, t->pattern);
        fitting.push_back(std::move(rest));
      }
      if (!named && otherwise >= 0) {
        targets.push_back(otherwise);
        continue;
      }
      int target = static_cast<int>(tree_.decisions.size());
      if (!named) otherwise = target;
      targets.push_back(target);
      tree_.decisions.emplace_back();
      work_.push_back({target, std::move(fitting)});
    }
    Decision& d = tree_.decisions[static_cast<size_t>(number)];
    d.kind = Decision::Kind::Switch, d.place = place, d.type = type.name, d.targets = std::move(targets);
    return ok();
  }

  const ir::Match& match_;
  const TypeDefs& types_;
  DecisionTree tree_;
  std::map<std::pair<int, uint32_t>, int> fields_;
  std::vector<Work> work_;
};

std::string place_text(const DecisionTree& tree, int place) {
  const Place& p = tree.places[static_cast<size_t>(place)];
  return p.of < 0 ? "0" : format("{}.{}", place_text(tree, p.of), p.field);
}

}  // namespace

Result<DecisionTree> decide(const ir::Match& match, const TypeDefs& types) { return Decider(match, types).run(); }

std::string str(const DecisionTree& tree) {
  std::string out;
  for (size_t i = 0; i < tree.decisions.size(); ++i) {
    const Decision& d = tree.decisions[i];
    out += format("{}: ", i);
    switch (d.kind) {
      case Decision::Kind::Fail: out += "fail"; break;
      case Decision::Kind::Switch:
        out += format("switch {} {} -> {}", d.type, place_text(tree, d.place), join(d.targets, " "));
        break;
      case Decision::Kind::Clause:
        out += format("clause {}", d.clause);
        for (const auto& [v, place] : d.variables) out += format(" %{} = {}", v->name, place_text(tree, place));
        break;
    }
    out += "\n";
  }
  return out;
}

}  // namespace relay::exec
