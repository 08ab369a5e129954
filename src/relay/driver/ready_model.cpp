#include "relay/driver/ready_model.h"

#include <nlohmann/json.hpp>

#include "relay/base/fork_guard.h"
#include "relay/driver/kernel_store.h"
#include "relay/external/generators.h"
#include "relay/frontend/common/limits.h"
#include "relay/input/files.h"
#include "relay/ir/attribute_names.h"
#include "relay/ir/rewrite.h"
#include "relay/measure/measure.h"
#include "relay/op/custom.h"
#include "relay/tensor/memory.h"

namespace relay::driver {

using Json = nlohmann::ordered_json;

static Json key_of(const OperationCycles& cycles) {
  const auto& [division, root, exp] = cycles;
  return {division, root, exp};
}

static Json key_of(const BlockFigures& blocks) {
  const auto& [warp, threads, threads_at_once, registers, shared_bytes, shared_bytes_at_once] = blocks;
  return {warp, threads, threads_at_once, registers, shared_bytes, shared_bytes_at_once};
}

// Names every field of the target: a new one does not compile until it is part of the key.
static Json key_of(const TargetDesc& target) {
  const auto& [name, triple, cpu, features, vector_bytes, vector_registers, has_fma, has_masks, line_bytes, l1_ways,
               l1_bytes, l2_bytes, l3_bytes, fma_per_cycle, fma_latency, float32_cycles, float64_cycles, instructions,
               ghz, l2_gbps, l3_gbps, dram_gbps, prefetch_weights, cores, blocks] = target;
  Json rates = Json::object();
  for (const auto& [instruction, per_cycle] : instructions) rates[instruction] = per_cycle;
  return {name,
          triple,
          cpu,
          features,
          vector_bytes,
          vector_registers,
          has_fma,
          has_masks,
          line_bytes,
          l1_ways,
          l1_bytes,
          l2_bytes,
          l3_bytes,
          fma_per_cycle,
          fma_latency,
          key_of(float32_cycles),
          key_of(float64_cycles),
          std::move(rates),
          ghz,
          l2_gbps,
          l3_gbps,
          dram_gbps,
          prefetch_weights,
          cores,
          key_of(blocks)};
}

// --- the key of an option, by its type -------------------------------------------------------------------------------
template <class T>
  requires std::is_constructible_v<Json, T>
static Json key_of(const T& value) {
  return value;
}
static Json key_of(const lower::Numerics& numerics) { return lower::name(numerics); }
static Json key_of(const Mode& mode) { return name(mode); }
static Json key_of(const Precision& precision) { return name(precision); }
static Json key_of(const build::BatchCalls& calls) { return static_cast<int>(calls); }
static Json key_of(const lower::Mutation& bug) { return static_cast<int>(bug); }
static Json key_of(const lower::RuleSet& rules) { return lower::names(rules); }
static Json key_of(const std::optional<int64_t>& number) { return number ? Json(*number) : Json(); }
static Json key_of(const std::optional<runtime::Executor>& e) { return e ? Json(runtime::name(*e)) : Json(); }
static Json key_of(const cache::TuningRecords& records) { return records.decisions; }
static Json key_of(const Donated& donate) {
  Json out = Json::object();
  for (const auto& [input, result] : donate)
    out[input] = result ? std::visit([](const auto& key) { return Json(key); }, *result) : Json();
  return out;
}
static Json key_of(const DeviceMap& devices) {
  Json out = Json::object();
  for (const auto& [name, device] : devices) out[name] = str(device);
  return out;
}
static Json key_of(const std::map<std::string, DType>& dtypes) {
  Json out = Json::object();
  for (const auto& [input, dtype] : dtypes) out[input] = dtype.str();
  return out;
}

std::string target_key(const TargetDesc& target) {
  return key_of(target).dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string cache_request(const Options& options) {
  Json key = Json::object();
  for_each_option(options, [&](const auto& one, const auto& value) {
    if (one.use.not_in_key) return;
    if constexpr (requires { key_of(value); })
      key[one.name] = key_of(value);
    else
      RELAY_CHECK(false, "the option {} has a type that has no key", one.name);
  });
  return key.dump(-1, ' ', false, Json::error_handler_t::replace);
}

static std::string for_people(const Options& options) {
  return format("{}, {}, O{}{}{}", options.lower.target.name, lower::name(options.lower.numerics),
                options.passes.opt_level, options.passes.mode == Mode::Training ? ", training" : "",
                options.run.threads > 0 ? ", " + plural(options.run.threads, "thread", "threads") : "");
}

static const std::string& message(const Diagnostics& errors) { return errors[0].message; }

static cache::NewModel to_keep(const Model& model, const Compiled& compiled, const Options& options, double since,
                               runtime::Tier tier) {
  const CompileReport& report = compiled.report;
  std::vector<std::string> notes = report.notes;
  for (const Diagnostic& warning : model.warnings) notes.push_back(warning.message);
  return {
      .model = model.path,
      .files = model.files,
      .read_since = since,
      .options = for_people(options),
      .notes = std::move(notes),
      .compile_ms = report.total_ms(),
      .weight_bytes = report.constant_bytes,
      .write_artifact = [&, tier](const std::string& path) { return save(compiled, FileForm::Artifact, path, tier); }};
}

// True if it calls operators, or functions for code generators, that this process has defined: another process may
// define different ones.
static bool means_something_here_only(const ir::Module& module) {
  bool found = false;
  for (const auto& [name, f] : module.functions)
    ir::visit(f, [&](const ir::Expr& e) {
      const ir::Op* op = ir::as<ir::Op>(e);
      const ir::Function* function = ir::as<ir::Function>(e);
      found |= op && op::find_custom(op->name);
      found |= function && function->attrs.count(ir::attribute::compiler) && external::has_added_generators();
    });
  return found;
}

// Fills in the model that the cache has for this request, or a note. Returns true if there is one. `cache` becomes null
// if it cannot be used. An entry with fast code is one only if the options allow such code.
static Result<bool> find_in_cache(ReadyModel& out, const std::string& path, const std::string& request,
                                  const Options& options, cache::Cache*& cache) {
  const double begin = measure::now();
  Result<std::optional<cache::CachedModel>> found = cache->find(path, request);
  if (!found) {
    out.notes.push_back(format("the cache is not used: {}", message(found.errors())));
    cache = nullptr;
    return false;
  }
  if (!*found) return false;
  Status loaded = load_artifact(out.model, (*found)->artifact, options.run);
  if (!loaded) {
    out.model = {};
    out.notes.push_back(format("the cached model cannot be loaded: {}", message(loaded.errors())));
    RELAY_RETURN_IF_ERROR(cache->remove(**found));
    return false;
  }
  if (options.run.tier == Tier::Full && out.model.executable->tier() == runtime::Tier::Fast) {
    out.model = {};
    return false;
  }
  out.executable = out.model.executable;
  out.model.path = path, out.model.files = {path};
  out.model.ms = (measure::now() - begin) * 1e3;
  out.cached = *std::move(*found);
  return true;
}

using Kernels = Result<std::shared_ptr<const runtime::KernelLibrary>>;

// Full code, which also replaces fast code in the cache.
static Kernels keep_full(const Model& model, const Compiled& full, const Options& options, double since,
                         const std::string& request, const OpenCache& open) {
  RELAY_ASSIGN(const std::shared_ptr<const runtime::KernelLibrary> kernels, kernels_of(full));
  const ForkGuard guard;
  if (Result<std::unique_ptr<cache::Cache>> cache = open())  // without a cache, this process has full code all the same
    (void)(*cache)->store(to_keep(model, full, options, since, runtime::Tier::Full), request);
  return kernels;
}

// Full code of a model that the cache has with fast code: the model is read again.
static Kernels compile_again(const std::string& path, Options options, const std::string& request,
                             const OpenCache& open) {
  options.run.tier = Tier::Full, options.run.make_executable = false, options.run.kernels = open;
  const double since = cache::clock_now();
  RELAY_ASSIGN(const Model model, load_model(path, options));
  options.run.output_names = model.output_names;
  RELAY_ASSIGN(const Compiled full, compile(model.module, options));
  return keep_full(model, full, options, since, request, open);
}

// Lets the executable exchange its code, if it is to and has fast code. `at_exit`: the process does not end before.
static void plan_upgrade(ReadyModel& ready, const Options& options, CompileFull compile, bool at_exit) {
  if (options.run.tier != Tier::Auto || ready.executable->tier() == runtime::Tier::Full) return;
  const std::shared_ptr<runtime::KernelCode>& code = ready.executable->code();
  ready.executable->set_upgrade(at_exit ? upgrade_with_cache(code, std::move(compile))
                                        : upgrade(code, std::move(compile)));
}

// Freeing smaller models takes more time than their memory is worth.
static constexpr int64_t large_weights = 32 << 20;

// Frees the weights of a model that a file in the cache has: else the process would hold them twice, or three times
// with the forms that are computed when the file is loaded.
static void free_weights(ReadyModel& out, Keep keep) {
  out.compiled->backend = nullptr, out.compiled->built.program = nullptr;
  if (keep == Keep::Code) {
    out.model.module = interface_of(out.model.module);
    out.compiled->module = interface_of(out.compiled->module);
    out.compiled->lowered.clear();
  }
  give_back_memory();
}

// Loads the model that was added to the cache. The program of a large model is then the file's.
static Status load_kept(ReadyModel& out, const cache::CachedModel& kept, const Options& options, Keep keep) {
  const bool is_large = out.compiled->report.constant_bytes >= large_weights;
  if (is_large) free_weights(out, keep);
  RELAY_ASSIGN(const runtime::Artifact artifact, runtime::open_artifact(kept.artifact));
  if (is_large) out.compiled->built.program = artifact.program;
  RELAY_ASSIGN(out.executable, runtime::load_executable(artifact, executable_options(options.run, out.compiled->tier)));
  out.compiled->backend = nullptr, out.compiled->executable = out.executable;
  return ok();
}

// Compiles the model, and adds it to the cache if there is one. `keeps_fast`: also if its code is fast; then a later
// process must be able to read the model again.
static Status compile_into_cache(ReadyModel& out, Options options, double since, const std::string& request,
                                 cache::Cache* cache, bool keeps_fast, Keep keep) {
  if (!cache || means_something_here_only(out.model.module)) {
    RELAY_ASSIGN(out.compiled, compile(out.model.module, options));
    out.executable = out.compiled->executable;
    return ok();
  }
  // Compiles to a file, which is then loaded, so that code is generated once.
  RELAY_RETURN_IF_ERROR(check_runs_here(options.lower.target));
  options.run.make_executable = false, options.run.kernels = cache->opener();
  RELAY_ASSIGN(out.compiled, compile(out.model.module, options));
  const runtime::Tier tier = out.compiled->tier;
  const bool is_full = tier == runtime::Tier::Full;
  auto later = [&]() -> CompileFull {
    if (is_full) return nullptr;
    return [model = out.model, program = without_executable(*out.compiled), options, since, request,
            open = cache->opener()] {
      return keep_full(model, with_full_code(program, options), options, since, request, open);
    };
  };
  const double begin = measure::now();
  if (is_full || keeps_fast) {
    const Result<cache::CachedModel> kept =
        cache->store(to_keep(out.model, *out.compiled, options, since, tier), request);
    const Status loaded = kept ? load_kept(out, *kept, options, keep) : kept.errors();
    if (loaded) {
      out.compiled->report.tier = tier;
      out.compiled->report.codegen_ms = (measure::now() - begin) * 1e3;
      plan_upgrade(out, options, later(), false);
      return ok();
    }
    if (!out.compiled->built.program) return loaded.errors();
    out.notes.push_back(format("not added to the cache: {}", message(loaded.errors())));
  }
  RELAY_RETURN_IF_ERROR(make_executable(*out.compiled, options));
  out.executable = out.compiled->executable;
  plan_upgrade(out, options, later(), !keeps_fast);
  return ok();
}

Result<ReadyModel> prepare_model(const std::string& path, Options options, cache::Cache* cache, Diagnostics& warnings,
                                 Keep keep) {
  ReadyModel out;
  RELAY_RETURN_IF_ERROR(frontend::import_limits(options.import.import_limits));  // also where the cache has the model
  RELAY_RETURN_IF_ERROR(check_options(options));
  // Passes have no text that identifies them, nor do generators that this process has added.
  if (input::is_pipe(path) || !options.passes.extra_passes.empty() ||
      (!options.passes.external.empty() && external::has_added_generators())) {
    cache = nullptr;
  } else {
    RELAY_ASSIGN(ModelForm form, form_of(path));
    if (form == ModelForm::Artifact) cache = nullptr;
  }
  const std::string request = cache_request(options);
  const double since = cache::clock_now();
  if (cache) {
    RELAY_ASSIGN(bool found, find_in_cache(out, path, request, options, cache));
    if (found) {
      plan_upgrade(
          out, options,
          [path, options, request, open = cache->opener()] { return compile_again(path, options, request, open); },
          true);
      return out;
    }
  }
  Result<Model> model = load_model(path, options);
  if (!model) return model.errors();
  out.model = *std::move(model);
  warnings = out.model.warnings;
  out.executable = out.model.executable;
  if (out.executable) return out;
  options.run.output_names = out.model.output_names;
  RELAY_RETURN_IF_ERROR(compile_into_cache(out, options, since, request, cache, !python_package(out.model.form), keep));
  return out;
}

static std::string request_of(const BuiltModel& model, const Options& options) {
  return model.reader + "\n" + cache_request(options);
}

Result<std::optional<ReadyModel>> find_ready(const BuiltModel& model, const Options& options, cache::Cache& cache) {
  RELAY_RETURN_IF_ERROR(check_options(options));
  ReadyModel out;
  cache::Cache* usable = &cache;
  RELAY_ASSIGN(bool found, find_in_cache(out, model.path, request_of(model, options), options, usable));
  return found ? std::optional(std::move(out)) : std::nullopt;
}

Result<ReadyModel> compile_and_keep(const BuiltModel& model, ir::Module module, Options options, double since,
                                    cache::Cache* cache) {
  ReadyModel out;
  out.model.path = model.path, out.model.files = model.files;
  out.model.module = std::move(module);
  RELAY_RETURN_IF_ERROR(
      compile_into_cache(out, options, since, request_of(model, options), cache, false, Keep::Stages));
  return out;
}

}  // namespace relay::driver
