#include "relay/lower/group_key.h"

#include "relay/base/stable_hash.h"
#include "relay/lower/schedule/schedule_rules.h"

namespace relay::lower {

std::string group_key(const ScheduleDraft& start, const LowerOptions& options) {
  const te::Tensors stages = start.stages();
  std::string text =
      format("{}\n{}{}{}{}\n", te::str(stages), name(options.numerics), start.streams_weights ? " s" : "",
             start.is_step ? " step" : "", start.form.by_channels ? " by channels" : "");
  if (start.form.schedule) text += format("{} {}\n", name(start.form.schedule->rule), start.form.weight);
  for (const std::string& stage : start.form.reads_halo) text += format("{} reads a halo\n", stage);
  for (const te::Tensor& t : stages) {
    const auto layout = start.layouts.find(t->name);
    const bool constant = start.constants.count(t->name) > 0;
    if (constant)
      text += format("{} is constant\n", t->name);
    else if (layout != start.layouts.end())
      text += format("{}: {}\n", t->name, layout->second.str());
  }
  return format("{:016x}", stable_hash(text));
}

}  // namespace relay::lower
