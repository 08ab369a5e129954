// The machine code of a program's kernels, which may be exchanged between runs.
//
//   const KernelCode::Table* table = code.now();   at the beginning of a run, which uses this code to its end
//   code.exchange(library, Tier::Full);            on any thread
//
// The new code must compute the same bits. Readers take no lock, so that a child process may be forked at any time. Old
// code is kept until the end, because runs that have begun still use it.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "relay/base/diagnostics.h"
#include "relay/runtime/kernel.h"

namespace relay::runtime {

struct Program;

class KernelCode {
 public:
  struct Table {
    std::shared_ptr<const KernelLibrary> library;
    std::vector<KernelFn> kernels;  // by index of Program::kernels; null for those that only other devices run
    Tier tier = Tier::Full;
    std::unique_ptr<const Table> before{};
  };

  // `on_host`: by index of Program::kernels.
  static Result<std::shared_ptr<KernelCode>> create(std::shared_ptr<const Program> program, std::vector<bool> on_host,
                                                    std::shared_ptr<const KernelLibrary> library, Tier tier);
  ~KernelCode() { delete now(); }
  KernelCode(const KernelCode&) = delete;

  const Table* now() const { return now_.load(std::memory_order_acquire); }
  // Later runs use this library; corrupt_file if it lacks a kernel. Must not be called concurrently.
  Status exchange(std::shared_ptr<const KernelLibrary> library, Tier tier);

 private:
  KernelCode(std::shared_ptr<const Program> program, std::vector<bool> on_host)
      : program_(std::move(program)), on_host_(std::move(on_host)) {}

  const std::shared_ptr<const Program> program_;
  const std::vector<bool> on_host_;
  std::atomic<const Table*> now_{nullptr};  // owned
};

}  // namespace relay::runtime
