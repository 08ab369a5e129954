// The region that a stage placed inside another's loops must compute: interval analysis of the index maps.
//
//   for y in 0..14 { for x in 0..4 { C[y, x * 14 .. + 14] } }      C reads P[y * 2 + k, x * 28 + l], k, l < 3
//   inside both loops P is needed at [y * 2, + 3), [x * 28, + 29)
#pragma once

#include <optional>
#include <unordered_map>

#include "relay/lower/schedule/placement.h"
#include "relay/scalar/simplify.h"

namespace relay::lower {

// The remaining part of an axis inside the loops opened so far: [min, min + extent). With a `limit`, extent is a
// constant that may reach beyond it: lanes at and past the limit must not be stored. With `guarded`, a part of a
// required region may be outside of the stage, because its reader has a guard.
struct Range {
  Expr min, extent;
  Expr limit = {};
  bool guarded = false;
};
using Ranges = std::unordered_map<const scalar::Node*, Range>;  // by axis variable

struct Region {
  std::vector<Range> dims;  // one per dimension of the stage
};

// A schedule that cannot be built; build_kernels turns it into its diagnostic.
struct IllegalSchedule {
  Diagnostic diagnostic;
};
template <class... Args>
[[noreturn]] void refuse(std::string help, fmt::format_string<Args...> text, Args&&... args) {
  throw IllegalSchedule{
      {DiagnosticKind::illegal_schedule, format(text, std::forward<Args>(args)...), {}, {}, {}, std::move(help)}};
}

// `bounds`: known ranges of the loop variables, maintained by the builder.
class Regions {
 public:
  Regions(const Placement& placement, const scalar::Bounds& bounds) : placement_(placement), bounds_(bounds) {}

  const StageSchedule& of(const te::TensorNode& stage) const;
  // The whole range of every axis.
  Ranges full_ranges(const te::TensorNode& stage) const;
  // The region of stage t that the loops of `consumer` from `level` on need: the union over all loads, over the
  // remaining ranges of the axes.
  Region required(const te::Tensor& t, const te::Tensor& consumer, size_t level, const Ranges& ranges) const;
  // The same for a stage that is stored in these loops, without reads at the place that has just been stored. Unset if
  // there are no other reads.
  std::optional<Region> required_inside(const te::Tensor& t, const te::Tensor& consumer, size_t level,
                                        const Ranges& ranges) const;
  // The region of t that a stage itself reads in these ranges.
  Region read_by(const te::TensorNode& stage, const te::TensorNode& t, const Ranges& ranges) const;
  // The ranges of t's axes that compute a region, clipped to the stage.
  Ranges region_ranges(const te::Tensor& t, const Region& region) const;
  // The remaining range of `axis` of `stage`. For a ragged axis, at the current position of the axes that its extent
  // depends on.
  Range left_of(const te::Axis& axis, const te::TensorNode& stage, const Ranges& ranges) const;

 private:
  Range clipped(const Range& range, const te::TensorNode& t, size_t d) const;
  bool reads_own_place(const te::TensorNode& user, const te::TensorNode& t) const;
  // The part of t, which is stored in the loops of `consumer`, that corresponds to these ranges of the consumer's axes.
  Ranges matching_ranges(const te::TensorNode& t, const te::TensorNode& consumer, const Ranges& ranges) const;
  bool is_inside(const te::Tensor& stage, const te::Tensor& consumer, size_t level) const;
  Region access(const Expr& load, const te::TensorNode& user, const Ranges& ranges, const te::TensorNode& t) const;
  void merge(Region& into, Region more, const te::TensorNode& t) const;

  const Expanded& bodies() const { return placement_.bodies(); }

  const Placement& placement_;
  const scalar::Bounds& bounds_;
};

// Checks a schedule as far as possible before any loop is built; throws IllegalSchedule.
void check_places(const te::Tensors& stages, const Schedule& schedule);

}  // namespace relay::lower
