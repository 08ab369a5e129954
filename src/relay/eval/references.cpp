#include "relay/eval/references.h"

#include <algorithm>
#include <unordered_set>

namespace relay::eval {

Value References::make(Value value) {
  if (made_.size() >= check_at_) {
    std::erase_if(made_, [](const Ref<const ReferenceValue>& r) { return r->use_count() == 1; });
    check_at_ = std::max<size_t>(1024, 2 * made_.size());
  }
  made_.emplace_back(new ReferenceValue(std::move(value)));
  return Value(Ref<const ValueNode>(made_.back()));
}

void References::end(Values roots) {
  std::erase_if(made_, [](const Ref<const ReferenceValue>& r) { return r->use_count() == 1; });
  if (made_.empty()) return;
  std::unordered_set<const ValueNode*> reached;
  auto push = [&](const Values& values) { roots.insert(roots.end(), values.begin(), values.end()); };
  while (!roots.empty()) {
    Value v = std::move(roots.back());
    roots.pop_back();
    if (!v.node || !reached.insert(v.node.get()).second) continue;
    switch (v.node->kind) {
      case ValueNode::Kind::Tuple: push(as_tuple(v)->fields); break;
      case ValueNode::Kind::Data: push(as_data(v)->fields); break;
      case ValueNode::Kind::Reference: roots.push_back(as_reference(v)->value); break;
      case ValueNode::Kind::Closure:
        for (const auto& [var, value] : static_cast<const ClosureValue*>(v.node.get())->captured)
          roots.push_back(value);
        break;
      case ValueNode::Kind::Global:
      case ValueNode::Kind::Operator:
      case ValueNode::Kind::Constructor: break;
    }
  }
  for (const Ref<const ReferenceValue>& r : made_)
    if (!reached.count(r.get())) r->value = {};
}

}  // namespace relay::eval
