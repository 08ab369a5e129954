#include "relay/lower/algorithms/planar/planar.h"
#include "relay/lower/rules/rules.h"

namespace relay::lower {

// Stores the reduction's data by channels: padding, unless the input has the halo, and copies of images that are stored
// channels-last, unless their reader is a copy itself.
void store_by_channels(ScheduleDraft& draft, const te::Tensor& r) {
  const int rank = static_cast<int>(r->shape.size());
  const Layout planar = Layout::row_major(rank);
  for (const te::Tensor& in : te::inputs(r))
    if (guarded(*in) && !draft.form.reads_halo.count(in->name)) {
      draft.schedule.stages[in->name].place = Place::Root;
      draft.layouts[in->name] = Layout::row_major(static_cast<int>(in->shape.size()));
    }
  std::set<std::string> read;  // by stages that are computed with lanes along rows
  for (const te::Tensor& t : draft.stages())
    if (!t->is_placeholder() && !(guarded(*t) && draft.schedule.stages[t->name].place == Place::Root))
      for (const te::Tensor& in : te::inputs(t))
        if (in->is_placeholder() && static_cast<int>(in->shape.size()) == rank && !draft.constants.count(in->name) &&
            draft.layout(in).dims != planar.dims)
          read.insert(in->name);
  for (const std::string& name : read) {
    const te::Tensor in = draft.stage(name), copy = copy_stage(in, unused_name(draft, name + "_planar"));
    draft.layouts[copy->name] = planar;
    draft.schedule.stages[copy->name].place = Place::Root;
    draft.redirect(in, copy);
  }
}

}  // namespace relay::lower
