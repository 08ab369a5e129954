// size_results: splits an operator with value-dependent sizes into two steps: its shape is computed, then a result of
// that shape.
//
//   argwhere(%x)        becomes        %0 = argwhere.shape(%x);            # (2,) int64: an ordinary kernel
//                                      %1 = argwhere.sized(%0, %x);        # (?, ?): the executor makes it: a
//                                                                          # tensor_of_shape() for this operator
//                                      argwhere.shaped((%1,), %x)          # (?, 2): its sizes are those of an input
//
// For several results the shapes are computed as one list, and there is a tensor of each shape. Afterwards the only
// sizes that no input determines are those of tensors that the executor makes. Applies to operators with OpDef::shape.
#include <algorithm>

#include "relay/ir/rewrite.h"
#include "relay/op/registry.h"
#include "relay/transform/control/forgotten_sizes.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> size_results(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    Expr result = rewrite(f, [](const Expr& before, const Expr& now) -> Expr {
      const Call* call = as<Call>(now);
      const Op* op = call ? as<Op>(call->callee) : nullptr;
      if (!op || !op->def->shape || op->def->by_executor || !has_unknown_size(before->type)) return now;
      auto part = [&](const char* name) { return op::node(*op::find(format("{}.{}", op->name, name))); };
      const Expr sizes = ir::call(part("shape"), call->args, call->attrs, now->span);
      Exprs like;
      int64_t at = 0;
      const TupleType* results = as<TupleType>(before->type);
      for (const Type& result : results ? results->fields : Types{before->type}) {
        const int64_t begin = at, end = at += static_cast<int64_t>(as<TensorType>(result)->shape.size());
        const Expr shape =
            results ? op::make("strided_slice", {sizes}, {{"begin", Ints{begin}}, {"end", Ints{end}}}, now->span)
                    : sizes;
        Exprs of{shape};
        of.insert(of.end(), call->args.begin(), call->args.end());
        like.push_back(ir::call(part("sized"), std::move(of), call->attrs, now->span));
      }
      Exprs args{ir::tuple(std::move(like), now->span)};
      args.insert(args.end(), call->args.begin(), call->args.end());
      return ir::call(part("shaped"), std::move(args), call->attrs, now->span);
    });
    return FunctionRef(as<Function>(result));
  });
}

}  // namespace relay::transform
