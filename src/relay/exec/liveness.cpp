#include "relay/exec/liveness.h"

#include <algorithm>

namespace relay::exec {

namespace {

std::vector<int> find_holders(const std::vector<lower::Array>& arrays) {
  std::vector<int> holder(arrays.size());
  for (size_t i = 0; i < holder.size(); ++i) {
    int at = static_cast<int>(i);
    for (size_t hops = 0; arrays[static_cast<size_t>(at)].alias >= 0; ++hops) {
      RELAY_CHECK(hops <= holder.size(), "array {} is its own alias", i);
      at = arrays[static_cast<size_t>(at)].alias;
    }
    holder[i] = at;
  }
  return holder;
}

std::vector<int> find_outputs(const std::vector<lower::Array>& arrays) {
  std::vector<int> outputs;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const lower::Array& a = arrays[i];
    if (a.kind != lower::Array::Kind::Output) continue;
    if (a.index >= outputs.size()) outputs.resize(size_t{a.index} + 1, -1);
    outputs[a.index] = static_cast<int>(i);
  }
  for (size_t i = 0; i < outputs.size(); ++i)
    RELAY_CHECK(outputs[i] >= 0, "result {} of the function is not an array", i);
  return outputs;
}

}  // namespace

bool Liveness::holds_result(int array) const {
  return std::any_of(outputs.begin(), outputs.end(),
                     [&](int output) { return holder[static_cast<size_t>(output)] == array; });
}

Liveness find_live(const lower::LoweredFunction& lowered) {
  Liveness l{find_outputs(lowered.arrays), find_holders(lowered.arrays), std::vector<bool>(lowered.steps.size())};
  std::vector<bool> needed(lowered.arrays.size());
  for (int output : l.outputs)
    needed[static_cast<size_t>(output)] = needed[static_cast<size_t>(l.holder[static_cast<size_t>(output)])] = true;
  for (size_t s = lowered.steps.size(); s-- > 0;) {
    const lower::Step& step = lowered.steps[s];
    l.live[s] =
        step.kind == lower::Step::Kind::CheckIndices ||
        std::any_of(step.writes.begin(), step.writes.end(), [&](int w) { return needed[static_cast<size_t>(w)]; });
    if (!l.live[s]) continue;
    for (int r : step.reads) needed[static_cast<size_t>(r)] = true;
  }
  return l;
}

}  // namespace relay::exec
