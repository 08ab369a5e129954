// A device with one context and two queues: kernels run in order on one, and transfers from and to the host on the
// other, while kernels that do not use their memory run.
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "relay/base/bytes.h"
#include "relay/runtime/devices/driver_errors.h"
#include "relay/runtime/devices/opencl_handles.h"
#include "relay/runtime/devices/time_limit.h"

namespace relay::runtime {

namespace {

// The completion of an event. Shared with the driver's callback, which may come after the waiting has ended.
struct Completion {
  std::shared_ptr<std::vector<char>> staged;  // memory that the operation uses, which is kept until it has ended
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<cl_int> status;  // CL_COMPLETE, or an error
};

void CL_CALLBACK completed(cl_event, cl_int status, void* data) {
  const std::unique_ptr<std::shared_ptr<Completion>> shared(static_cast<std::shared_ptr<Completion>*>(data));
  std::lock_guard<std::mutex> lock((*shared)->mutex);
  (*shared)->status = status;
  (*shared)->changed.notify_all();
}

// A program of a library, and one of its kernels.
struct BuiltProgram {
  OpenClHandle<cl_program> handle;
};
class OpenClKernel final : public DeviceKernel {
 public:
  OpenClKernel(std::string name, std::shared_ptr<BuiltProgram> program, OpenClHandle<cl_kernel> handle,
               cl_uint arguments, int64_t group)
      : name(std::move(name)),
        program_(std::move(program)),
        handle(std::move(handle)),
        arguments(arguments),
        group(group) {}
  const std::string name;

 private:
  std::shared_ptr<BuiltProgram> program_;  // released after the kernel

 public:
  const OpenClHandle<cl_kernel> handle;
  const cl_uint arguments;
  const int64_t group;  // work-items of a work-group, which share memory; 0 if any number will do
  mutable std::atomic<bool> has_run{false};
};

size_t size(int64_t value) { return static_cast<size_t>(value); }

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

class OpenClDevice final : public Device {
 public:
  OpenClDevice(int64_t number, const OpenClLibrary& cl, FoundDevice found, double time_limit_seconds)
      : Device({"opencl", number}),
        cl_(cl),
        found_(std::move(found)),
        about_(found_.about),
        time_limit_seconds_(time_limit_seconds) {}

  Status connect() {
    cl_int code = CL_SUCCESS;
    context_ = {cl_.clCreateContext(nullptr, 1, &found_.id, nullptr, nullptr, &code), cl_.clReleaseContext};
    if (code != CL_SUCCESS) return failure("making a context", code);
    return make_queues(0);
  }

  std::string limits() const override {
    return format("`{}` has {}, and at most {} for one array", about_.name, bytes_text(about_.memory_bytes),
                  bytes_text(about_.allocation_bytes));
  }

  void* allocate(size_t bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!lost_.empty() || bytes > size(about_.allocation_bytes)) return nullptr;
    cl_int code = CL_SUCCESS;
    OpenClHandle<cl_mem> buffer(cl_.clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code),
                                cl_.clReleaseMemObject);
    if (code != CL_SUCCESS) return nullptr;
    void* address = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (address == MAP_FAILED) return nullptr;
    blocks_.emplace(reinterpret_cast<uintptr_t>(address), Block{std::move(buffer), bytes});
    return address;
  }

  void free(void* memory) noexcept override {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto block = blocks_.find(reinterpret_cast<uintptr_t>(memory));
    if (block == blocks_.end()) return;
    munmap(memory, block->second.bytes);
    if (hangs_) block->second.buffer.abandon();
    blocks_.erase(block);
  }

  Status upload(void* to, const void* from, size_t bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(wait_for_users(to, bytes));
    RELAY_ASSIGN(const Place at, place_of(to, bytes));
    return transfer("upload", bytes, from, nullptr, [&](const void* host, void*, cl_bool blocking, cl_event* event) {
      return cl_.clEnqueueWriteBuffer(transfers_.get(), at.buffer, blocking, at.offset, bytes, host, 0, nullptr, event);
    });
  }
  Status download(void* to, const void* from, size_t bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(wait_for_users(from, bytes));
    RELAY_ASSIGN(const Place at, place_of(from, bytes));
    return transfer("download", bytes, nullptr, to, [&](const void*, void* host, cl_bool blocking, cl_event* event) {
      return cl_.clEnqueueReadBuffer(transfers_.get(), at.buffer, blocking, at.offset, bytes, host, 0, nullptr, event);
    });
  }
  Status copy(void* to, const void* from, size_t bytes) override {
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(check());
    RELAY_ASSIGN(const Place target, place_of(to, bytes));
    RELAY_ASSIGN(const Place source, place_of(from, bytes));
    cl_event event = nullptr;
    const double begin = now_us();
    RELAY_RETURN_IF_ERROR(
        done("copying an array on the device",
             cl_.clEnqueueCopyBuffer(queue_.get(), source.buffer, target.buffer, source.offset, target.offset, bytes,
                                     last_upload_.count(), last_upload_.list(), &event)));
    const std::shared_ptr<Event> ended = started("copy", event, begin);
    add_use(to, bytes, ended), add_use(from, bytes, ended);
    return ok();
  }

  Result<std::shared_ptr<const DeviceKernel>> load(const std::shared_ptr<const KernelLibrary>& library,
                                                   const std::string& name) override {
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(check());
    if (!library || library->source("opencl").empty()) return no_kernel(name, this->name());
    RELAY_ASSIGN(const std::shared_ptr<BuiltProgram> program, built(library->source("opencl")));
    cl_int code = CL_SUCCESS;
    OpenClHandle<cl_kernel> kernel(cl_.clCreateKernel(program->handle.get(), ("kernel_" + name).c_str(), &code),
                                   cl_.clReleaseKernel);
    if (code == CL_INVALID_KERNEL_NAME) return no_kernel(name, this->name());
    cl_uint arguments = 0;
    if (code == CL_SUCCESS)
      code = cl_.clGetKernelInfo(kernel.get(), CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, nullptr);
    size_t group[3] = {};
    cl_ulong shared = 0;
    auto ask = [&](cl_kernel_work_group_info what, auto& to) {
      if (code == CL_SUCCESS)
        code = cl_.clGetKernelWorkGroupInfo(kernel.get(), found_.id, what, sizeof to, &to, nullptr);
    };
    ask(CL_KERNEL_COMPILE_WORK_GROUP_SIZE, group), ask(CL_KERNEL_LOCAL_MEM_SIZE, shared);
    if (code != CL_SUCCESS) return failure(format("making kernel `{}`", name), code);
    RELAY_RETURN_IF_ERROR(check_group(name, static_cast<int64_t>(group[0]), static_cast<int64_t>(shared)));
    return std::shared_ptr<const DeviceKernel>(
        std::make_shared<OpenClKernel>(name, program, std::move(kernel), arguments, static_cast<int64_t>(group[0])));
  }

  Status launch(const DeviceKernel& given, const Launch& launch) override {
    const OpenClKernel& kernel = static_cast<const OpenClKernel&>(given);
    const Grid grid = grid_of(kernel.group, launch.tasks, launch.scratch_bytes);
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(check());
    cl_uint at = 0;
    cl_int code = CL_SUCCESS;
    auto pass = [&](const auto& value) {
      if (code == CL_SUCCESS) code = cl_.clSetKernelArg(kernel.handle.get(), at++, sizeof value, &value);
    };
    for (const void* array : launch.arrays) {
      RELAY_ASSIGN(const Place place, place_of(array, 0));
      pass(place.buffer), pass(static_cast<cl_long>(place.offset));
    }
    for (int64_t value : launch.sizes) pass(static_cast<cl_long>(value));
    pass(cl_long{0}), pass(static_cast<cl_long>(launch.tasks));
    if (launch.scratch_bytes > 0 && at < kernel.arguments) {
      RELAY_RETURN_IF_ERROR(reserve_scratch(kernel.name, size(grid.items * launch.scratch_bytes)));
      pass(scratch_.get());
    }
    if (at != kernel.arguments && code == CL_SUCCESS)
      return Diagnostic{DiagnosticKind::corrupt_file,
                        format("kernel `{}` takes {} arguments, and gets {}", kernel.name, kernel.arguments, at),
                        {},
                        {},
                        {},
                        "compile the model again"};
    const size_t global = size(grid.items), local = size(grid.group);
    cl_event event = nullptr;
    const double begin = now_us();
    if (code == CL_SUCCESS)
      code = cl_.clEnqueueNDRangeKernel(queue_.get(), kernel.handle.get(), 1, nullptr, &global, &local,
                                        last_upload_.count(), last_upload_.list(), &event);
    last_ = kernel.name;
    RELAY_RETURN_IF_ERROR(done("a kernel", code));
    const std::shared_ptr<Event> ended = started(kernel.name, event, begin);
    for (size_t i = 0; i < launch.arrays.size(); ++i) add_use(launch.arrays[i], size(launch.bytes[i]), ended);
    // Drivers compile a kernel when it first runs: each gets the whole time limit for that.
    return kernel.has_run.exchange(true) && uses_.size() < most_uses ? ok() : wait_for_all();
  }

  Status synchronise() override {
    std::lock_guard<std::mutex> lock(mutex_);
    return wait_for_all();
  }

  Status record_spans(bool on) override {
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(wait_for_all());
    recorded_.clear();
    recording_ = on;
    return make_queues(on ? CL_QUEUE_PROFILING_ENABLE : 0);
  }
  Result<std::vector<DeviceSpan>> take_spans() override {
    std::lock_guard<std::mutex> lock(mutex_);
    RELAY_RETURN_IF_ERROR(wait_for_all());
    std::vector<DeviceSpan> out;
    for (const Recorded& r : std::exchange(recorded_, {})) {
      cl_ulong queued = 0, begin = 0, end = 0;  // nanoseconds on the device's clock
      auto ask = [&](cl_profiling_info what, cl_ulong& to) {
        return cl_.clGetEventProfilingInfo(r.event->get(), what, sizeof to, &to, nullptr) == CL_SUCCESS;
      };
      if (!ask(CL_PROFILING_COMMAND_QUEUED, queued) || !ask(CL_PROFILING_COMMAND_START, begin) ||
          !ask(CL_PROFILING_COMMAND_END, end))
        continue;
      out.push_back({r.name, r.queued_us, r.queued_us + static_cast<double>(begin - queued) * 1e-3,
                     static_cast<double>(end - begin) * 1e-3});
    }
    return out;
  }

 private:
  using Event = OpenClHandle<cl_event>;
  // Memory that a kernel or copy on queue_ uses until its event.
  struct Use {
    const char *begin, *end;
    std::shared_ptr<Event> ended;
  };
  // The last transfer to the device, which commands on queue_ wait for. It has ended when the host goes on, but drivers
  // (Intel's of 2026) let a command on another queue read older memory unless it waits for the event.
  struct LastUpload {
    std::shared_ptr<Event> event;
    cl_event handle = nullptr;
    cl_uint count() const { return handle ? 1 : 0; }
    const cl_event* list() const { return handle ? &handle : nullptr; }
  };
  struct Recorded {
    std::string name;
    std::shared_ptr<Event> event;
    double queued_us;
  };
  static constexpr size_t most_uses = 10000;

  struct Block {
    OpenClHandle<cl_mem> buffer;
    size_t bytes;
  };
  struct Place {
    cl_mem buffer;
    size_t offset;
  };
  struct Grid {
    int64_t items, group;  // work-items, and those of a work-group
  };

  // --- errors; all with the lock held
  DeviceInMessages in_messages() const { return {about_.name, last_, limits()}; }
  Diagnostic failure(const std::string& doing, cl_int code) const {
    const bool memory =
        code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
    return driver_failure(doing, in_messages(), opencl_error(code), memory);
  }
  // An error of an operation leaves the memory in doubt: the device is not used any more.
  Status done(const char* doing, cl_int code) {
    if (code == CL_SUCCESS) return ok();
    lost_ = {failure(doing, code)};
    return lost_;
  }
  Status check() const { return lost_.empty() ? ok() : Status(lost_); }
  // Refuses a kernel whose work-groups need more than the device has.
  Status check_group(const std::string& kernel, int64_t items, int64_t shared) const {
    if (items <= about_.group_size && shared <= about_.shared_bytes) return ok();
    return Diagnostic{
        DiagnosticKind::incompatible_artifact,
        format("the work-groups of kernel `{}` have {} work-items and {} of shared memory; `{}` allows {} "
               "and {}",
               kernel, items, bytes_text(shared), about_.name, about_.group_size, bytes_text(about_.shared_bytes)),
        {},
        {},
        {},
        "compile the model for this device"};
  }

  // --- order; all with the lock held
  Status make_queues(cl_command_queue_properties properties) {
    for (OpenClHandle<cl_command_queue>* queue : {&queue_, &transfers_}) {
      cl_int code = CL_SUCCESS;
      *queue = {cl_.clCreateCommandQueue(context_.get(), found_.id, properties, &code), cl_.clReleaseCommandQueue};
      if (code != CL_SUCCESS) return failure("making a queue", code);
    }
    return ok();
  }
  // An operation that was put on a queue at queued_us.
  std::shared_ptr<Event> started(const std::string& name, cl_event event, double queued_us) {
    auto out = std::make_shared<Event>(event, cl_.clReleaseEvent);
    if (recording_) recorded_.push_back({name, out, queued_us});
    return out;
  }
  void add_use(const void* memory, size_t bytes, const std::shared_ptr<Event>& ended) {
    const char* begin = static_cast<const char*>(memory);
    uses_.push_back({begin, begin + bytes, ended});
  }

  Status wait_for_all() {
    RELAY_RETURN_IF_ERROR(check());
    cl_event event = nullptr;
    RELAY_RETURN_IF_ERROR(
        done("waiting for kernels", cl_.clEnqueueMarkerWithWaitList(queue_.get(), 0, nullptr, &event)));
    const Event owned(event, cl_.clReleaseEvent);
    RELAY_RETURN_IF_ERROR(wait_for(event));
    uses_.clear();
    return ok();
  }
  // Waits for the last kernel that uses a part of this memory. The queue runs in order, so earlier ones have ended too.
  Status wait_for_users(const void* memory, size_t bytes) {
    RELAY_RETURN_IF_ERROR(check());
    const char *begin = static_cast<const char*>(memory), *end = begin + bytes;
    for (size_t i = uses_.size(); i-- > 0;) {
      if (uses_[i].end <= begin || end <= uses_[i].begin) continue;
      while (i + 1 < uses_.size() && uses_[i + 1].ended == uses_[i].ended) ++i;
      if (i + 1 == uses_.size()) return wait_for_all();
      RELAY_RETURN_IF_ERROR(wait_for(uses_[i].ended->get()));
      uses_.erase(uses_.begin(), uses_.begin() + static_cast<std::ptrdiff_t>(i + 1));
      return ok();
    }
    return ok();
  }
  Status wait_for(cl_event event, std::shared_ptr<std::vector<char>> staged = nullptr) {
    const std::shared_ptr<Completion> completion = std::make_shared<Completion>();
    completion->staged = std::move(staged);
    auto shared = std::make_unique<std::shared_ptr<Completion>>(completion);
    RELAY_RETURN_IF_ERROR(
        done("waiting for kernels", cl_.clSetEventCallback(event, CL_COMPLETE, completed, shared.get())));
    shared.release();  // the callback owns it
    for (cl_command_queue queue : {queue_.get(), transfers_.get()})
      RELAY_RETURN_IF_ERROR(done("waiting for kernels", cl_.clFlush(queue)));
    std::unique_lock<std::mutex> waiting(completion->mutex);
    const auto limit = std::chrono::duration<double>(time_limit_seconds_);
    if (!completion->changed.wait_for(waiting, limit, [&] { return completion->status.has_value(); })) {
      hangs_ = true;
      lost_ = {not_done_after(time_limit_seconds_, in_messages())};
      return lost_;
    }
    return done("running kernels", *completion->status < 0 ? *completion->status : CL_SUCCESS);
  }
  // Reads `from` or writes `to`, memory of the host, by enqueue(from, to, blocking, event). While kernels are on the
  // queue, the transfer uses memory of its own: behind a kernel that hangs it may never end, and the caller then
  // releases its memory.
  template <typename F>
  Status transfer(const char* name, size_t bytes, const void* from, void* to, F enqueue) {
    const char* doing = from ? "copying an array to the device" : "copying an array from the device";
    const bool idle = uses_.empty();
    std::shared_ptr<std::vector<char>> staged;
    if (!idle) staged = std::make_shared<std::vector<char>>(bytes);
    if (staged && from) std::memcpy(staged->data(), from, bytes);
    cl_event event = nullptr;
    const double begin = now_us();
    RELAY_RETURN_IF_ERROR(done(doing, enqueue(staged ? staged->data() : from, staged ? staged->data() : to,
                                              idle ? CL_TRUE : CL_FALSE, &event)));
    const std::shared_ptr<Event> ended = started(name, event, begin);
    if (from) last_upload_ = {ended, ended->get()};
    if (idle) return ok();
    RELAY_RETURN_IF_ERROR(wait_for(ended->get(), staged));
    if (to) std::memcpy(to, staged->data(), bytes);
    return ok();
  }

  // --- memory
  Result<Place> place_of(const void* address, size_t bytes) const {
    size_t offset = 0;
    const Block* block = block_of(blocks_, address, bytes, &offset);
    if (block) return Place{block->buffer.get(), offset};
    return not_in_its_memory(name());
  }

  // All kernels use one block, because they run one after another. OpenCL keeps a block until its kernels are done.
  Status reserve_scratch(const std::string& kernel, size_t bytes) {
    if (bytes <= scratch_bytes_) return ok();
    cl_int code = CL_SUCCESS;
    OpenClHandle<cl_mem> made(cl_.clCreateBuffer(context_.get(), CL_MEM_READ_WRITE, bytes, nullptr, &code),
                              cl_.clReleaseMemObject);
    if (code != CL_SUCCESS) return no_scratch_memory(kernel, bytes, in_messages(), opencl_error(code));
    scratch_ = std::move(made), scratch_bytes_ = bytes;
    return ok();
  }

  // A CPU has few work-items, which run many tasks. A GPU has as many as fill it several times, because the code may
  // divide a task among them; those without work end at once.
  // `declared`: the work-items of a work-group that the kernel asks for, or 0; then a group runs blocks of tasks.
  Grid grid_of(int64_t declared, int64_t tasks, int64_t scratch_bytes) const {
    constexpr int64_t most_scratch = 256 << 20;  // bytes
    const bool cpu = about_.kind == "CPU";
    const int64_t group = declared > 0 ? declared : cpu ? 1 : std::min<int64_t>(64, about_.group_size);
    int64_t items = declared > 0 ? about_.units * int64_t{8} * declared
                    : cpu        ? std::min<int64_t>(tasks, about_.units * int64_t{8})
                                 : about_.units * int64_t{2048};
    if (scratch_bytes > 0)
      items = std::min(items, std::max<int64_t>(1, std::min(most_scratch, about_.allocation_bytes) / scratch_bytes));
    return {std::max(group, (items + group - 1) / group * group), group};
  }

  // --- programs
  Result<std::shared_ptr<BuiltProgram>> built(const std::string& source) {
    std::erase_if(programs_, [](const auto& known) { return known.second.expired(); });
    if (const auto known = programs_.find(source); known != programs_.end()) return known->second.lock();
    if (source.find("cl_khr_fp64") != std::string::npos && !about_.has_double)
      return Diagnostic{DiagnosticKind::incompatible_artifact,
                        format("the program computes in float64, and `{}` lacks cl_khr_fp64", about_.name),
                        {},
                        {},
                        {},
                        "use another device, or convert the model to float32"};
    cl_int code = CL_SUCCESS;
    const char* text = source.data();
    const size_t bytes = source.size();
    std::shared_ptr<BuiltProgram> program = std::make_shared<BuiltProgram>();
    program->handle = {cl_.clCreateProgramWithSource(context_.get(), 1, &text, &bytes, &code), cl_.clReleaseProgram};
    if (code != CL_SUCCESS) return failure("making a program", code);
    std::string flags = "-cl-std=CL1.2";
    if (about_.has_fma) flags += " -DRELAY_FMA";
    if (about_.rounds_division) flags += " -cl-fp32-correctly-rounded-divide-sqrt";
    code = cl_.clBuildProgram(program->handle.get(), 1, &found_.id, flags.c_str(), nullptr, nullptr);
    if (code != CL_SUCCESS) {
      Diagnostic d = failure("compiling the kernels", code);
      if (const std::string said = build_log(program->handle.get()); !said.empty()) d.notes.push_back(said);
      return d;
    }
    programs_[source] = program;
    return program;
  }

  // The first of the compiler's messages.
  std::string build_log(cl_program program) const {
    size_t bytes = 0;
    cl_.clGetProgramBuildInfo(program, found_.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
    std::string text(bytes, 0);
    cl_.clGetProgramBuildInfo(program, found_.id, CL_PROGRAM_BUILD_LOG, bytes, text.data(), nullptr);
    constexpr size_t most = 2000;
    return text.substr(0, std::min(text.find('\0'), most));
  }

  const OpenClLibrary& cl_;
  const FoundDevice found_;
  const OpenClInfo& about_;
  const double time_limit_seconds_;
  OpenClHandle<cl_context> context_;
  OpenClHandle<cl_command_queue> queue_, transfers_;
  std::mutex mutex_;                   // guards the following, the queues, and the arguments of kernels
  Diagnostics lost_;                   // the error after which the device is not used any more
  bool hangs_ = false;                 // nothing is released, because that would wait
  std::string last_;                   // the kernel that was launched last
  std::map<uintptr_t, Block> blocks_;  // by address
  OpenClHandle<cl_mem> scratch_;
  size_t scratch_bytes_ = 0;
  std::vector<Use> uses_;  // by what is on queue_, in its order
  LastUpload last_upload_;
  bool recording_ = false;
  std::vector<Recorded> recorded_;
  std::map<std::string, std::weak_ptr<BuiltProgram>> programs_;  // by source
};

}  // namespace

Result<std::unique_ptr<Device>> make_opencl_device(int64_t number) {
  RELAY_ASSIGN(const OpenClLibrary* cl, opencl_library());
  RELAY_ASSIGN(const double limit, device_time_limit());
  std::vector<FoundDevice> all = found_devices(*cl);
  if (number < 0 || size(number) >= all.size())
    return Diagnostic{
        DiagnosticKind::unknown_target,
        format("there is no device opencl:{}: OpenCL finds {} here", number, plural(all.size(), "device", "devices")),
        {},
        {},
        {},
        "`relay doctor` lists them"};
  FoundDevice& found = all[size(number)];
  if (found.about.refused)
    return Diagnostic{DiagnosticKind::unknown_target,
                      format("`{}` cannot be used: {}", found.about.name, *found.about.refused),
                      {},
                      {},
                      {},
                      "install a newer driver, or choose another device"};
  std::unique_ptr<OpenClDevice> device = std::make_unique<OpenClDevice>(number, *cl, std::move(found), limit);
  RELAY_RETURN_IF_ERROR(device->connect());
  return std::unique_ptr<Device>(std::move(device));
}

}  // namespace relay::runtime
