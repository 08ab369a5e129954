// The backend that compiles through LLVM: one object file for each kernel, made by a few threads.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "relay/base/interrupt.h"
#include "relay/codegen/backend.h"
#include "relay/codegen/llvm/llvm.h"

namespace relay::codegen {

class ObjectWriter;

class LlvmBackend : public Backend {
 public:
  LlvmBackend(TargetDesc target, int threads, Tier tier = Tier::Full, double most_operations = most_fast_operations,
              std::shared_ptr<ObjectStore> store = nullptr);
  ~LlvmBackend() override;

  Status check(const loop::Kernel& kernel, const std::string& text) override;
  void begin(const loop::Kernel& kernel, const std::string& text) override;
  bool has_fast_code(std::span<const loop::Kernel> kernels) override;
  Result<std::shared_ptr<KernelLibrary>> compile(std::span<const loop::Kernel> kernels,
                                                 const runtime::Program* functions) override;
  Result<std::string> emit(std::span<const loop::Kernel> kernels, const runtime::Program* functions,
                           CodeForm form) override;

 private:
  // A kernel with everything that is made of it, each once; or the functions of a program; or neither, for an empty
  // object file. Its object file has the kernel's name in the store until the kernel begins.
  struct Job {
    std::optional<Prepared> kernel{};  // as far as it is prepared; unset once it is compiled, or if the store has it
    std::string name{};
    loop::Stmt body{};  // of the kernel as lowering made it, while jobs_ has it
    std::string key{};  // of the kernel's text
    const runtime::Program* functions = nullptr;
    Tier tier = Tier::Full;
    enum class State : uint8_t { Checked, Waits, Runs, Done } state = State::Checked;
    Result<std::string> object = std::string();
    std::exception_ptr failure{};
  };
  using JobRef = std::shared_ptr<Job>;
  struct Worker {
    std::thread thread;
    bool is_done = true;
  };

  Tier tier_of(const loop::Kernel& kernel) const;
  // A new job, with the object file that the store has for the kernel.
  JobRef new_job(const loop::Kernel& kernel, std::string key) const;
  // The kernel's job, with the kernel's name: done, or put into the queue.
  JobRef begun(const loop::Kernel& kernel, std::string key);
  void put(const JobRef& job);
  void start_worker();
  void work(Worker& worker);
  void run_next(std::unique_lock<std::mutex>& lock);
  void run(const JobRef& job, std::unique_lock<std::mutex>& lock);
  Result<std::string> object_of(Job& job);
  // The jobs of these kernels, which have begun at the latest then.
  std::vector<JobRef> jobs_of(std::span<const loop::Kernel> kernels);
  Result<std::vector<JobRef>> finished(std::span<const loop::Kernel> kernels, const runtime::Program* functions);

  const TargetDesc target_;
  const Tier tier_;
  const double most_operations_;              // of a kernel with fast code
  const bool is_linked_;                      // LLVM's back end for the target is part of this program
  const std::shared_ptr<ObjectStore> store_;  // null if there is none, or object files cannot be renamed
  const InterruptFlag interrupt_ = interrupt_flag;
  std::unordered_map<std::string, JobRef> checked_;         // by key
  std::unordered_map<const loop::StmtNode*, JobRef> jobs_;  // by the kernel's body
  std::vector<std::unique_ptr<Worker>> workers_;
  std::mutex mutex_;  // guards the following, and states of jobs and workers
  std::condition_variable job_done_;
  std::deque<JobRef> queue_;
  std::map<Tier, std::vector<std::unique_ptr<ObjectWriter>>> idle_writers_;
};

}  // namespace relay::codegen
