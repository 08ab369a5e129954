// A device with its primary context and one stream, whose work is done in order.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "relay/base/bytes.h"
#include "relay/runtime/devices/cuda/cuda.h"
#include "relay/runtime/devices/cuda/cuda_library.h"
#include "relay/runtime/devices/driver_errors.h"
#include "relay/runtime/devices/time_limit.h"

namespace relay::runtime {

namespace {

// The loaded code of a library. Unloaded with the last of its kernels.
struct LoadedModule {
  explicit LoadedModule(std::function<void(cu::Module)> unload) : unload(std::move(unload)) {}
  ~LoadedModule() {
    if (module != nullptr) unload(module);
  }
  LoadedModule(const LoadedModule&) = delete;
  LoadedModule& operator=(const LoadedModule&) = delete;
  const std::function<void(cu::Module)> unload;
  cu::Module module = nullptr;
};

class CudaKernel final : public DeviceKernel {
 public:
  CudaKernel(std::string name, std::shared_ptr<LoadedModule> module, cu::Function function, int threads)
      : name(std::move(name)), function(function), threads(threads), module_(std::move(module)) {}
  const std::string name;
  const cu::Function function;
  const int threads;  // of a block: as many as the kernel declares

 private:
  const std::shared_ptr<LoadedModule> module_;
};

// A launch with the values of all parameters, or a copy: from, to, bytes.
struct BoundOperation {
  const CudaKernel* kernel;  // null for a copy
  int64_t blocks = 0;
  std::vector<uint64_t> arguments;
  bool operator==(const BoundOperation&) const = default;
};

struct CudaSequence final : KeptOperations {
  CudaSequence(std::vector<BoundOperation> operations, std::function<void(cu::GraphProgram)> destroy)
      : operations(std::move(operations)), destroy(std::move(destroy)) {}
  ~CudaSequence() override {
    if (program != nullptr) destroy(program);
  }
  std::vector<BoundOperation> operations;
  const std::function<void(cu::GraphProgram)> destroy;
  cu::GraphProgram program = nullptr;  // null until the operations were started twice
};

cu::Address address_of(const void* memory) { return reinterpret_cast<cu::Address>(memory); }
void* memory_at(cu::Address address) { return reinterpret_cast<void*>(address); }

class CudaDevice final : public Device {
 public:
  CudaDevice(int64_t number, const CudaLibrary& cuda, CudaInfo about, double time_limit_seconds)
      : Device({"cuda", number}), cuda_(cuda), about_(std::move(about)), time_limit_seconds_(time_limit_seconds) {}
  // Never called for devices of a process (devices.h).
  ~CudaDevice() override {
    if (context_ == nullptr || hangs_ || cuda_.use_context(context_) != cu::success) return;
    for (Staging& s : staging_) {
      if (s.memory != nullptr) cuda_.free_host(s.memory);
      if (s.done != nullptr) cuda_.destroy_event(s.done);
    }
    if (scratch_ != 0) cuda_.free(scratch_, stream_);
    if (stream_ != nullptr) cuda_.destroy_stream(stream_);
    cuda_.release_context(device_);
  }

  Status connect() {
    RELAY_RETURN_IF_ERROR(must("finding the device", cuda_.device(&device_, static_cast<int>(name().number))));
    RELAY_RETURN_IF_ERROR(must("making a context", cuda_.retain_context(&context_, device_)));
    RELAY_RETURN_IF_ERROR(must("making a context", cuda_.use_context(context_)));
    // It does not wait for the stream that other libraries use.
    RELAY_RETURN_IF_ERROR(must("making a stream", cuda_.create_stream(&stream_, cu::non_blocking)));
    RELAY_RETURN_IF_ERROR(must("finding its memory pool", cuda_.default_pool(&pool_, device_)));
    uint64_t all = UINT64_MAX;  // freed memory stays in the pool, for the next run
    RELAY_RETURN_IF_ERROR(must("setting up its memory pool", cuda_.set_pool(pool_, cu::pool_release_threshold, &all)));
    for (Staging& s : staging_) {
      RELAY_RETURN_IF_ERROR(must("allocating memory for copies", cuda_.allocate_host(&s.memory, staging_bytes, 0)));
      RELAY_RETURN_IF_ERROR(must("making an event", cuda_.create_event(&s.done, cu::without_timing)));
    }
    return ok();
  }

  std::string limits() const override { return format("`{}` has {}", about_.name, bytes_text(about_.memory_bytes)); }

  void* allocate(size_t bytes) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (!enter()) return nullptr;
    cu::Address address = 0;
    cu::Result code = cuda_.allocate(&address, bytes, stream_);
    if (code == cu::out_of_memory) {  // what the pool keeps may have another size
      if (!wait_for_all()) return nullptr;
      cuda_.trim_pool(pool_, 0);
      code = cuda_.allocate(&address, bytes, stream_);
    }
    if (code != cu::success) return nullptr;
    blocks_.emplace(address, Block{bytes});
    return memory_at(address);
  }

  void free(void* memory) noexcept override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (blocks_.erase(address_of(memory)) == 0 || hangs_ || !enter()) return;
    cuda_.free(address_of(memory), stream_);
  }

  // By way of memory that only the device and this function use, so that the caller's may change at once.
  Status upload(void* to, const void* from, size_t bytes) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    RELAY_RETURN_IF_ERROR(check_place(to, bytes));
    for (size_t at = 0; at < bytes; at += staging_bytes) {
      const size_t now = std::min(staging_bytes, bytes - at);
      Staging& s = staging_[next_staging_++ % staging_.size()];
      if (s.is_used) RELAY_RETURN_IF_ERROR(wait([&] { return cuda_.query_event(s.done); }));
      std::memcpy(s.memory, static_cast<const std::byte*>(from) + at, now);
      RELAY_RETURN_IF_ERROR(
          done("copying an array to the device", cuda_.to_device(address_of(to) + at, s.memory, now, stream_)));
      RELAY_RETURN_IF_ERROR(done("copying an array to the device", cuda_.record_event(s.done, stream_)));
      s.is_used = true;
    }
    return ok();
  }

  Status download(void* to, const void* from, size_t bytes) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    RELAY_RETURN_IF_ERROR(check_place(from, bytes));
    RELAY_RETURN_IF_ERROR(wait_for_all());  // the staging memory is free
    for (size_t at = 0; at < bytes; at += staging_bytes) {
      const size_t now = std::min(staging_bytes, bytes - at);
      RELAY_RETURN_IF_ERROR(done("copying an array from the device",
                                 cuda_.to_host(staging_[0].memory, address_of(from) + at, now, stream_)));
      RELAY_RETURN_IF_ERROR(wait_for_all());
      std::memcpy(static_cast<std::byte*>(to) + at, staging_[0].memory, now);
    }
    return ok();
  }

  Status copy(void* to, const void* from, size_t bytes) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    RELAY_RETURN_IF_ERROR(check_place(to, bytes));
    RELAY_RETURN_IF_ERROR(check_place(from, bytes));
    return done("copying an array on the device", cuda_.on_device(address_of(to), address_of(from), bytes, stream_));
  }

  Result<std::shared_ptr<const DeviceKernel>> load(const std::shared_ptr<const KernelLibrary>& library,
                                                   const std::string& name) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    if (!library || library->source("cuda").empty()) return no_kernel(name, this->name());
    RELAY_ASSIGN(const std::shared_ptr<LoadedModule> module, loaded(library->source("cuda")));
    cu::Function function = nullptr;
    const cu::Result code = cuda_.function(&function, module->module, ("kernel_" + name).c_str());
    if (code == cu::not_found) return no_kernel(name, this->name());
    if (code != cu::success) return failure(format("finding kernel `{}`", name), code);
    // Kernels declare the number of their threads, or the most (codegen/llvm/nvptx/ptx.h): this is either.
    int threads = 0;
    RELAY_RETURN_IF_ERROR(
        must("finding a kernel", cuda_.function_attribute(&threads, cu::most_block_threads, function)));
    return std::shared_ptr<const DeviceKernel>(std::make_shared<CudaKernel>(name, module, function, threads));
  }

  Status launch(const DeviceKernel& kernel, const Launch& launch) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    const DeviceOperation operation{&kernel, launch};
    RELAY_RETURN_IF_ERROR(reserve_scratch(operation));
    RELAY_ASSIGN(BoundOperation one, bound(operation));
    return begin(one);
  }

  // The second time that a sequence has the same arguments, the stream's operations become a graph, and from then on
  // the driver starts them as one.
  Status start(std::span<const DeviceOperation> operations, std::unique_ptr<KeptOperations>& kept) override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    for (const DeviceOperation& one : operations) RELAY_RETURN_IF_ERROR(reserve_scratch(one));
    std::vector<BoundOperation> now;
    now.reserve(operations.size());
    for (const DeviceOperation& one : operations) {
      RELAY_ASSIGN(BoundOperation bound_one, bound(one));
      now.push_back(std::move(bound_one));
    }
    CudaSequence* known = static_cast<CudaSequence*>(kept.get());
    if (known == nullptr || known->operations != now) {
      kept.reset(known = new CudaSequence(std::move(now), [this](cu::GraphProgram program) { destroy(program); }));
      return begin(known->operations);
    }
    if (known->program == nullptr) RELAY_RETURN_IF_ERROR(capture(known));
    const auto last = std::find_if(known->operations.rbegin(), known->operations.rend(),
                                   [](const BoundOperation& one) { return one.kernel != nullptr; });
    if (last != known->operations.rend()) last_ = last->kernel->name;
    return done("a graph of kernels", cuda_.launch_graph(known->program, stream_));
  }

  Status synchronise() override {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(enter());
    return wait_for_all();
  }

 private:
  static constexpr size_t staging_bytes = size_t{1} << 20;
  struct Block {
    size_t bytes;
  };
  // Memory of the host that the device can read, for a copy; `done` is the end of the last.
  struct Staging {
    void* memory = nullptr;
    cu::Event done = nullptr;
    bool is_used = false;
  };

  // --- errors; all with the lock held
  DeviceInMessages in_messages() const { return {about_.name, last_, limits()}; }
  Diagnostic failure(const std::string& doing, cu::Result code) const {
    return driver_failure(doing, in_messages(), cuda_error(cuda_, code), code == cu::out_of_memory);
  }
  Status must(const char* doing, cu::Result code) const {
    return code == cu::success ? ok() : Status(failure(doing, code));
  }
  // An error of an operation leaves the memory in doubt: the device is not used any more.
  Status done(const char* doing, cu::Result code) {
    if (code == cu::success) return ok();
    lost_ = {failure(doing, code)};
    return lost_;
  }
  // Contexts are chosen for each thread.
  Status enter() {
    if (!lost_.empty()) return lost_;
    return done("choosing the context", cuda_.use_context(context_));
  }

  // Waits until query() is not not_ready: first in short steps, then in longer ones.
  Status wait(function_ref<cu::Result()> query) {
    using Clock = std::chrono::steady_clock;
    const Clock::time_point begin = Clock::now();
    std::chrono::microseconds pause(0);
    for (;;) {
      const cu::Result code = query();
      if (code != cu::not_ready) return done("running kernels", code);
      const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
      if (seconds > time_limit_seconds_) {
        hangs_ = true;
        lost_ = {not_done_after(time_limit_seconds_, in_messages())};
        return lost_;
      }
      if (seconds > 50e-6) pause = std::min(pause + std::chrono::microseconds(10), std::chrono::microseconds(1000));
      if (pause.count() > 0)
        std::this_thread::sleep_for(pause);
      else
        std::this_thread::yield();
    }
  }
  Status wait_for_all() {
    return wait([&] { return cuda_.query_stream(stream_); });
  }

  // --- memory
  Status check_place(const void* address, size_t bytes) const {
    size_t offset = 0;
    return block_of(blocks_, address, bytes, &offset) ? ok() : Status(not_in_its_memory(name()));
  }

  // All kernels use one block, because they run one after another. It is freed behind those that were launched.
  Status reserve_scratch(const DeviceOperation& operation) {
    if (operation.kernel == nullptr || operation.launch.scratch_bytes == 0) return ok();
    const CudaKernel& kernel = static_cast<const CudaKernel&>(*operation.kernel);
    const int64_t each = operation.launch.scratch_bytes;
    const size_t bytes = static_cast<size_t>(blocks_for(kernel.threads, each) * kernel.threads * each);
    if (bytes <= scratch_bytes_) return ok();
    cu::Address made = 0;
    if (const cu::Result code = cuda_.allocate(&made, bytes, stream_); code != cu::success)
      return no_scratch_memory(kernel.name, bytes, in_messages(), cuda_error(cuda_, code));
    if (scratch_ != 0) cuda_.free(scratch_, stream_);
    scratch_ = made, scratch_bytes_ = bytes;
    return ok();
  }

  // Returns enough blocks to fill the device; threads without tasks end at once. Fewer if each has much scratch memory.
  int64_t blocks_for(int64_t threads, int64_t scratch_bytes) const {
    constexpr int64_t most_scratch = 256 << 20;  // bytes
    const int64_t most = about_.multiprocessors * int64_t{8};
    if (scratch_bytes == 0) return most;
    return std::clamp<int64_t>(most_scratch / scratch_bytes / threads, 1, most);
  }

  // --- operations
  // The scratch memory is reserved.
  Result<BoundOperation> bound(const DeviceOperation& one) {
    const Launch& launch = one.launch;
    BoundOperation out{static_cast<const CudaKernel*>(one.kernel), 0, {}};
    for (const void* array : launch.arrays) {
      RELAY_RETURN_IF_ERROR(check_place(array, out.kernel ? 0 : static_cast<size_t>(launch.tasks)));
      out.arguments.push_back(address_of(array));
    }
    if (out.kernel == nullptr) {
      out.arguments.push_back(static_cast<uint64_t>(launch.tasks));
      return out;
    }
    out.blocks = blocks_for(out.kernel->threads, launch.scratch_bytes);
    for (int64_t size : launch.sizes) out.arguments.push_back(static_cast<uint64_t>(size));
    out.arguments.insert(out.arguments.end(),
                         {static_cast<uint64_t>(launch.tasks), scratch_, static_cast<uint64_t>(launch.scratch_bytes)});
    return out;
  }

  Status begin(BoundOperation& one) {
    if (one.kernel == nullptr)
      return done("copying an array on the device",
                  cuda_.on_device(one.arguments[1], one.arguments[0], one.arguments[2], stream_));
    size_t bytes = one.arguments.size() * sizeof(uint64_t);
    void* extra[] = {cu::buffer_of_arguments, one.arguments.data(), cu::bytes_of_arguments, &bytes, cu::end_of_extras};
    last_ = one.kernel->name;
    return done("a kernel", cuda_.launch(one.kernel->function, static_cast<unsigned>(one.blocks), 1, 1,
                                         static_cast<unsigned>(one.kernel->threads), 1, 1, 0, stream_, nullptr, extra));
  }
  Status begin(std::vector<BoundOperation>& all) {
    for (BoundOperation& one : all) RELAY_RETURN_IF_ERROR(begin(one));
    return ok();
  }

  Status capture(CudaSequence* sequence) {
    RELAY_RETURN_IF_ERROR(done("capturing kernels", cuda_.begin_capture(stream_, cu::of_this_thread)));
    const Status began = begin(sequence->operations);
    cu::Graph graph = nullptr;
    const Status ended = done("capturing kernels", cuda_.end_capture(stream_, &graph));
    if (!began || !ended) return began ? ended : began;
    const cu::Result made = cuda_.make_graph_program(&sequence->program, graph, 0);
    cuda_.destroy_graph(graph);
    return done("making a graph of kernels", made);
  }

  // --- code
  Result<std::shared_ptr<LoadedModule>> loaded(const std::string& source) {
    std::erase_if(modules_, [](const auto& known) { return known.second.expired(); });
    if (const auto known = modules_.find(source); known != modules_.end())
      if (std::shared_ptr<LoadedModule> module = known->second.lock()) return module;
    std::shared_ptr<LoadedModule> module = std::make_shared<LoadedModule>([this](cu::Module m) { unload(m); });
    std::array<char, 4096> log{};
    int options[] = {cu::error_log, cu::error_log_bytes};
    void* values[] = {log.data(), memory_at(log.size() - 1)};
    const cu::Result code = cuda_.load_module(&module->module, source.c_str(), 2, options, values);
    if (code == cu::success) {
      modules_[source] = module;
      return module;
    }
    module->module = nullptr;
    Diagnostic d = failure("compiling the kernels", code);
    if (log[0] != 0) d.notes.push_back(log.data());
    if (code == cu::unsupported_ptx) d.help = "install a newer driver: the kernels are PTX 8.0, of CUDA 12.0";
    if (code == cu::no_code_for_device) d.help = "compile the model for this device: --target cuda";
    return d;
  }

  // The driver keeps a graph that runs until it has ended.
  void destroy(cu::GraphProgram program) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (!hangs_ && enter()) cuda_.destroy_graph_program(program);
  }

  // Kernels that were launched may still run: waits for them first.
  void unload(cu::Module module) {
    std::lock_guard<std::recursive_mutex> lock(mutex_);
    if (hangs_ || !enter() || !wait_for_all()) return;
    cuda_.unload_module(module);
  }

  const CudaLibrary& cuda_;
  const CudaInfo about_;
  const double time_limit_seconds_;
  cu::Device device_ = 0;
  cu::Context context_ = nullptr;
  cu::Stream stream_ = nullptr;
  cu::Pool pool_ = nullptr;
  std::recursive_mutex mutex_;         // guards the following, and the order of the stream
  Diagnostics lost_;                   // the error after which the device is not used any more
  bool hangs_ = false;                 // nothing is released, because that would wait
  std::string last_;                   // the kernel that was launched last
  std::map<uintptr_t, Block> blocks_;  // by address
  std::array<Staging, 2> staging_;
  size_t next_staging_ = 0;
  cu::Address scratch_ = 0;
  size_t scratch_bytes_ = 0;
  std::map<std::string, std::weak_ptr<LoadedModule>> modules_;  // by source
};

}  // namespace

Result<std::unique_ptr<Device>> make_cuda_device(int64_t number) {
  RELAY_ASSIGN(const CudaLibrary* cuda, cuda_library());
  RELAY_ASSIGN(const double limit, device_time_limit());
  RELAY_ASSIGN(const std::vector<CudaInfo> all, cuda_devices());
  if (number < 0 || static_cast<size_t>(number) >= all.size())
    return Diagnostic{
        DiagnosticKind::unknown_target,
        format("there is no device cuda:{}: CUDA finds {} here", number, plural(all.size(), "device", "devices")),
        {},
        {},
        {},
        "`relay doctor` lists them"};
  const CudaInfo& about = all[static_cast<size_t>(number)];
  RELAY_RETURN_IF_ERROR(check_usable(about));
  std::unique_ptr<CudaDevice> device = std::make_unique<CudaDevice>(number, *cuda, about, limit);
  RELAY_RETURN_IF_ERROR(device->connect());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace relay::runtime
