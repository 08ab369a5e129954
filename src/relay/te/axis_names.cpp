#include "relay/te/axis_names.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "relay/base/text.h"

namespace relay::te {

namespace {

// i0, k1: a default name.
bool is_default(const std::string& name) {
  return name.size() > 1 && (name[0] == 'i' || name[0] == 'k') &&
         std::all_of(name.begin() + 1, name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// New names of a stage's axes, then of its reduction axes.
class Names {
 public:
  explicit Names(const TensorNode& stage) : stage_(stage) {
    for (const std::vector<Axis>* axes : {&stage.axes, &stage.reduce_axes})
      for (const Axis& a : *axes) names_.push_back(a.var->name), used_.insert(a.var->name);
  }

  const std::string& of(size_t axis) const { return names_[axis]; }
  size_t size() const { return names_.size(); }

  // The index of the axis with this variable; size() if there is none.
  size_t find(const Expr& var) const {
    const size_t data = stage_.axes.size();
    for (size_t d = 0; d < size(); ++d)
      if ((d < data ? stage_.axes[d] : stage_.reduce_axes[d - data]).var == var) return d;
    return size();
  }

  // Has no effect if the axis already has a name, or if another axis of the stage has that one.
  void suggest(size_t axis, const std::string& name) {
    if (axis >= size() || !is_default(names_[axis]) || is_default(name) || !used_.insert(name).second) return;
    used_.erase(names_[axis]);
    names_[axis] = name;
  }

  Tensor renamed() const {
    TensorNode node = stage_;
    std::vector<scalar::Binding> map;
    size_t at = 0;
    for (std::vector<Axis>* axes : {&node.axes, &node.reduce_axes})
      for (Axis& a : *axes) {
        const Expr var = scalar::var(names_[at++]);
        map.push_back({a.var, var});
        a.var = var;
      }
    for (Axis& a : node.reduce_axes) a.extent = scalar::substitute(a.extent, map);
    node.body = scalar::substitute(node.body, map);
    return Tensor(new TensorNode(std::move(node)));
  }

 private:
  const TensorNode& stage_;
  std::vector<std::string> names_;
  std::set<std::string> used_;
};

const TensorNode* read_stage(const Expr& n) {
  const TensorNode* source = n->kind == scalar::Kind::Load ? dynamic_cast<const TensorNode*>(n->source.get()) : nullptr;
  return source && source->body ? source : nullptr;
}

}  // namespace

Tensor named_axes(const Tensor& stage, const std::string& axes, const std::string& reduce_axes) {
  if (!stage->body) return stage;
  Names names(*stage);
  size_t at = 0, reduced = stage->axes.size();
  for (std::string_view name : split(axes, ' ')) names.suggest(at++, std::string(name));
  for (std::string_view name : split(reduce_axes, ' ')) names.suggest(reduced++, std::string(name));
  return names.renamed();
}

Tensors propagate_axis_names(const Tensors& outputs) {
  const Tensors stages = topological(outputs);
  std::unordered_map<const TensorNode*, Names> names;
  for (const Tensor& t : stages)
    if (t->body) names.emplace(t.get(), *t);
  // From producers to consumers: an index that is a single axis gives its name to the indexed axis.
  for (const Tensor& t : stages) {
    if (!t->body) continue;
    Names& own = names.at(t.get());
    visit(*t, [&](const Expr& n) {
      const TensorNode* source = read_stage(n);
      const auto read = names.find(source);
      for (size_t d = 0; read != names.end() && d < n->args.size(); ++d)
        own.suggest(own.find(n->args[d]), read->second.of(d));
    });
  }
  // From consumers to producers: an axis takes the name of the first axis in its index.
  for (size_t i = stages.size(); i-- > 0;) {
    if (!stages[i]->body) continue;
    const Names& own = names.at(stages[i].get());
    visit(*stages[i], [&](const Expr& n) {
      const TensorNode* source = read_stage(n);
      const auto read = names.find(source);
      for (size_t d = 0; read != names.end() && d < n->args.size(); ++d) {
        size_t first = own.size();
        for (const Expr& v : scalar::free_vars(n->args[d])) first = std::min(first, own.find(v));
        if (first < own.size()) read->second.suggest(d, own.of(first));
      }
    });
  }
  std::unordered_map<const TensorNode*, Tensor> done;
  for (const Tensor& t : stages)
    done[t.get()] = rewrite(t->body ? names.at(t.get()).renamed() : t, [&](const Expr& n) -> Expr {
      if (n->kind != scalar::Kind::Load) return n;
      const auto made = done.find(dynamic_cast<const TensorNode*>(n->source.get()));
      return made == done.end() ? n : scalar::load(made->second, n->args);
    });
  Tensors out;
  for (const Tensor& t : outputs) out.push_back(done.at(t.get()));
  return out;
}

}  // namespace relay::te
