#include "relay/transform/partition/regions.h"

#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/transform/attributes.h"

namespace relay::transform {

using namespace ir;

const Call* Regions::begin(const Expr& e) { return call_of(e, "annotation.compiler_begin"); }
const Call* Regions::end(const Expr& e) { return call_of(e, "annotation.compiler_end"); }

void Regions::find_scopes() {
  std::vector<int> parent{-1}, depth{0};  // by scope
  auto common = [&](int a, int b) {
    for (; a != b; a = parent[static_cast<size_t>(a)])
      if (depth[static_cast<size_t>(a)] < depth[static_cast<size_t>(b)]) std::swap(a, b);
    return a;
  };
  scopes.assign(flow.nodes.size(), -1);
  scopes.back() = 0;
  for (size_t i = flow.nodes.size(); i-- > 0;) {
    const Expr& e = flow.nodes[i];
    size_t number = 0;
    for_each_open_child(e, [&](const Expr& child) {
      const size_t n = number++;
      bool opens = e->kind == ExprKind::Function ||
                   (n > 0 && (e->kind == ExprKind::If || e->kind == ExprKind::Match || e->kind == ExprKind::Let));
      int scope = scopes[i];
      if (opens) {
        parent.push_back(scope), depth.push_back(depth[static_cast<size_t>(scope)] + 1);
        scope = static_cast<int>(parent.size()) - 1;
      }
      int& known = scopes[static_cast<size_t>(flow.index(child))];
      known = known < 0 || as<Var>(child) || as<Op>(child) ? scope : common(known, scope);
    });
  }
}

Regions::Regions(const FunctionRef& f) : flow(f->body) {
  find_scopes();
  size_t n = flow.nodes.size();
  parents.resize(n), compilers.resize(n), members.resize(n), inputs.resize(n);
  NodeMap<int> values;  // of let-bound variables
  for (int i = 0; i < flow.size(); ++i) {
    size_t at = static_cast<size_t>(i);
    const Expr& e = flow.nodes[at];
    parents[at] = i, members[at] = {i};
    for_each_open_child(e, [&](const Expr& child) { inputs[at].push_back(flow.index(child)); });
  }
  // Variables come before their uses, but not before the values that they are bound to.
  for (int i = 0; i < flow.size(); ++i)
    if (const Let* let = as<Let>(flow.nodes[static_cast<size_t>(i)])) values[let->var.get()] = flow.index(let->value);
  for (int i = 0; i < flow.size(); ++i)
    if (const int* value = values.find(flow.nodes[static_cast<size_t>(i)].get()))
      inputs[static_cast<size_t>(i)].push_back(*value);
  auto same_scope = [&](int a, int b) { return scopes[static_cast<size_t>(a)] == scopes[static_cast<size_t>(b)]; };
  for (int i = 0; i < flow.size(); ++i) {
    const Expr& e = flow.nodes[static_cast<size_t>(i)];
    if (e->kind != ExprKind::Call && e->kind != ExprKind::Tuple && e->kind != ExprKind::TupleGetItem) continue;
    const Call* mark = begin(e) ? begin(e) : end(e);
    if (begin(e)) {
      compilers[static_cast<size_t>(i)] = attribute<std::string>(*mark, "compiler", "");
      continue;
    }
    for (int input : inputs[static_cast<size_t>(i)]) {
      const Expr& from = flow.nodes[static_cast<size_t>(input)];
      if (!end(from) && !compiler(input).empty() && (mark || same_scope(i, input))) join(i, input);
    }
    if (mark && compiler(i).empty()) {  // of a value without inputs
      int inside = flow.index(mark->args[0]);
      if (!end(mark->args[0]) && as<Call>(mark->args[0])) join(i, inside);
      compilers[static_cast<size_t>(find(i))] = attribute<std::string>(*mark, "compiler", "");
    }
  }
}

int Regions::find(int node) const {
  auto parent = [&](int i) -> int& { return parents[static_cast<size_t>(i)]; };
  while (parent(node) != node) node = parent(node) = parent(parent(node));
  return node;
}

void Regions::join(int a, int b) {
  a = find(a), b = find(b);
  if (a == b) return;
  std::vector<int>&to = members[static_cast<size_t>(a)], &from = members[static_cast<size_t>(b)];
  if (to.size() < from.size()) return join(b, a);
  to.insert(to.end(), from.begin(), from.end());
  from.clear();
  parents[static_cast<size_t>(b)] = a;
  std::string& compiler = compilers[static_cast<size_t>(a)];
  if (compiler.empty()) compiler = compilers[static_cast<size_t>(b)];
}

// True if set `to` uses set `from` indirectly. Only sets between them are visited.
bool Regions::leads_around(int from, int to, int first) const {
  NodeSet seen;
  std::vector<int> work;
  auto push_inputs = [&](int set) {
    for (int member : members[static_cast<size_t>(set)])
      for (int input : inputs[static_cast<size_t>(member)]) {
        int next = find(input);
        if (next != set && next != to && (set != to || next != from)) work.push_back(next);
      }
  };
  push_inputs(to);
  while (!work.empty()) {
    int set = work.back();
    work.pop_back();
    if (set == from) return true;
    const std::vector<int>& all = members[static_cast<size_t>(set)];
    if (!seen.insert(&all) || *std::max_element(all.begin(), all.end()) < first) continue;
    push_inputs(set);
  }
  return false;
}

void Regions::merge_neighbours() {
  for (int i = 0; i < flow.size(); ++i) {
    const Call* in = begin(flow.nodes[static_cast<size_t>(i)]);
    if (!in || !end(in->args[0])) continue;
    int value = flow.index(in->args[0]);
    int from = find(value), to = find(i);
    int inside = flow.index(end(in->args[0])->args[0]);
    bool same_scope = scopes[static_cast<size_t>(inside)] == scopes[static_cast<size_t>(i)];
    if (from == to || !same_scope || compiler(from) != compiler(to)) continue;
    const std::vector<int>& all = members[static_cast<size_t>(from)];
    if (!leads_around(from, to, *std::min_element(all.begin(), all.end()))) join(from, to);
  }
}

}  // namespace relay::transform
