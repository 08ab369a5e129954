#include "relay/runtime/segment_context.h"

#include <algorithm>
#include <cstdlib>

#include "relay/tensor/memory.h"

namespace relay::runtime {

void SegmentContext::begin(ThreadPool::Session& session, Report* report) {
  session_ = &session;
  report_ = report;
  errors_.clear();
}

void SegmentContext::end() {
  session_ = nullptr;
  report_ = nullptr;
}

bool SegmentContext::fail(DiagnosticKind kind, std::string message, std::string help) {
  if (errors_.empty()) errors_.push_back({kind, std::move(message), {}, {}, {}, std::move(help)});
  return false;
}

bool SegmentContext::fail(const Diagnostics& errors) {
  if (errors_.empty()) errors_ = errors;
  return false;
}

void SegmentContext::note_calls(std::span<const uint32_t> functions, size_t count) {
  if (errors_.empty() || functions.empty()) return;
  std::string where;
  for (uint32_t f : functions)
    where += format("{}`{}`", where.empty() ? "in " : ", called by ", linked_.program->functions[f].name);
  if (count > functions.size()) where += format(", and {} more", count - functions.size());
  errors_[0].notes.push_back(where);
}

bool SegmentContext::reserve_arena(const Segment& segment, const Plan& plan) {
  if (const Status done = device_arenas_.reserve(linked_.device_numbers, segment, plan); !done)
    return fail(done.errors());
  const int64_t bytes = plan.arena_bytes;
  if (bytes <= arena_bytes_) return true;
  std::byte* memory = static_cast<std::byte*>(allocate_array(static_cast<size_t>(bytes)));
  if (memory == nullptr)
    return fail(DiagnosticKind::out_of_memory, format("no memory for {} bytes of temporaries", bytes),
                "give smaller inputs, such as a smaller batch");
  arena_ = {memory, [](std::byte* p) { free_array(p); }};
  arena_bytes_ = bytes;
  return true;
}

Status SegmentContext::run(SegmentRunner& runner, const Plan& plan, std::span<void* const> inputs,
                           std::span<void* const> outputs) {
  if (report_) {
    ++report_->segments;
    report_->arena_bytes = std::max(report_->arena_bytes, plan.arena_bytes);
    report_->lower_bound = std::max(report_->lower_bound, plan.lower_bound);
  }
  return runner.run({*session_, arena_.get(), device_arenas_.addresses(), inputs, outputs, report_});
}

}  // namespace relay::runtime
