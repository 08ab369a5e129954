#include "relay/codegen/llvm/llvm_backend.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <system_error>

#include "relay/base/fork_guard.h"
#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/renamed.h"
#include "relay/codegen/rolled.h"
#include "relay/codegen/work.h"
#include "relay/loop/kernel_text.h"
#include "relay/loop/tiles.h"

namespace relay::codegen {

// Kernels of the store have a name that depends on what they compute, and get the program's when they leave it.
static std::string stored_name(const std::string& key) { return "relay_kernel_" + key; }

static bool can_rename(const TargetDesc& target) {
  const std::string_view triple = target.triple;
  const bool is_little =
      triple.starts_with("x86_64") || triple.starts_with("aarch64-") || triple.starts_with("riscv64");
  return is_little && triple.find("linux") != std::string_view::npos;
}

LlvmBackend::LlvmBackend(TargetDesc target, int threads, Tier tier, double most_operations,
                         std::shared_ptr<ObjectStore> store)
    : target_(std::move(target)),
      tier_(tier),
      most_operations_(most_operations),
      is_linked_(is_linked(target_)),
      store_(can_rename(target_) ? std::move(store) : nullptr) {
  for (int i = 1; i < threads; ++i) workers_.push_back(std::make_unique<Worker>());
}

LlvmBackend::~LlvmBackend() {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    queue_.clear();
  }
  for (const std::unique_ptr<Worker>& w : workers_)
    if (w->thread.joinable()) w->thread.join();
}

static std::string key_of(const std::string& text) {
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return format("{:016x}{:016x}", hash.high64, hash.low64);
}

Status LlvmBackend::check(const loop::Kernel& kernel, const std::string& text) {
  const std::string key = key_of(text);
  if (checked_.contains(key)) return ok();
  JobRef job = new_job(kernel, key);
  if (job->state != Job::State::Done) {  // otherwise it was checked before it was compiled
    RELAY_ASSIGN(job->kernel, codegen::check(kernel, target_));
  }
  checked_.emplace(key, std::move(job));
  return ok();
}

Tier LlvmBackend::tier_of(const loop::Kernel& kernel) const {
  if (tier_ == Tier::Full || loop::has_tiles(kernel)) return Tier::Full;  // tiles as loops of numbers are far slower
  // The operations that may run slowly for each instruction that is not compiled in full (docs/benchmarks/tried.md).
  constexpr double gain = 50e3;
  const Work w = codegen::work(kernel);
  return w.operations > most_operations_ + gain * w.instructions ? Tier::Full : Tier::Fast;
}

static loop::Kernel to_compile(const loop::Kernel& kernel, Tier tier) {
  return tier == Tier::Fast ? rolled(kernel) : kernel;
}

LlvmBackend::JobRef LlvmBackend::new_job(const loop::Kernel& kernel, std::string key) const {
  JobRef job = std::make_shared<Job>();
  job->tier = tier_of(kernel), job->key = std::move(key);
  if (!store_) return job;
  // Full code is as good as fast code, which need not be exchanged.
  for (const Tier tier : {Tier::Full, Tier::Fast}) {
    if (tier == Tier::Fast && job->tier == Tier::Full) break;
    std::optional<std::string> object = store_->find(job->key, tier);
    if (!object) continue;
    job->object = *std::move(object), job->tier = tier, job->state = Job::State::Done;
    break;
  }
  return job;
}

LlvmBackend::JobRef LlvmBackend::begun(const loop::Kernel& kernel, std::string key) {
  const auto known = checked_.find(key);
  JobRef job = known == checked_.end() ? nullptr : known->second;
  if (!job || !job->name.empty()) job = new_job(kernel, std::move(key));  // a second name needs a second object file
  job->name = kernel.name, job->body = kernel.body;
  jobs_[kernel.body.get()] = job;
  if (job->state == Job::State::Done) {
    if (std::optional<std::string> mine = renamed(std::move(*job->object), stored_name(job->key), job->name)) {
      job->object = *std::move(mine);
      return job;
    }
    job->state = Job::State::Checked;  // the store's file is damaged
  }
  if (job->tier == Tier::Fast || !job->kernel) job->kernel = Prepared{to_compile(kernel, job->tier)};
  job->kernel->kernel.name = store_ ? stored_name(job->key) : job->name;
  put(job);
  return job;
}

void LlvmBackend::begin(const loop::Kernel& kernel, const std::string& text) {
  if (!is_linked_) return;
  begun(kernel, key_of(text));
  start_worker();
  constexpr size_t most_waiting = 8;  // unrolled kernels take memory
  std::unique_lock<std::mutex> lock(mutex_);
  if (queue_.size() > most_waiting) run_next(lock);
}

void LlvmBackend::put(const JobRef& job) {
  std::lock_guard<std::mutex> lock(mutex_);
  job->state = Job::State::Waits;
  queue_.push_back(job);
}

void LlvmBackend::start_worker() {
  Worker* idle = nullptr;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (queue_.empty()) return;
    for (const std::unique_ptr<Worker>& w : workers_)
      if (w->is_done) idle = w.get();
    if (!idle) return;
    idle->is_done = false;
  }
  if (idle->thread.joinable()) idle->thread.join();
  try {
    idle->thread = std::thread([this, idle] { work(*idle); });
  } catch (const std::system_error&) {  // no thread can be created: compile() does its share
    std::lock_guard<std::mutex> lock(mutex_);
    idle->is_done = true;
  }
}

void LlvmBackend::work(Worker& worker) {
  InterruptScope scope(interrupt_);
  std::unique_lock<std::mutex> lock(mutex_);
  while (!queue_.empty()) run_next(lock);
  worker.is_done = true;
}

void LlvmBackend::run_next(std::unique_lock<std::mutex>& lock) {
  const JobRef job = queue_.front();
  queue_.pop_front();
  run(job, lock);
}

// Called, and returns, with the lock held.
void LlvmBackend::run(const JobRef& job, std::unique_lock<std::mutex>& lock) {
  job->state = Job::State::Runs;
  lock.unlock();
  try {
    check_interrupt();
    const ForkGuard guard;
    job->object = object_of(*job);
  } catch (...) {
    job->failure = std::current_exception();
  }
  lock.lock();
  job->state = Job::State::Done;
  job_done_.notify_all();
}

Result<std::string> LlvmBackend::object_of(Job& job) {
  std::unique_ptr<ObjectWriter> writer;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (std::vector<std::unique_ptr<ObjectWriter>>& idle = idle_writers_[job.tier]; !idle.empty()) {
      writer = std::move(idle.back());
      idle.pop_back();
    }
  }
  if (!writer) {
    RELAY_ASSIGN(writer, object_writer(target_, job.tier));
  }
  std::vector<loop::Kernel> kernels;
  if (job.kernel) kernels.push_back(codegen::finish(*std::exchange(job.kernel, std::nullopt), target_));
  RELAY_ASSIGN(std::string object, writer->write(kernels, job.functions));
  {
    std::lock_guard<std::mutex> lock(mutex_);
    idle_writers_[job.tier].push_back(std::move(writer));
  }
  if (!store_ || job.key.empty()) return object;
  store_->keep(job.key, job.tier, object);
  std::optional<std::string> mine = renamed(std::move(object), stored_name(job.key), job.name);
  RELAY_CHECK(mine, "the object file of {} has no such kernel", job.name);
  return *std::move(mine);
}

std::vector<LlvmBackend::JobRef> LlvmBackend::jobs_of(std::span<const loop::Kernel> kernels) {
  std::vector<JobRef> jobs;
  for (const loop::Kernel& k : kernels) {
    const auto known = jobs_.find(k.body.get());
    const bool has_begun = known != jobs_.end() && known->second->name == k.name;
    jobs.push_back(has_begun ? known->second : begun(k, key_of(loop::text_without_name(k))));
  }
  return jobs;
}

bool LlvmBackend::has_fast_code(std::span<const loop::Kernel> kernels) {
  if (tier_ == Tier::Full || !is_linked_) return false;
  return std::ranges::any_of(jobs_of(kernels), [](const JobRef& job) { return job->tier == Tier::Fast; });
}

// Completes the jobs of these kernels, and of the functions. This thread helps.
Result<std::vector<LlvmBackend::JobRef>> LlvmBackend::finished(std::span<const loop::Kernel> kernels,
                                                               const runtime::Program* functions) {
  if (!is_linked_) return target_machine(target_).errors();
  std::vector<JobRef> jobs = jobs_of(kernels);
  if (functions || jobs.empty()) {  // the linker needs a file
    jobs.push_back(std::make_shared<Job>());
    jobs.back()->functions = functions;
    put(jobs.back());
  }
  for (size_t i = 0; i < std::min(jobs.size(), workers_.size()); ++i) start_worker();
  std::unique_lock<std::mutex> lock(mutex_);
  for (const JobRef& job : jobs) {
    if (job->state != Job::State::Waits) continue;
    queue_.erase(std::find(queue_.begin(), queue_.end(), job));
    run(job, lock);
  }
  Diagnostics all;
  for (const JobRef& job : jobs) {
    job_done_.wait(lock, [&] { return job->state == Job::State::Done; });
    if (job->failure) std::rethrow_exception(job->failure);
    if (!job->object) all.insert(all.end(), job->object.errors().begin(), job->object.errors().end());
  }
  if (!all.empty()) return all;
  return jobs;
}

Result<std::shared_ptr<KernelLibrary>> LlvmBackend::compile(std::span<const loop::Kernel> kernels,
                                                            const runtime::Program* functions) {
  RELAY_ASSIGN(const std::vector<JobRef> jobs, finished(kernels, functions));
  std::vector<std::string_view> objects;
  for (const JobRef& job : jobs) objects.push_back(*job->object);
  std::vector<std::string> names;
  for (const loop::Kernel& k : kernels) names.push_back(k.name);
  if (functions) names.push_back(RELAY_FUNCTIONS);
  const ForkGuard guard;
  return link_here(objects, names);
}

Result<std::string> LlvmBackend::emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                                      CodeForm form) {
  if (form == CodeForm::Source)
    return Diagnostic{
        DiagnosticKind::bad_option,        format("code for {} has no source text", target_.name), {}, {}, {},
        "write C source instead: --emit c"};
  if (form == CodeForm::Artifact) form = CodeForm::SharedLibrary;
  if (!is_linked_ && (form == CodeForm::Object || form == CodeForm::Archive)) {
    RELAY_ASSIGN(const std::string object, foreign_object(kernels, target_));
    const std::string_view objects[] = {object};
    return link_file(objects, form);
  }
  RELAY_ASSIGN(const std::vector<JobRef> jobs, finished(kernels, functions));
  std::vector<std::string_view> objects;
  for (const JobRef& job : jobs) objects.push_back(*job->object);
  return link_file(objects, form);
}

std::unique_ptr<Backend> llvm_backend(const TargetDesc& target, int threads, Tier tier, double most_operations,
                                      std::shared_ptr<ObjectStore> store) {
  return std::make_unique<LlvmBackend>(target, threads, tier, most_operations, std::move(store));
}

Result<std::shared_ptr<KernelLibrary>> jit(std::span<const loop::Kernel> kernels, const TargetDesc& target, int threads,
                                           const runtime::Program* functions) {
  return LlvmBackend(target, threads).compile(kernels, functions);
}
Result<std::string> object_file(std::span<const loop::Kernel> kernels, const TargetDesc& target) {
  return LlvmBackend(target, 1).emit(kernels, nullptr, CodeForm::Object);
}
Result<std::string> shared_library(std::span<const loop::Kernel> kernels, const TargetDesc& target,
                                   const runtime::Program* functions, int threads) {
  return LlvmBackend(target, threads).emit(kernels, functions, CodeForm::SharedLibrary);
}

}  // namespace relay::codegen
