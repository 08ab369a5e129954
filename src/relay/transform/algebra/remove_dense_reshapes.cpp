// remove_dense_reshapes: lets a dense layer read and return all axes of its data, where a model joins them to a matrix
// first and separates them again afterwards, as TensorFlow does.
//
//   reshape(nn.dense(reshape(%x, newshape=[128, 96]), %w), newshape=[2, 8, 8, 384])
//     becomes   nn.dense(%x, %w)     for %x of (2, 8, 8, 96)
//
// The same holds for nn.matmul. The layer is then one kernel with the bias and the activation that follow. A bias may
// also be added to the matrix. Applies if nothing else reads the matrices.
#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/pattern/groups.h"
#include "relay/scalar/simplify.h"
#include "relay/transform/attributes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;
using pattern::Pattern;

namespace {

struct Layer {
  Pattern x = pattern::wildcard(), weight = pattern::wildcard(), bias = pattern::wildcard();
  Pattern matrix = pattern::call(pattern::op("reshape"), {x});
  Pattern product = pattern::call(pattern::either(pattern::op("nn.dense"), pattern::op("nn.matmul")), {matrix, weight});
  Pattern sum = pattern::call(pattern::op("nn.bias_add"), {product, bias});
  Pattern root = pattern::call(pattern::op("reshape"), {pattern::either(sum, product)});

  // True if the result has the axes of the data, except the last one.
  bool accepts(const pattern::Match& match, const Expr& result) const {
    auto shape = [](const Expr& e) { return as<TensorType>(e->type)->shape; };
    const Dims from = shape(match.at(x)), rows = shape(match.at(matrix)), to = shape(result);
    if (const Call* call = call_of(match.at(product), "nn.matmul"); call && attribute(*call, "transpose_a", false))
      return false;
    if (const Expr* e = match.find(sum); e && attribute<int64_t>(*as<Call>(*e), "axis", 1) == 0) return false;
    return from.size() > 1 && from.size() == to.size() && rows.size() == 2 && scalar::equal(from.back(), rows[1]) &&
           scalar::equal(to.back(), shape(match.at(product))[1]) &&
           std::equal(from.begin(), from.end() - 1, to.begin(),
                      [](const Dim& a, const Dim& b) { return !scalar::is_any(a) && scalar::equal(a, b); });
  }

  Expr layer(const pattern::Group& group, const NodeMap<Expr>& done) const {
    const pattern::Match& match = group.match;
    auto now = [&](const Pattern& p) { return *done.find(match.at(p).get()); };
    const Call& before = *as<Call>(match.at(product));
    const Expr dense = call(before.callee, {now(x), now(weight)}, before.attrs, match.at(product)->span);
    if (!match.find(sum)) return dense;
    return op::make("nn.bias_add", {dense, now(bias)}, {{"axis", int64_t{-1}}}, group.root->span);
  }
};

}  // namespace

Result<Module> remove_dense_reshapes(const Module& module, PassContext& context) {
  const Layer layer;
  return for_each_function(module, [&](const FunctionRef& f) {
    return pattern::replace_in(
        f, layer.root, [&](const pattern::Group& group) { return layer.accepts(group.match, group.root); },
        [&](const pattern::Group& group, const NodeMap<Expr>& done) {
          ++context.applied["a dense layer between reshapes becomes one of all axes"];
          return layer.layer(group, done);
        });
  });
}

}  // namespace relay::transform
