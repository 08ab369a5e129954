// merge_compiler_regions: merges neighbouring regions for the same compiler by removing the marks between them.
//
//   compiler_end(nn.relu(compiler_begin(compiler_end(exp(compiler_begin(%x))))))
//     becomes   compiler_end(nn.relu(exp(compiler_begin(%x))))
//
// Regions are not merged if a path leads from one through something else into the other: together they would depend on
// their own result. Values do not move into or out of branches.
#include "relay/ir/rewrite.h"
#include "relay/transform/partition/regions.h"
#include "relay/transform/pass.h"

namespace relay::transform {

using namespace ir;

Result<Module> merge_compiler_regions(const Module& module, PassContext&) {
  return for_each_function(module, [](const FunctionRef& f) {
    if (is_closed(f)) return f;
    Regions regions(f);
    regions.merge_neighbours();
    return with_body(f, rewrite(f->body, [&](const Expr& before, const Expr& now) -> Expr {
                       const Call* begin = Regions::begin(before);
                       const int i = begin ? regions.flow.index(before) : -1;
                       if (i < 0 || !Regions::end(begin->args[0])) return now;
                       bool inside = regions.find(i) == regions.find(regions.flow.index(begin->args[0]));
                       return inside ? as<Call>(as<Call>(now)->args[0])->args[0] : now;
                     }));
  });
}

}  // namespace relay::transform
