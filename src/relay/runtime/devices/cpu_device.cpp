#include "relay/runtime/devices/cpu_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string_view>

#include "relay/runtime/call_kernel.h"

namespace relay::runtime {

namespace {

bool is_guarded() {
  const char* given = std::getenv("RELAY_GUARD_DEVICES");
  return given != nullptr && std::string_view(given) == "1";
}

class CpuKernel final : public DeviceKernel {
 public:
  CpuKernel(KernelFn function, std::shared_ptr<const KernelLibrary> library)
      : function(function), library_(std::move(library)) {}
  const KernelFn function;

 private:
  std::shared_ptr<const KernelLibrary> library_;
};

class CpuDevice final : public Device {
 public:
  explicit CpuDevice(int64_t number) : Device({"cpu", number}) {}

  void* allocate(size_t bytes) override {
    const size_t page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    if (bytes > SIZE_MAX - page) return nullptr;
    bytes = (bytes + page - 1) / page * page;
    std::lock_guard<std::mutex> lock(mutex_);
    std::multimap<size_t, void*>::iterator idle = idle_.find(bytes);
    void* memory = MAP_FAILED;
    if (idle != idle_.end()) {
      memory = idle->second;
      idle_.erase(idle), idle_bytes_ -= bytes;
    } else {
      const int access = guarded_ && users_ == 0 ? PROT_NONE : PROT_READ | PROT_WRITE;
      memory = mmap(nullptr, bytes, access, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (memory == MAP_FAILED) return nullptr;
    }
    blocks_.emplace(reinterpret_cast<uintptr_t>(memory), bytes);
    return memory;
  }

  void free(void* memory) noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    const std::map<uintptr_t, size_t>::iterator block = blocks_.find(reinterpret_cast<uintptr_t>(memory));
    if (block == blocks_.end()) return;
    const size_t bytes = block->second;
    blocks_.erase(block);
    if (guarded_ || idle_bytes_ + bytes > kept_bytes) {
      munmap(memory, bytes);
      return;
    }
    idle_.emplace(bytes, memory), idle_bytes_ += bytes;
  }

  Status upload(void* to, const void* from, size_t bytes) override { return copy_memory(to, from, bytes, {to}); }
  Status download(void* to, const void* from, size_t bytes) override { return copy_memory(to, from, bytes, {from}); }
  Status copy(void* to, const void* from, size_t bytes) override { return copy_memory(to, from, bytes, {from, to}); }

  Result<std::shared_ptr<const DeviceKernel>> load(const std::shared_ptr<const KernelLibrary>& library,
                                                   const std::string& kernel) override {
    const KernelFn function = library ? library->find(kernel) : nullptr;
    if (function == nullptr)
      return Diagnostic{DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", kernel), {}, {}, {},
                        "compile the model again"};
    return std::shared_ptr<const DeviceKernel>(std::make_shared<CpuKernel>(function, library));
  }

  Status launch(const DeviceKernel& kernel, const Launch& launch) override {
    for (const void* array : launch.arrays)
      if (!contains(array, 1)) return outside("an array of a kernel");
    Access access(*this);
    std::atomic<bool> failed{false};
    call_kernel(launch.session, static_cast<const CpuKernel&>(kernel).function, launch.arrays.data(),
                launch.sizes.data(), launch.tasks, launch.scratch_bytes, {}, failed);
    if (failed) return out_of_scratch();
    return ok();
  }

  Status synchronise() override { return ok(); }

 private:
  static constexpr size_t kept_bytes = size_t{64} << 20;  // of freed memory, for later allocations of equal size

  // While one exists, the memory of a guarded device can be accessed.
  class Access {
   public:
    explicit Access(CpuDevice& device) : device_(device) { device_.use(1); }
    ~Access() { device_.use(-1); }
    Access(const Access&) = delete;
    Access& operator=(const Access&) = delete;

   private:
    CpuDevice& device_;
  };
  void use(int change) {
    if (!guarded_) return;
    std::lock_guard<std::mutex> lock(mutex_);
    const bool was_used = users_ > 0;
    users_ += change;
    if (was_used == (users_ > 0)) return;
    for (const auto& [begin, bytes] : blocks_)
      mprotect(reinterpret_cast<void*>(begin), bytes, users_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE);
  }

  bool contains(const void* address, size_t bytes) {
    std::lock_guard<std::mutex> lock(mutex_);
    const uintptr_t begin = reinterpret_cast<uintptr_t>(address);
    std::map<uintptr_t, size_t>::iterator block = blocks_.upper_bound(begin);
    if (block == blocks_.begin()) return false;
    --block;
    return begin - block->first <= block->second && bytes <= block->second - (begin - block->first);
  }
  Status outside(const char* what) {
    return Diagnostic{DiagnosticKind::corrupt_file,
                      format("{} of {} is not in the memory of that device", what, str(name())),
                      {},
                      {},
                      {},
                      "compile the model again"};
  }
  // `here`: those of the two places that must be in this device's memory.
  Status copy_memory(void* to, const void* from, size_t bytes, std::initializer_list<const void*> here) {
    for (const void* place : here)
      if (!contains(place, bytes)) return outside("one side of a copy");
    Access access(*this);
    std::memcpy(to, from, bytes);
    return ok();
  }

  const bool guarded_ = is_guarded();
  std::mutex mutex_;                    // guards the following
  std::map<uintptr_t, size_t> blocks_;  // by address: bytes
  std::multimap<size_t, void*> idle_;   // freed blocks by size
  size_t idle_bytes_ = 0;
  int users_ = 0;  // operations in progress, counted if guarded
};

}  // namespace

Result<std::unique_ptr<Device>> make_cpu_device(int64_t number) {
  return std::unique_ptr<Device>(std::make_unique<CpuDevice>(number));
}

}  // namespace relay::runtime
