// Descriptions of x86-64 processors. "native" uses the CPUID instruction (this_x86.h); figures that it lacks
// (bandwidths, multiply-adds per cycle) were measured, with a row per microarchitecture.
//
//   describe("zen4")             an AMD Zen 4, on any machine
//   describe("native,-avx512f")  this machine as if it had no AVX-512
#include "relay/target/x86/x86.h"

#include <llvm/ADT/SmallVector.h>
#include <llvm/TargetParser/X86TargetParser.h>

#include <algorithm>
#include <map>
#include <set>

#include "relay/base/tile_permission.h"
#include "relay/machine/instruction.h"
#include "relay/target/cores.h"
#include "relay/target/x86/this_x86.h"

namespace relay::target {
namespace {

struct Model {
  const char* name;
  const char* cpu;  // LLVM's name, which implies the features
  double fma_per_cycle, bfloat16_pairs_per_cycle, int16_pairs_per_cycle, ghz;
  OperationCycles float32_cycles, float64_cycles;  // quotients and roots of 256 bits, exp of a whole vector
  int64_t l1, l2, l3;                              // KiB
  double l2_gbps, l3_gbps, dram_gbps;
  bool prefetch_weights;
};

// L1 finds a line by its address within a page, so each of its ways is as large as a page.
constexpr int64_t page_bytes = 4096;

// Fastest path, caches and read bandwidths of one core. fma_per_cycle counts instructions of the widest vector, and
// bfloat16_pairs_per_cycle its vdpbf16ps, if the processor has it. int16_pairs_per_cycle counts pairs of vpmaddwd and
// vpaddd: by llvm-mca's scheduling models, of which Intel's take three ports for both at 256 bits, and two at 512. Dot
// products of bytes are as fast as multiply-adds on all of them. Cycles of divisions, roots and exp are measured on Zen
// 4 and Sapphire Rapids (10, 11.6 and 11.6 of 512 bits); Alder Lake's divisions and Ice Lake's exp have the latter's
// figures; others are predicted by llvm-mca for the kernels in measure/operations.cpp. Those of float64 are llvm-mca's,
// except for Zen 4's, and exp of Ice Lake and Sapphire Rapids, which are as much below llvm-mca's as their exp of
// float32. LLVM treats Zen 5 as a Zen 4, but its multiply-adds make exp twice as fast.
const Model models[] = {
    {"generic", "x86-64-v2", 1, 0, 1, 2.5, {28, 28, 22.8}, {44, 42, 42.1}, 32, 256, 8192, 30, 15, 8, true},
    {"avx2", "x86-64-v3", 2, 0, 1, 3, {14, 14, 10.9}, {28, 28, 17.8}, 32, 512, 8192, 50, 20, 10, true},
    {"avx512", "x86-64-v4", 2, 0.5, 1, 2.8, {5, 6, 10.4}, {8, 12, 15.8}, 32, 1024, 16384, 80, 20, 10, true},
    {"haswell", "haswell", 2, 0, 1, 3, {14, 14, 10.9}, {28, 28, 17.8}, 32, 256, 8192, 50, 20, 10, true},
    {"skylake", "skylake", 2, 0, 1.5, 3.5, {5, 6, 10.3}, {8, 12, 15.8}, 32, 256, 8192, 60, 25, 12, true},
    {"alderlake", "alderlake", 2, 0, 1.5, 3.8, {5, 6, 8.3}, {8, 12, 11.7}, 48, 1280, 25600, 80, 30, 15, true},
    {"skylake-avx512", "skylake-avx512", 2, 0, 1, 2.6, {5, 6, 10.4}, {8, 12, 15.8}, 32, 1024, 16384, 80, 17, 10, true},
    {"cascadelake", "cascadelake", 2, 0.5, 1, 2.6, {5, 6, 10.4}, {8, 12, 15.8}, 32, 1024, 16384, 80, 17, 10, true},
    {"icelake-server", "icelake-server", 2, 0.5, 1, 2.8, {5, 6, 11.6}, {8, 12, 16}, 48, 1280, 32768, 90, 18, 11, true},
    {"sapphirerapids", "sapphirerapids", 2, 0.5, 1, 2.9, {5, 6, 11.6}, {8, 12, 16}, 48, 2048, 65536, 97, 20, 11, true},
    {"zen2", "znver2", 2, 0, 1, 3.3, {5, 7, 13.3}, {6, 10, 28.4}, 32, 512, 16384, 70, 50, 20, false},
    {"zen3", "znver3", 2, 0, 2, 3.4, {3, 5, 7.8}, {5, 9, 13.8}, 32, 512, 32768, 80, 70, 22, false},
    // The 512-bit unit of Zen 4 is two 256-bit halves: one full multiply-add per cycle.
    {"zen4", "znver4", 1, 1, 1, 3.7, {3, 5, 12.6}, {4.5, 8.3, 19.7}, 32, 1024, 32768, 118, 97, 27, false},
    {"zen5", "znver5", 2, 2, 2, 4, {3, 5, 6.3}, {4.5, 8.3, 9.8}, 48, 1024, 32768, 200, 110, 30, false},
};

// A product of tiles takes a cycle for each row on all processors that have tiles: 1024 multiply-adds of bytes per
// cycle, 512 of bfloat16. On a Sapphire Rapids of 3.1 GHz, 877 and 440 were measured.
constexpr double tile_products_per_cycle = 1.0 / 16;

// Features that may be added or left out, each with the ones that need it.
const std::map<std::string, std::vector<std::string>> dependents = {
    {"sse4.1", {"sse4.2"}},
    {"sse4.2", {"avx", "gfni"}},
    {"avx", {"avx2", "fma", "f16c", "avxvnni"}},
    {"avx2", {"avx512f", "avxvnni"}},
    {"fma", {"avx512f"}},
    {"f16c", {"avx512f"}},
    {"avx512f",
     {"avx512bw", "avx512cd", "avx512dq", "avx512vl", "avx512vnni", "avx512bf16", "avx512fp16", "avx512vbmi",
      "avx512vbmi2", "avx512ifma", "avx512bitalg", "avx512vpopcntdq", "avx512vp2intersect"}},
    {"avx512bw", {"avx512bf16", "avx512fp16", "avx512vbmi", "avx512vbmi2", "avx512bitalg"}},
    {"avx512dq", {"avx512fp16"}},
    {"avx512vl", {"avx512fp16"}},
    {"amx-tile", {"amx-int8", "amx-bf16", "amx-fp16", "amx-complex"}},
};
// Alternative names of features.
const std::map<std::string, std::string> aliases = {
    {"vnni", "avx512vnni"}, {"bf16", "avx512bf16"}, {"fp16", "avx512fp16"}, {"amx", "amx-tile"}, {"sse4", "sse4.2"}};

// Features that LLVM uses in instructions by itself.
constexpr const char* plain_features[] = {"sse3", "ssse3", "popcnt", "cx16", "bmi", "bmi2", "lzcnt", "movbe"};

std::vector<std::string> feature_names() {
  std::set<std::string> all;
  for (const auto& [name, needing] : dependents) all.insert(name), all.insert(needing.begin(), needing.end());
  for (const auto& [alias, name] : aliases) all.insert(alias);
  return {all.begin(), all.end()};
}

void enable(std::set<std::string>& features, const std::string& name) {
  if (!features.insert(name).second) return;
  for (const auto& [needed, needing] : dependents)
    if (std::find(needing.begin(), needing.end(), name) != needing.end()) enable(features, needed);
}

// The relevant features that LLVM enables for a processor's name. For alderlake it names AVX-VNNI but not AVX2, which
// that needs.
std::set<std::string> features_of(const std::string& cpu) {
  if (llvm::X86::parseArchX86(cpu, true) == llvm::X86::CK_None) return {};
  llvm::SmallVector<llvm::StringRef, 64> all;
  llvm::X86::getFeaturesForCPU(cpu, all);
  const std::vector<std::string> names = feature_names();
  std::set<std::string> known(names.begin(), names.end()), found;
  known.insert(std::begin(plain_features), std::end(plain_features));
  for (llvm::StringRef f : all)
    if (known.count(f.str())) enable(found, f.str());
  return found;
}

std::vector<std::string> model_names() {
  std::vector<std::string> all;
  if (this_x86()) all.push_back("native");
  for (const Model& m : models) all.push_back(m.name);
  return all;
}

const Model* find_model(std::string_view name) {
  for (const Model& m : models)
    if (name == m.name || name == m.cpu) return &m;
  return nullptr;
}

void disable(std::set<std::string>& features, const std::string& name) {
  features.erase(name);
  if (auto it = dependents.find(name); it != dependents.end())
    for (const std::string& d : it->second) disable(features, d);
}

// The row for LLVM's name of this machine; the row with the most similar features if there is none of that name. The
// name follows from the family and model that the processor states, and a virtual machine may state those of another
// one: features decide where they contradict the name.
const Model& host_model(const std::string& cpu, const std::set<std::string>& features) {
  if (features.count("avx512fp16") && !starts_with(cpu, "znver")) return *find_model("sapphirerapids");
  if (const Model* m = find_model(cpu)) return *m;
  if (cpu == "broadwell") return *find_model("haswell");
  if (cpu == "znver1") return *find_model("zen2");
  if (cpu == "raptorlake" || cpu == "meteorlake" || starts_with(cpu, "arrowlake") || cpu == "lunarlake")
    return *find_model("alderlake");
  if (starts_with(cpu, "icelake") || cpu == "rocketlake" || cpu == "tigerlake") return *find_model("icelake-server");
  return *find_model(features.count("avx512f")                         ? "avx512"
                     : features.count("avx2") && features.count("fma") ? "avx2"
                                                                       : "generic");
}

Diagnostic unknown(std::string_view what, std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> near = nearest(name, known);
  return {.kind = DiagnosticKind::unknown_target,
          .message = format("no x86 {} is named '{}'", what, name),
          .notes = {format("known: {}", join(known, ", "))},
          .help = near ? format("did you mean '{}'?", *near)
                       : "choose one of these; `relay doctor` prints the name of this machine"};
}

// The instructions that the features imply, with their rates.
void add_instructions(TargetDesc& t, const Model& model) {
  constexpr int widest = 64;  // processors with such vectors and without dot products of bytes were not measured
  for (const machine::Instruction* i : machine::instructions_of(t.triple, t.features))
    if (i->short_sums && t.vector_bytes == widest)
      continue;
    else if (i->on_tiles())
      t.instructions.push_back({i->name, tile_products_per_cycle});
    else if (i->left == DType::int16())  // a line for each width: narrower vectors are those of the last columns
      t.instructions.push_back({i->name, model.int16_pairs_per_cycle});
    else if (i->short_sums)  // a line for each width; three instructions, two of which multiply
      t.instructions.push_back({i->name, model.fma_per_cycle / 2});
    else if (i->most_bytes >= t.vector_bytes)
      t.instructions.push_back(
          {i->name, i->left == DType::bfloat16() ? model.bfloat16_pairs_per_cycle : model.fma_per_cycle});
}

Result<TargetDesc> describe(std::string_view text) {
  std::vector<std::string_view> parts = split(text, ',');
  std::string_view name = trim(parts[0]);
  TargetDesc t;
  std::set<std::string> features;
  const Model* model = nullptr;
  const std::optional<ThisX86> native = name == "native" ? this_x86() : std::nullopt;
  if (native) {
    t.cpu = native->cpu, features = native->features;
    if (!tile_permission().granted) disable(features, "amx-tile");
    model = &host_model(t.cpu, features);
  } else {
    model = find_model(name);
    if (!model) return unknown("processor", name, model_names());
    t.cpu = model->cpu;
    features = features_of(t.cpu);
  }
  // Features that LLVM would enable for the processor's name are listed explicitly: those that this machine lacks (a
  // virtual one may), and those left out by the user.
  std::set<std::string> off = features_of(t.cpu);
  for (size_t i = 1; i < parts.size(); ++i) {
    std::string_view part = trim(parts[i]);
    std::string feature(part.empty() ? part : part.substr(1));
    if (auto it = aliases.find(feature); it != aliases.end()) feature = it->second;
    std::vector<std::string> known = feature_names();
    if (part.empty() || (part[0] != '+' && part[0] != '-') ||
        std::find(known.begin(), known.end(), feature) == known.end()) {
      if (part.empty() || (part[0] != '+' && part[0] != '-'))
        return Diagnostic{.kind = DiagnosticKind::unknown_target,
                          .message = format("'{}' is not a feature: features have the form +name or -name", part),
                          .notes = {format("known: {}", join(known, ", "))},
                          .help = "write a target with its features as in native,-avx512f"};
      return unknown("feature", feature, known);
    }
    if (part[0] == '+') {
      enable(features, feature);
    } else {
      std::set<std::string> before = features;
      disable(features, feature);
      for (const std::string& f : before)
        if (!features.count(f)) off.insert(f);
      off.insert(feature);
    }
  }
  t.name = model->name;
  t.triple = "x86_64-unknown-linux-gnu";
  for (const std::string& f : features) t.features.push_back("+" + f);
  for (const std::string& f : off)
    if (!features.count(f)) t.features.push_back("-" + f);
  bool wide = features.count("avx512f") && features.count("avx512bw") && features.count("avx512dq") &&
              features.count("avx512vl");
  bool middle = features.count("avx2") && features.count("fma");
  t.vector_bytes = wide ? 64 : middle ? 32 : 16;
  t.vector_registers = wide ? 32 : 16;
  t.has_fma = features.count("fma") > 0;
  t.has_masks = wide;
  t.l1_bytes = model->l1 << 10, t.l2_bytes = model->l2 << 10, t.l3_bytes = model->l3 << 10;
  t.ghz = model->ghz, t.l2_gbps = model->l2_gbps, t.l3_gbps = model->l3_gbps, t.dram_gbps = model->dram_gbps;
  t.fma_per_cycle = model->fma_per_cycle;
  add_instructions(t, *model);
  t.prefetch_weights = model->prefetch_weights;
  // Zen 4 does as much with two 256-bit instructions as with one of 512 bits.
  if (!wide && std::string_view(model->name) == "zen4") t.fma_per_cycle = 2;
  auto of_vectors = [&](const OperationCycles& c) {
    return OperationCycles{c.division * t.vector_bytes / 32, c.root * t.vector_bytes / 32,
                           c.exp * model->fma_per_cycle / t.fma_per_cycle};
  };
  t.float32_cycles = of_vectors(model->float32_cycles), t.float64_cycles = of_vectors(model->float64_cycles);
  t.cores = 1;
  if (native) {
    if (native->l1_bytes > 0) t.l1_bytes = native->l1_bytes;
    if (native->l2_bytes > 0) t.l2_bytes = native->l2_bytes;
    if (native->l3_bytes > 0) t.l3_bytes = native->l3_bytes;
    t.cores = available_cores();
  }
  t.l1_ways = static_cast<int>(t.l1_bytes / page_bytes);
  return t;
}

}  // namespace

codegen::TargetDef x86() {
  auto processors = [] {
    std::vector<std::string> names = model_names();
    for (const Model& m : models) names.push_back(m.cpu);
    return names;
  };
  return {"x86", processors, describe};
}

}  // namespace relay::target
