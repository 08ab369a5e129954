#include "relay/driver/group_errors.h"

#include <algorithm>
#include <unordered_set>

#include "relay/build/provenance.h"
#include "relay/driver/verify.h"
#include "relay/ir/main_function.h"
#include "relay/lower/group/group.h"
#include "relay/transform/group/dataflow.h"
#include "relay/typing/typing.h"

namespace relay::driver {

namespace {
using Places = std::unordered_set<build::Provenance::Key, build::Provenance::Hash>;

// A call of @main that becomes a group, or a part of one.
struct GroupCall {
  ir::Expr call;
  std::string name;
  Places places;
  size_t first = 0, tensors = 0;  // its values among those of all calls
  bool is_taken = false;
};
}  // namespace

static Places places_of(const std::vector<Span>& spans) {
  Places out;
  for (const Span& span : spans)
    if (span) out.insert(build::Provenance::key(span));
  return out;
}

static bool contains(const Places& all, const Places& some) {
  return std::all_of(some.begin(), some.end(), [&](const auto& place) { return all.contains(place); });
}

// The calls of primitive functions in the body of @main, in the order of their evaluation.
static Result<std::vector<GroupCall>> calls_of(const ir::FunctionRef& main) {
  std::vector<GroupCall> out;
  size_t tensors = 0;
  const transform::Dataflow flow(main->body);
  const int scope = flow.scopes[static_cast<size_t>(flow.index(main->body))];
  for (size_t i = 0; i < flow.nodes.size(); ++i) {
    const ir::Call* call = ir::as<ir::Call>(flow.nodes[i]);
    const ir::Function* callee = call ? ir::as<ir::Function>(call->callee) : nullptr;
    if (!callee || !callee->is_primitive() || flow.scopes[i] != scope) continue;
    RELAY_ASSIGN(const lower::GroupTe group, lower::group_of(*call));
    out.push_back({flow.nodes[i], group.name, places_of(group.sources), tensors, group.outputs.size()});
    tensors += group.outputs.size();
  }
  return out;
}

// The module with the values of these calls as the results of @main. They are returned behind all `let`s of the body.
static ir::Module with_results(const ir::Module& module, const std::vector<GroupCall>& calls) {
  const ir::FunctionRef& main = module.functions.at(ir::main_function);
  std::vector<const ir::Let*> lets;
  for (const ir::Let* let = ir::as<ir::Let>(main->body); let; let = ir::as<ir::Let>(let->body)) lets.push_back(let);
  ir::Exprs results;
  for (const GroupCall& one : calls)
    for (size_t i = 0; i < one.tensors; ++i)
      results.push_back(ir::as<ir::TupleType>(one.call->type) ? ir::get(one.call, static_cast<int64_t>(i)) : one.call);
  ir::Expr body = ir::tuple(std::move(results));
  for (size_t i = lets.size(); i-- > 0;) body = ir::let(lets[i]->var, lets[i]->value, body, lets[i]->span);
  ir::Module out = module;
  out.attrs.erase("output_names");
  out.functions[ir::main_function] = ir::function(main->params, std::move(body), {}, main->type_params);
  return out;
}

// The largest difference of a call's values. Unset if they cannot be compared.
static std::optional<Difference> largest(std::span<const Difference> all) {
  std::optional<Difference> out;
  for (const Difference& one : all) {
    if (!one.other.empty()) return {};
    if (!out || !(one.relative <= out->relative)) out = one;
  }
  return out;
}

// Finds the call whose value a group stores. Its name begins with that of the first call that it computes; a group that
// joins several stores the value of the last.
static std::optional<size_t> stored_by(const lower::LoweredGroup& group, std::vector<GroupCall>& calls) {
  const Places all = places_of(group.sources);
  Places covered;
  std::optional<size_t> last;
  for (size_t i = 0; i < calls.size(); ++i) {
    GroupCall& one = calls[i];
    if (one.is_taken || one.places.empty() || !contains(all, one.places)) continue;
    if (last ? contains(covered, one.places) : !group.name.starts_with(one.name)) continue;
    covered.insert(one.places.begin(), one.places.end());
    one.is_taken = true, last = i;
    if (covered.size() == all.size()) break;
  }
  return last;
}

Result<GroupErrors> group_errors(const Compiled& compiled, const std::vector<runtime::Value>& inputs,
                                 const Options& options) {
  GroupErrors out;
  for (const lower::LoweredFunction& segment : compiled.lowered) out.emplace_back(segment.groups.size());
  RELAY_ASSIGN(std::vector<GroupCall> calls, calls_of(compiled.module.functions.at(ir::main_function)));
  if (calls.empty()) return out;
  RELAY_ASSIGN(const Case c, make_case(with_results(compiled.module, calls), inputs, 0));
  Options again = options;
  again.passes.is_optimised = true, again.passes.trace = nullptr;
  again.run.make_executable = true, again.run.donate = {}, again.run.output_names = {};
  RELAY_ASSIGN(const Compiled observed, compile(c.module, again));
  RELAY_ASSIGN(const runtime::Value got, observed.executable->call(c.inputs, {.threads = options.run.threads}));
  const Differences all = compare(got, c.reference, 0);
  RELAY_CHECK(all.size() == calls.back().first + calls.back().tensors, "{} values of {} calls are compared", all.size(),
              calls.size());
  for (size_t segment = 0; segment < out.size(); ++segment)
    for (size_t group = 0; group < out[segment].size(); ++group)
      if (const std::optional<size_t> at = stored_by(compiled.lowered[segment].groups[group], calls))
        out[segment][group] = largest(std::span(all).subspan(calls[*at].first, calls[*at].tensors));
  return out;
}

}  // namespace relay::driver
