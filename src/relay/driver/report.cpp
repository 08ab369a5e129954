#include "relay/driver/report.h"

#include <nlohmann/json.hpp>

#include "relay/driver/compile.h"
#include "relay/driver/version.h"
#include "relay/measure/calibration.h"
#include "relay/runtime/program/planner.h"

namespace relay::driver {

using Json = nlohmann::ordered_json;

static Json json(const TargetDesc& target) {
  return {{"name", target.name},
          {"cpu", target.cpu},
          {"triple", target.triple},
          {"features", target.features},
          {"vector_bytes", target.vector_bytes},
          {"calibrated", measure::is_calibrated(target)},
          {"ghz", target.ghz},
          {"l2_gbps", target.l2_gbps},
          {"l3_gbps", target.l3_gbps},
          {"dram_gbps", target.dram_gbps},
          {"float32_division_cycles", target.float32_cycles.division},
          {"float32_root_cycles", target.float32_cycles.root},
          {"float32_exp_cycles", target.float32_cycles.exp},
          {"float64_division_cycles", target.float64_cycles.division},
          {"float64_root_cycles", target.float64_cycles.root},
          {"float64_exp_cycles", target.float64_cycles.exp}};
}

Counts counts_of(const CompileReport& report) {
  Counts out{.groups = static_cast<int64_t>(report.groups.size())};
  for (const KernelReport& kernel : report.kernels) {
    out.calls += kernel.calls;
    if (kernel.calls > 0) ++out.kernels;
  }
  return out;
}

std::optional<int64_t> planned_bytes(const runtime::Program& program) {
  int64_t most = 0;
  for (const runtime::Segment& segment : program.segments) {
    if (!segment.variables.empty()) return {};
    const Result<runtime::Plan> plan = runtime::plan(program, segment, {});
    if (!plan) return {};
    most = std::max(most, plan->arena_bytes);
  }
  return most;
}

static Json json(const std::vector<KernelReport>& kernels) {
  Json out = Json::array();
  const auto mean = [](double value) { return value < 0 ? Json() : Json(value); };
  for (const KernelReport& kernel : kernels) {
    Json& row = out.emplace_back(Json{{"name", kernel.name}, {"calls", kernel.calls}, {"nodes", kernel.nodes}});
    if (!kernel.access) continue;
    row["block_threads"] = kernel.access->threads;
    row["shared_bytes"] = kernel.access->shared_bytes;
    row["coalesced"] = mean(kernel.access->coalesced);
    row["bank_turns"] = mean(kernel.access->bank_turns);
    row["unknown_accesses"] = kernel.access->unknown;
  }
  return out;
}

std::string json(const CompileReport& report, const runtime::Program& program, bool times) {
  auto ms = [&](double value) { return times ? Json(value) : Json(); };
  Json passes = Json::array(), groups = Json::array(), batching = Json::array();
  Json without_kernel = Json::array(), external = Json::array();
  for (const PassReport& pass : report.passes) passes.push_back({{"name", pass.name}, {"ms", ms(pass.ms)}});
  for (const build::NodeReport& node : report.nodes)
    if (node.kernels.empty())
      without_kernel.push_back({{"node", node.node},
                                {"removed_by", node.removed_by.empty() ? Json() : Json(node.removed_by)},
                                {"why", node.reason.empty() ? Json() : Json(node.reason)}});
  for (const GroupReport& group : report.groups) {
    groups.push_back({{"name", group.name},
                      {"rule", group.rule},
                      {"flops", group.flops},
                      {"scheduled_by_hand", group.scheduled_by_hand},
                      {"tuned", group.tuned}});
    if (group.algorithm.empty()) continue;
    groups.back()["algorithm"] = group.algorithm;
    groups.back()["saved_ms"] = group.saved_ms;
    groups.back()["added_bytes"] = group.added_bytes;
  }
  for (const build::SegmentReport& s : report.batching)
    batching.push_back({{"segment", s.name}, {"calls", name(s.batching)}, {"why", s.reason}});
  for (const ExternalReport& e : report.externals) {
    external.push_back({{"library", e.library},
                        {"symbol", e.symbol},
                        {"steps", e.steps},
                        {"payload_bytes", e.payload},
                        {"constant_bytes", e.bytes}});
    for (const auto& [figure, value] : e.figures) external.back()[figure] = value;
  }
  Json copies = Json::array();
  for (const CopyReport& c : report.copies)
    copies.push_back({{"from", c.from}, {"to", c.to}, {"copies", c.copies}, {"bytes", c.bytes}});
  Json donations = Json::array();
  for (const DonationReport& d : report.donations)
    donations.push_back({{"input", d.input},
                         {"result", d.result.empty() ? Json() : Json(d.result)},
                         {"in_place", d.in_place},
                         {"why", d.in_place ? Json() : Json(d.reason)}});
  const Counts counts = counts_of(report);
  const std::optional<int64_t> arena = planned_bytes(program);
  Json out = {
      {"relay", version},
      {"target", json(report.target)},
      {"threads", report.threads},
      {"opt_level", report.opt_level},
      {"numerics", lower::name(report.numerics)},
      {"executor", runtime::name(report.executor)},
      {"tier", runtime::name(report.tier)},
      {"counts", {{"groups", counts.groups}, {"kernels", counts.kernels}, {"calls", counts.calls}}},
      {"passes", passes},
      {"groups", groups},
      {"kernels", json(report.kernels)},
      {"external", external},
      {"copies", copies},
      {"nodes_without_kernel", without_kernel},
      {"batching", batching},
      {"donations", donations},
      {"constants",
       {{"steps", report.constant_steps},
        {"bytes", report.constant_bytes},
        {"prepared_bytes", report.prepared_bytes},
        {"model_bytes", report.model_bytes}}},
      {"memory", {{"arena_bytes", arena ? Json(*arena) : Json()}}},
      {"ms",
       {{"passes", ms(report.passes_ms)},
        {"lower", ms(report.lower_ms)},
        {"constants", ms(report.constant_ms)},
        {"codegen", ms(report.codegen_ms)},
        {"total", ms(report.total_ms())}}},
      {"notes", report.notes},
      {"refusals", report.refusals},
  };
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

// Adds the place of a span to `out`.
static void add_place(Json& out, const Span& span) {
  out["node"] = span.node ? Json(*span.node) : Json();
  out["file"] = span.source ? Json(span.source->name) : Json();
  bool has_line = span.source && !span.node;
  auto put = [&](const char* line, const char* column, uint32_t offset) {
    std::pair<uint32_t, uint32_t> place =
        has_line ? line_column(*span.source, offset) : std::pair<uint32_t, uint32_t>();
    out[line] = has_line ? Json(place.first) : Json();
    out[column] = has_line ? Json(place.second) : Json();
  };
  put("line", "column", span.begin);
  put("end_line", "end_column", span.end);
}

std::string json(const Diagnostics& diagnostics) {
  Json out = Json::array();
  for (const Diagnostic& d : diagnostics) {
    Json one = {{"severity", d.severity == Severity::Error ? "error" : "warning"},
                {"kind", info(d.kind).name},
                {"code", info(d.kind).code},
                {"message", d.message}};
    add_place(one, d.span);
    one["labels"] = Json::array();
    for (const Label& label : d.labels) {
      Json place = {{"text", label.text}};
      add_place(place, label.span);
      one["labels"].push_back(place);
    }
    one["notes"] = d.notes;
    one["help"] = d.help;
    one["text"] = render(d);
    out.push_back(one);
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace relay::driver
