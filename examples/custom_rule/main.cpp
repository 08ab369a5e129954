// A user-defined rule, without a change to Relay: reads a program from stdin, prints the schedules that the rule makes
// for its groups, and compares the program's results with and without them.
#include <cmath>
#include <iostream>
#include <iterator>

#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/lower/plan_function.h"
#include "relay/lower/rules/rules.h"
#include "relay/text/text.h"

namespace relay::lower {
RuleCandidates column_sums_rule(const ScheduleDraft& draft, const te::Tensor& r, const te::Tensor& e,
                                const StageFacts& facts);
}

using namespace relay;

// The schedule of a group with one reduction and its epilogue, as text; "" if the rule makes none.
static std::string schedule_of(const lower::Group& group, const TargetDesc& target) {
  const te::Tensor sum = lower::only_reduction(group.te.outputs), result = group.te.outputs[0];
  if (!sum || sum == result) return "";
  lower::ScheduleDraft draft;
  draft.set_outputs(group.te.outputs), draft.target = &target;
  const lower::StageFacts facts = lower::facts_of(sum, draft.expanded(sum));
  if (!lower::apply(draft, sum->name, lower::column_sums_rule(draft, sum, result, facts))) return "";
  return lower::str(draft.schedule, draft.stages());
}

static Result<Tensor> result_of(const ir::Module& module, const driver::Options& options) {
  RELAY_ASSIGN(driver::Compiled compiled, driver::compile(module, options));
  std::vector<Tensor> inputs;
  for (const ir::VarRef& p : module.functions.at("main")->params) {
    Tensor drawn = Tensor::empty(*ir::static_shape(p->annotation), DType::float32());
    for (int64_t i = 0; i < drawn.elements(); ++i) drawn.set(i, static_cast<double>(i * 31 % 17) - 8);
    inputs.push_back(drawn);
  }
  RELAY_ASSIGN(std::vector<Tensor> results, compiled.executable->run(inputs));
  return results[0];
}

static Status run() {
  std::string text((std::istreambuf_iterator<char>(std::cin)), std::istreambuf_iterator<char>());
  RELAY_ASSIGN(ir::Module module, text::parse(text));
  driver::Options options;
  RELAY_ASSIGN(options.lower.target, driver::find_target("native"));
  RELAY_ASSIGN(const Tensor usual, result_of(module, options));

  RELAY_ASSIGN(ir::Module better, driver::optimise(module, options));
  RELAY_ASSIGN(lower::FunctionPlan plan,
               lower::plan_function(better.functions.at("main"), {.target = options.lower.target, .schedules = {}}));
  RELAY_ASSIGN(const TargetDesc shown, driver::find_target("zen4"));  // the same on every machine
  for (const lower::Group& group : plan.groups) {
    if (const std::string schedule = schedule_of(group, options.lower.target); !schedule.empty())
      options.lower.schedules[group.te.name] = schedule;
    std::cout << "# " << group.te.name << "\n" << schedule_of(group, shown);
  }
  RELAY_ASSIGN(const Tensor by_rule, result_of(module, options));
  double most = 0;
  for (int64_t i = 0; i < usual.elements(); ++i) most = std::max(most, std::abs(usual.at(i) - by_rule.at(i)));
  std::cout << "\nlargest difference " << most << "\n";
  return ok();
}

int main() {
  Status status = run();
  if (!status) std::cerr << render(status.errors());
  return status ? 0 : 1;
}
