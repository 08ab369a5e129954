#include "relay/driver/compilation_json.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "relay/base/printable.h"
#include "relay/codegen/c/c_source.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/driver/version.h"

namespace relay::driver {

using Json = nlohmann::ordered_json;

namespace {

// The groups and kernels of all segments. A kernel that several segments have is listed once.
struct Kernels {
  struct Group {
    const lower::LoweredGroup* group = nullptr;
    std::optional<Difference> error{};
    std::vector<int> kernels{};
    bool constant = true;  // its steps run when the program is built
  };
  struct Kernel {
    const loop::Kernel* kernel = nullptr;
    std::vector<int> groups{};
    double flops = 0;   // of the calls of a run
    double bytes = 0;   // read and written by them; -1 if a size is unknown
    int64_t calls = 0;  // per run
  };
  std::vector<Group> groups;
  std::vector<Kernel> kernels;
  std::unordered_map<std::string, int> numbers;  // of kernels
};

}  // namespace

// The bytes that a step reads and writes; -1 if a size is unknown.
static double bytes_of(const lower::Step& step, const lower::LoweredFunction& function) {
  double sum = 0;
  for (const std::vector<int>* arrays : {&step.reads, &step.writes})
    for (int i : *arrays) {
      const lower::Array& array = function.arrays[static_cast<size_t>(i)];
      double bytes = array.dtype.bytes();
      for (const scalar::Expr& size : array.shape) {
        if (!scalar::is_int(size)) return -1;
        bytes *= static_cast<double>(size->ivalue);
      }
      sum += bytes;
    }
  return sum;
}

static void add_once(std::vector<int>& list, int number) {
  if (std::find(list.begin(), list.end(), number) == list.end()) list.push_back(number);
}

// `errors`: null if they are not known.
static Kernels kernels_of(std::span<const lower::LoweredFunction> segments, const GroupErrors* errors) {
  Kernels out;
  for (size_t number = 0; number < segments.size(); ++number) {
    const lower::LoweredFunction& f = segments[number];
    const int first = static_cast<int>(out.groups.size());
    for (size_t i = 0; i < f.groups.size(); ++i)
      out.groups.push_back({&f.groups[i], errors ? (*errors)[number][i] : std::nullopt});
    for (const loop::Kernel& kernel : f.kernels)
      if (out.numbers.try_emplace(kernel.name, static_cast<int>(out.kernels.size())).second)
        out.kernels.push_back({&kernel});
    for (const lower::Step& step : f.steps) {
      if (!step.calls_kernel() || step.group < 0) continue;
      const int number = out.numbers.at(f.kernels[step.kernel].name), group = first + step.group;
      Kernels::Kernel& kernel = out.kernels[static_cast<size_t>(number)];
      add_once(kernel.groups, group);
      add_once(out.groups[static_cast<size_t>(group)].kernels, number);
      if (step.constant) continue;
      out.groups[static_cast<size_t>(group)].constant = false;
      ++kernel.calls, kernel.flops += step.flops;
      const double bytes = bytes_of(step, f);
      kernel.bytes = bytes < 0 || kernel.bytes < 0 ? -1 : kernel.bytes + bytes;
    }
  }
  return out;
}

// --- parts of the object ---------------------------------------------------------------------------------------------

static const char* kind_names[] = {"constant", "tuple",     "var",   "global",      "function",
                                   "call",     "let",       "if",    "get",         "ref_new",
                                   "ref_read", "ref_write", "match", "constructor", "op"};
static constexpr int kind_count = static_cast<int>(ir::ExprKind::Op) + 1;
static_assert(std::size(kind_names) == kind_count, "a name for each ir::ExprKind");

// Rows as columns.
template <class Rows, class Get>
static Json columns(const Rows& rows, Get&& row_of) {
  Json kind = Json::array(), label = Json::array(), type = Json::array(), place = Json::array(), attrs = Json::array(),
       owner = Json::array(), args = Json::array();
  for (const auto& one : rows) {
    const Row& row = row_of(one);
    kind.push_back(row.kind == Recording::operator_call ? kind_count : row.kind);
    label.push_back(row.label), type.push_back(row.type), place.push_back(row.place), attrs.push_back(row.attrs);
    owner.push_back(row.owner), args.push_back(row.args);
  }
  return {{"kind", std::move(kind)},   {"label", std::move(label)}, {"type", std::move(type)},
          {"place", std::move(place)}, {"attrs", std::move(attrs)}, {"owner", std::move(owner)},
          {"args", std::move(args)}};
}

static Json json(const Step& step) {
  Json rules = Json::object(), functions = Json::object(), gone = Json::array(), numbers = Json::array();
  for (const auto& [rule, times] : step.applied) rules[shortened(printable_line(rule))] = times;
  for (const auto& [name, row] : step.functions) functions[shortened(printable_line(name))] = row;
  for (const std::string& name : step.gone_functions) gone.push_back(shortened(printable_line(name)));
  for (const auto& [number, row] : step.changed) numbers.push_back(number);
  Json changed = columns(step.changed, [](const auto& one) -> const Row& { return one.second; });
  changed["row"] = std::move(numbers);
  return {{"pass", step.pass},
          {"ms", step.ms},
          {"rules", std::move(rules)},
          {"functions", std::move(functions)},
          {"gone_functions", std::move(gone)},
          {"first", step.first},
          {"added", columns(step.added, [](const Row& row) -> const Row& { return row; })},
          {"changed", std::move(changed)},
          {"removed", step.removed}};
}

static Json types_json(const std::vector<TypeText>& types) {
  Json text = Json::array(), dtype = Json::array(), bytes = Json::array();
  for (const TypeText& type : types)
    text.push_back(type.text), dtype.push_back(type.dtype), bytes.push_back(type.bytes);
  return {{"text", std::move(text)}, {"dtype", std::move(dtype)}, {"bytes", std::move(bytes)}};
}

// Texts of all places; the numbers of those that are computed once, when the program is built; and the nodes that the
// importer left out.
static Json places_json(const Recording& recording, const CompileReport& report) {
  std::unordered_map<std::string, int> numbers;
  Json text = Json::array(), constant = Json::array(), left_out = Json::array();
  build::PlaceTexts text_of;
  for (const Span& place : recording.places()) {
    std::string name = text_of(place);
    numbers.try_emplace(name, static_cast<int>(text.size()));
    text.push_back(shortened(printable_line(name)));
  }
  for (const build::NodeReport& node : report.nodes) {
    if (!node.reason.empty())
      left_out.push_back({{"text", shortened(printable_line(node.node))}, {"why", node.reason}});
    else if (auto found = numbers.find(node.node); node.constant && found != numbers.end())
      constant.push_back(found->second);
  }
  return {{"text", std::move(text)}, {"constant", std::move(constant)}, {"left_out", std::move(left_out)}};
}

// The largest difference from the evaluator. Numbers that are not finite are null.
static Json error_json(const std::optional<Difference>& error) {
  if (!error) return {};
  return {{"relative", error->relative}, {"absolute", error->absolute}, {"ulps", error->ulps}};
}

// `verified`: true if errors are known.
static Json groups_json(const Kernels& all, const Recording& recording, bool verified) {
  Json out = Json::array();
  for (const Kernels::Group& one : all.groups) {
    std::vector<int> places;
    for (const Span& span : one.group->sources)
      if (const int place = recording.place_of(span); place >= 0) places.push_back(place);
    out.push_back({{"name", one.group->name},
                   {"rule", one.group->rule},
                   {"algorithm", one.group->algorithm ? Json(lower::name(*one.group->algorithm)) : Json()},
                   {"flops", one.group->flops},
                   {"constant", one.constant},
                   {"places", places},
                   {"kernels", one.kernels}});
    if (verified) out.back()["error"] = error_json(one.error);
  }
  return out;
}

static Json kernels_json(const Kernels& all, const measure::Profile* profile) {
  Json out = Json::array();
  for (const Kernels::Kernel& one : all.kernels)
    out.push_back({{"name", one.kernel->name},
                   {"groups", one.groups},
                   {"calls", one.calls},
                   {"flops", one.flops},
                   {"bytes", one.bytes < 0 ? Json() : Json(one.bytes)}});
  if (!profile) return out;
  for (const measure::KernelProfile& row : profile->kernels) {
    const auto found = all.numbers.find(row.name);
    if (found == all.numbers.end()) continue;  // a copy, a check
    Json& kernel = out[static_cast<size_t>(found->second)];
    kernel["flops"] = row.flops, kernel["bytes"] = row.bytes;
    kernel["us"] = row.us, kernel["min_us"] = row.min_us, kernel["share"] = row.share();
    kernel["bound"] = measure::name(row.bound), kernel["threads"] = row.threads;
  }
  return out;
}

namespace {
// Texts without duplicates.
class Strings {
 public:
  int number(std::string text) {
    const auto [place, added] = numbers_.try_emplace(std::move(text), static_cast<int>(all_.size()));
    if (added) all_.push_back(place->first);
    return place->second;
  }
  Json take() { return std::move(all_); }

 private:
  Json all_ = Json::array();
  std::unordered_map<std::string, int> numbers_;
};
}  // namespace

// Kernels that differ only in their names, such as those of the layers of a transformer, share the texts of the first.
static Result<Json> texts_json(const Kernels& all, const TargetDesc& target) {
  Strings strings;
  Json te = Json::array(), schedule = Json::array(), loop = Json::array(), c = Json::array(), assembly = Json::array();
  for (const Kernels::Group& one : all.groups) {
    te.push_back(strings.number(printable(te::str(one.group->stages))));
    schedule.push_back(strings.number(printable(one.group->schedule)));
  }
  std::unordered_map<std::string, size_t> first;
  for (size_t i = 0; i < all.kernels.size(); ++i) {
    loop::Kernel nameless = *all.kernels[i].kernel;
    nameless.name = "kernel";
    const auto [place, added] = first.try_emplace(loop::str(nameless), i);
    if (!added) {
      for (Json* texts : {&loop, &c, &assembly}) texts->push_back((*texts)[place->second]);
      continue;
    }
    const loop::Kernel& kernel = *all.kernels[i].kernel;
    loop.push_back(strings.number(printable(loop::str(kernel))));
    c.push_back(strings.number(printable(codegen::c_source({&kernel, 1}))));
    RELAY_ASSIGN(std::string text, codegen::assembly_text(kernel, target));
    assembly.push_back(strings.number(printable(text)));
  }
  return Json{{"strings", strings.take()}, {"te", std::move(te)}, {"schedule", std::move(schedule)},
              {"loop", std::move(loop)},   {"c", std::move(c)},   {"asm", std::move(assembly)}};
}

static Json profile_json(const measure::Profile* profile) {
  if (!profile) return {};
  return {{"us", profile->us},
          {"kernels_us", profile->kernels_us},
          {"waiting_us", profile->waiting_us},
          {"runs", profile->runs}};
}

std::string CompilationJson::all() const { return graph.substr(0, graph.size() - 1) + ",\"texts\":" + texts + "}\n"; }

Result<CompilationJson> compilation_json(const CompilationJsonOf& of) {
  const CompileReport& report = of.compiled.report;
  const Kernels all = kernels_of(of.compiled.lowered, of.errors);
  Json steps = Json::array(), kinds = Json(std::vector<std::string>(std::begin(kind_names), std::end(kind_names)));
  kinds.push_back("operator");
  for (const Step& step : of.recording.steps()) steps.push_back(json(step));
  const Json graph = {{"format", "relay.compilation"},
                      {"version", compilation_json_version},
                      {"relay", version},
                      {"model", shortened(printable_line(of.model))},
                      {"target", report.target.name},
                      {"opt_level", report.opt_level},
                      {"numerics", lower::name(report.numerics)},
                      {"threads", report.threads},
                      {"executor", runtime::name(report.executor)},
                      {"kinds", std::move(kinds)},
                      {"labels", of.recording.labels()},
                      {"types", types_json(of.recording.types())},
                      {"places", places_json(of.recording, report)},
                      {"steps", std::move(steps)},
                      {"groups", groups_json(all, of.recording, of.errors != nullptr)},
                      {"kernels", kernels_json(all, of.profile)},
                      {"profile", profile_json(of.profile)},
                      {"verified", of.errors != nullptr}};
  Json texts = {};
  if (of.texts) {
    RELAY_ASSIGN(texts, texts_json(all, report.target));
  }
  auto text_of = [](const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); };
  return CompilationJson{text_of(graph), text_of(texts)};
}

}  // namespace relay::driver
