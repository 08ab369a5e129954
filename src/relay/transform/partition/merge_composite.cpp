// merge_composite: replaces matches of the patterns in a table by calls of functions marked with the pattern's name,
// for a compiler that accepts them as a whole.
//
//   nn.relu(nn.conv2d(%x, %w))       with   other.conv_relu = relu(conv2d(any, any))
//     becomes   fn (%p0, %p1, PartitionedFromPattern="nn.conv2d_nn.relu_", Composite="other.conv_relu") {
//                 nn.relu(nn.conv2d(%p0, %p1)) }(%x, %w)
//
// Patterns are tried in the order of the table (PassContext::partitioning): expressions that one has matched are not
// available to the next. pattern::partition() defines what a match may contain.
#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/transform/group/dataflow.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::transform {

using namespace ir;

Result<Module> merge_composite(const Module& module, PassContext& context) {
  Module result = module;
  for (auto& [name, f] : result.functions) {
    if (is_closed(f)) continue;
    Expr body = f->body;
    for (const Partitioning::Composite& composite : context.partitioning.composites) {
      DictAttrs attrs{{ir::attribute::composite, composite.name}};
      if (!body->type) RELAY_RETURN_IF_ERROR(typing::infer_expr(body, &module));
      RELAY_ASSIGN(body, pattern::partition(composite.pattern, body, attrs, composite.check, &module));
    }
    f = with_body(f, body);
  }
  return result;
}

}  // namespace relay::transform
