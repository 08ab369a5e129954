// Structural equality and hashing of expressions and modules: up to the names of bound variables, with sharing.
#include <algorithm>

#include "relay/ir/fields.h"
#include "relay/ir/node_map.h"
#include "relay/ir/rewrite.h"
#include "relay/ir/type_match.h"

namespace relay::ir {

namespace {

// Leaves are compared by content; sharing of leaves is ignored.
bool is_leaf(const Expr& e) {
  switch (e->kind) {
    case ExprKind::Constant:
    case ExprKind::Var:
    case ExprKind::GlobalVar:
    case ExprKind::Constructor:
    case ExprKind::Op: return true;
    case ExprKind::Tuple: return as<Tuple>(e)->elements.empty();
    default: return false;
  }
}

// Walks two programs side by side. `paired_` maps nodes of a to nodes of b and must stay one to one: so sharing is
// compared, and the walk is linear on DAGs.
class Matcher {
 public:
  explicit Matcher(bool map_free) : map_free_(map_free) {}

  bool run(const Expr& a, const Expr& b) {
    work_.push_back({&a, &b});
    while (!work_.empty()) {
      auto [x, y] = work_.back();
      work_.pop_back();
      if (!node(*x, *y)) return false;
    }
    return true;
  }

 private:
  bool node(const Expr& a, const Expr& b) {
    if (!a || !b) return a == b;
    if (a->kind != b->kind) return false;
    if (a->kind == ExprKind::Var) return use(as_var(a), as_var(b));
    if (!is_leaf(a)) {
      const void** seen = paired_.find(a.get());
      const void** reverse = reverse_.find(b.get());
      if (seen || reverse) return seen && reverse && *seen == b.get() && *reverse == a.get();
      paired_[a.get()] = b.get(), reverse_[b.get()] = a.get();
    }
    if (const Function* f = as<Function>(a))
      if (!types_.bind(f->type_params, as<Function>(b)->type_params)) return false;
    return dispatch(*a, [&](const auto& x) {
      using Node = std::remove_cvref_t<decltype(x)>;
      size_t begin = work_.size();
      bool same =
          all_fields(x, static_cast<const Node&>(*b), [&](const auto& l, const auto& r) { return field(l, r); });
      std::reverse(work_.begin() + static_cast<ptrdiff_t>(begin), work_.end());  // the first child is compared first
      return same;
    });
  }

  bool use(const VarRef& a, const VarRef& b) {
    const void** seen = paired_.find(a.get());
    const void** reverse = reverse_.find(b.get());
    if (seen || reverse) return seen && reverse && *seen == b.get() && *reverse == a.get();
    if (!map_free_) return a == b;
    return bind(a, b);
  }
  bool bind(const VarRef& a, const VarRef& b) {
    if (!a || !b) return a == b;
    paired_[a.get()] = b.get(), reverse_[b.get()] = a.get();
    return types_.equal(a->annotation, b->annotation);
  }

  bool field(const Expr& a, const Expr& b) { return work_.push_back({&a, &b}), true; }
  bool field(const Exprs& a, const Exprs& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) work_.push_back({&a[i], &b[i]});
    return true;
  }
  bool field(const VarRef& a, const VarRef& b) { return bind(a, b); }
  bool field(const std::vector<VarRef>& a, const std::vector<VarRef>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [&](const VarRef& x, const VarRef& y) { return bind(x, y); });
  }
  bool field(const Pattern& a, const Pattern& b) {
    if (a->kind != b->kind || a->patterns.size() != b->patterns.size() || !bind(a->var, b->var)) return false;
    if (a->kind == PatternKind::Constructor && !node(a->constructor, b->constructor)) return false;
    for (size_t i = 0; i < a->patterns.size(); ++i)
      if (!field(a->patterns[i], b->patterns[i])) return false;
    return true;
  }
  bool field(const std::vector<Clause>& a, const std::vector<Clause>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!field(a[i].pattern, b[i].pattern)) return false;
      work_.push_back({&a[i].body, &b[i].body});
    }
    return true;
  }
  bool field(const Tensor& a, const Tensor& b) { return equal(a, b); }
  bool field(const Type& a, const Type& b) { return types_.equal(a, b); }
  bool field(const Types& a, const Types& b) { return types_.equal(a, b); }
  bool field(const Attrs& a, const Attrs& b) { return types_.equal(a, b); }
  bool field(const DictAttrs& a, const DictAttrs& b) { return types_.equal(a, b); }
  bool field(const std::string& a, const std::string& b) { return a == b; }
  bool field(int64_t a, int64_t b) { return a == b; }
  bool field(bool a, bool b) { return a == b; }

  bool map_free_;
  TypeMatcher types_{/*match_dims=*/true};
  NodeMap<const void*> paired_, reverse_;
  std::vector<std::pair<const Expr*, const Expr*>> work_;
};

uint64_t mix(uint64_t h, uint64_t v) {
  h = (h ^ v) * 0x9E3779B97F4A7C15ull;
  return h ^ h >> 32;
}
uint64_t text_hash(const std::string& s) {  // FNV: the same in every process
  uint64_t h = 0xCBF29CE484222325ull;
  for (unsigned char c : s) h = (h ^ c) * 0x100000001B3ull;
  return h;
}

// Hashes of nodes, children first. Binders are numbered as they are entered, so names do not matter.
class Hasher {
 public:
  uint64_t run(const Expr& root) {
    struct Frame {
      const Expr* e;
      bool leaving;
    };
    std::vector<Frame> frames{{&root, false}};
    while (!frames.empty()) {
      Frame frame = frames.back();
      const Expr& e = *frame.e;
      if (done_.contains(e.get())) {
        frames.pop_back();
      } else if (frame.leaving) {
        frames.pop_back();
        uint64_t h = of_node(e);
        done_[e.get()] = h;
      } else {
        frames.back().leaving = true;
        for_each_binder(e, [&](const VarRef& v) { binders_.insert(v.get(), binders_.size() + 1); });
        size_t begin = frames.size();
        for_each_child(e, [&](const Expr& child) { frames.push_back({&child, false}); });
        std::reverse(frames.begin() + static_cast<ptrdiff_t>(begin), frames.end());
      }
    }
    return *done_.find(root.get());
  }

 private:
  uint64_t of_node(const Expr& e) {
    h_ = mix(0x52, static_cast<uint64_t>(e->kind));
    if (e->kind == ExprKind::Var)
      use(as_var(e));
    else
      dispatch(*e, [&](const auto& node) { for_each_field(node, [&](const auto& field) { add(field); }); });
    return h_;
  }
  void use(const VarRef& v) {
    const size_t* number = binders_.find(v.get());
    h_ = number ? mix(h_, *number) : mix(h_, text_hash(v->name));
  }

  void add(uint64_t v) { h_ = mix(h_, v); }
  void add(const Expr& e) { h_ = mix(h_, *done_.find(e.get())); }
  void add(const Exprs& list) {
    add(list.size());
    for (const Expr& e : list) add(e);
  }
  void add(const VarRef& v) {
    use(v);
    add(v->annotation);
  }
  void add(const std::vector<VarRef>& vars) {
    add(vars.size());
    for (const VarRef& v : vars) add(v);
  }
  void add(const Pattern& p) {
    add(static_cast<uint64_t>(p->kind));
    if (p->var) add(p->var);
    if (const Constructor* c = as<Constructor>(p->constructor)) add(c->name);
    for (const Pattern& inner : p->patterns) add(inner);
  }
  void add(const std::vector<Clause>& clauses) {
    for (const Clause& c : clauses) add(c.pattern), add(c.body);
  }
  void add(const Tensor& t) { add(hash(t)); }
  void add(const Type& t) { add(hash(t)); }
  void add(const Types& types) {
    add(types.size());
    for (const Type& t : types) add(t);
  }
  void add(const Attrs& attrs) { add(hash(attrs)); }
  void add(const DictAttrs& attrs) {
    for (const auto& [key, value] : attrs) add(key), add(hash(value));
  }
  void add(const std::string& s) { add(text_hash(s)); }
  void add(int64_t v) { add(static_cast<uint64_t>(v)); }
  void add(bool v) { add(static_cast<uint64_t>(v)); }

  uint64_t h_ = 0;
  NodeMap<uint64_t> done_;
  NodeMap<size_t> binders_;
};

bool equal_definition(const TypeDef& a, const TypeDef& b) {
  TypeMatcher types;
  if (a.name != b.name || a.is_extern != b.is_extern || !types.bind(a.type_params, b.type_params)) return false;
  return std::equal(a.constructors.begin(), a.constructors.end(), b.constructors.begin(), b.constructors.end(),
                    [&](const Ref<const Constructor>& x, const Ref<const Constructor>& y) {
                      return x->name == y->name && types.equal(x->inputs, y->inputs);
                    });
}

}  // namespace

bool equal(const Expr& a, const Expr& b, bool map_free) { return a == b || Matcher(map_free).run(a, b); }

bool equal(const Module& a, const Module& b) {
  if (!TypeMatcher().equal(a.attrs, b.attrs)) return false;
  return std::equal(
             a.types.begin(), a.types.end(), b.types.begin(), b.types.end(),
             [](const auto& x, const auto& y) { return x.first == y.first && equal_definition(x.second, y.second); }) &&
         std::equal(a.functions.begin(), a.functions.end(), b.functions.begin(), b.functions.end(),
                    [](const auto& x, const auto& y) { return x.first == y.first && equal(x.second, y.second); });
}

uint64_t hash(const Expr& e) { return Hasher().run(e); }

uint64_t hash(const Module& m) {
  uint64_t h = mix(m.functions.size(), m.types.size());
  for (const auto& [name, definition] : m.types) {
    h = mix(h, text_hash(name));
    for (const Ref<const Constructor>& c : definition.constructors) h = mix(h, text_hash(c->name));
  }
  for (const auto& [name, function] : m.functions) h = mix(mix(h, text_hash(name)), hash(function));
  for (const auto& [key, value] : m.attrs) h = mix(mix(h, text_hash(key)), hash(value));
  return h;
}

}  // namespace relay::ir
