// Kernels on an OpenCL device: one context and one queue, in order, for each program.
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <unordered_map>

#include "relay/base/bytes.h"
#include "relay/runtime/devices/opencl_handles.h"

namespace relay::runtime {

namespace {

// The completion of an event. Shared with the driver's callback, which may come after the waiting has ended.
struct Completion {
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

// A context with its queue, which its memory keeps alive.
struct Connection {
  const OpenClLibrary& cl;
  FoundDevice device;
  double time_limit_seconds;
  OpenClHandle<cl_context> context;
  OpenClHandle<cl_command_queue> queue;
  std::mutex mutex;    // of everything below, of the queue and of the kernels' arguments
  Diagnostics lost{};  // the error after which the device is not used any more
  std::string last{};  // the work that was asked for last, for messages
  bool hangs = false;  // nothing is released: that would wait

  ~Connection() {
    if (hangs) queue.abandon(), context.abandon();
  }

  Diagnostic failure(const std::string& doing, cl_int code) const {
    const bool memory =
        code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES || code == CL_OUT_OF_HOST_MEMORY;
    return {memory ? DiagnosticKind::out_of_memory : DiagnosticKind::incompatible_artifact,
            format("{} on `{}` failed: {}", doing, device.about.name, opencl_error(code)),
            {},
            {},
            {},
            memory ? format("the device has {}; use smaller inputs, such as a smaller batch",
                            bytes_text(device.about.memory_bytes))
                   : "run the program again; if it fails again, the driver or the device is faulty"};
  }
  // Called with the lock held. Errors that leave the queue in doubt end the use of the device.
  Diagnostic lose(const std::string& doing, cl_int code) {
    lost = {failure(doing, code)};
    return lost[0];
  }
  Status check() const { return lost.empty() ? ok() : Status(lost); }

  // Waits for an event, with the lock held: calls of other threads take turns.
  Status wait(cl_event event, const std::string& doing) {
    const OpenClHandle<cl_event> owned(event, cl.clReleaseEvent);
    const std::shared_ptr<Completion> completion = std::make_shared<Completion>();
    cl_int code = cl.clFlush(queue.get());
    if (code != CL_SUCCESS) return lose(doing, code);
    auto shared = std::make_unique<std::shared_ptr<Completion>>(completion);
    code = cl.clSetEventCallback(event, CL_COMPLETE, completed, shared.get());
    if (code != CL_SUCCESS) return lose(doing, code);
    shared.release();  // the callback owns it
    std::unique_lock<std::mutex> waiting(completion->mutex);
    const auto limit = std::chrono::duration<double>(time_limit_seconds);
    if (!completion->changed.wait_for(waiting, limit, [&] { return completion->status.has_value(); })) {
      hangs = true;
      lost = {{DiagnosticKind::limit_exceeded,
               format("the work on `{}` is not done after {} seconds; the last kernel asked for is `{}`",
                      device.about.name, time_limit_seconds, last),
               {},
               {},
               {},
               "if this is not a fault, allow more time: RELAY_DEVICE_TIME_LIMIT=seconds"}};
      return lost;
    }
    if (*completion->status < 0) return lose(format("{} (after kernel `{}`)", doing, last), *completion->status);
    return ok();
  }
};
using ConnectionRef = std::shared_ptr<Connection>;

class Memory : public DeviceMemory {
 public:
  Memory(ConnectionRef connection, cl_mem memory)
      : connection_(std::move(connection)), memory_(memory, connection_->cl.clReleaseMemObject) {}
  ~Memory() override {
    if (connection_->hangs) memory_.abandon();
  }
  cl_mem get() const { return memory_.get(); }

 private:
  ConnectionRef connection_;
  OpenClHandle<cl_mem> memory_;
};

cl_mem memory_of(const DeviceArray& array) { return static_cast<const Memory&>(*array.memory).get(); }
size_t size(int64_t value) { return static_cast<size_t>(value); }

class OpenClKernels : public KernelLibrary, public DeviceKernels {
 public:
  OpenClKernels(ConnectionRef connection, OpenClHandle<cl_program> program)
      : c_(std::move(connection)), program_(std::move(program)) {}
  ~OpenClKernels() override {
    if (!c_->hangs) return;
    for (Kernel& kernel : kernels_) kernel.handle.abandon();
    program_.abandon();
  }

  Status add_kernel(const std::string& name) {
    cl_int code = CL_SUCCESS;
    cl_kernel made = c_->cl.clCreateKernel(program_.get(), ("kernel_" + name).c_str(), &code);
    if (code == CL_INVALID_KERNEL_NAME)
      return Diagnostic{DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", name), {}, {}, {},
                        "compile the model again"};
    if (code != CL_SUCCESS) return c_->failure(format("making kernel `{}`", name), code);
    OpenClHandle<cl_kernel> handle(made, c_->cl.clReleaseKernel);
    cl_uint arguments = 0;
    code = c_->cl.clGetKernelInfo(made, CL_KERNEL_NUM_ARGS, sizeof arguments, &arguments, nullptr);
    if (code != CL_SUCCESS) return c_->failure(format("making kernel `{}`", name), code);
    numbers_[name] = static_cast<int>(kernels_.size());
    kernels_.push_back({name, std::move(handle), arguments});
    return ok();
  }

  // --- KernelLibrary
  KernelFn find(const std::string&) const override { return nullptr; }
  DeviceKernels* device() const override { return const_cast<OpenClKernels*>(this); }

  // --- DeviceKernels
  std::string device_name() const override { return c_->device.about.name; }
  int find_kernel(const std::string& name) const override {
    const auto known = numbers_.find(name);
    return known == numbers_.end() ? -1 : known->second;
  }

  Result<DeviceMemoryRef> allocate(int64_t bytes, const std::string& what) override {
    const OpenClDevice& about = c_->device.about;
    std::lock_guard<std::mutex> lock(c_->mutex);
    RELAY_RETURN_IF_ERROR(c_->check());
    cl_int code = CL_SUCCESS;
    cl_mem made = bytes > about.allocation_bytes
                      ? nullptr
                      : c_->cl.clCreateBuffer(c_->context.get(), CL_MEM_READ_WRITE, size(std::max<int64_t>(bytes, 1)),
                                              nullptr, &code);
    if (made != nullptr && code == CL_SUCCESS) return DeviceMemoryRef(std::make_shared<Memory>(c_, made));
    Diagnostic d{DiagnosticKind::out_of_memory,
                 format("`{}` has no memory for {}: {}", about.name, what, bytes_text(bytes))};
    d.notes.push_back(format("the device has {}, and at most {} for one array", bytes_text(about.memory_bytes),
                             bytes_text(about.allocation_bytes)));
    if (code != CL_SUCCESS) d.notes.push_back(format("the driver says {}", opencl_error(code)));
    d.help = "use smaller inputs, such as a smaller batch, or another device";
    return d;
  }

  // Transfers begin when the queue is idle, so that a kernel that hangs never leaves one behind, which would use memory
  // that the caller has released.
  Status upload(const DeviceArray& to, const void* from, int64_t bytes) override {
    if (bytes == 0) return ok();
    std::lock_guard<std::mutex> lock(c_->mutex);
    RELAY_RETURN_IF_ERROR(wait_for_all());
    const cl_int code = c_->cl.clEnqueueWriteBuffer(c_->queue.get(), memory_of(to), CL_TRUE, size(to.offset),
                                                    size(bytes), from, 0, nullptr, nullptr);
    return code == CL_SUCCESS ? ok() : Status(c_->lose("copying an array to the device", code));
  }

  Status download(void* to, const DeviceArray& from, int64_t bytes) override {
    if (bytes == 0) return ok();
    std::lock_guard<std::mutex> lock(c_->mutex);
    RELAY_RETURN_IF_ERROR(wait_for_all());
    const cl_int code = c_->cl.clEnqueueReadBuffer(c_->queue.get(), memory_of(from), CL_TRUE, size(from.offset),
                                                   size(bytes), to, 0, nullptr, nullptr);
    return code == CL_SUCCESS ? ok() : Status(c_->lose("copying an array from the device", code));
  }

  Status copy(const DeviceArray& to, const DeviceArray& from, int64_t bytes) override {
    if (bytes == 0) return ok();
    std::lock_guard<std::mutex> lock(c_->mutex);
    RELAY_RETURN_IF_ERROR(c_->check());
    const cl_int code = c_->cl.clEnqueueCopyBuffer(c_->queue.get(), memory_of(from), memory_of(to), size(from.offset),
                                                   size(to.offset), size(bytes), 0, nullptr, nullptr);
    return code == CL_SUCCESS ? ok() : Status(c_->lose("copying an array on the device", code));
  }

  Status clear(const DeviceArray& to, int64_t bytes) override {
    if (bytes == 0) return ok();
    std::lock_guard<std::mutex> lock(c_->mutex);
    RELAY_RETURN_IF_ERROR(c_->check());
    const cl_uchar zero = 0;
    const cl_int code = c_->cl.clEnqueueFillBuffer(c_->queue.get(), memory_of(to), &zero, 1, size(to.offset),
                                                   size(bytes), 0, nullptr, nullptr);
    return code == CL_SUCCESS ? ok() : Status(c_->lose("clearing an array", code));
  }

  Status launch(int number, std::span<const DeviceArray> arrays, std::span<const int64_t> shape, int64_t tasks,
                int64_t scratch_bytes) override {
    if (tasks <= 0) return ok();
    Kernel& kernel = kernels_[static_cast<size_t>(number)];
    const Launch how = launch_of(tasks, scratch_bytes);
    if (scratch_bytes > 0) RELAY_RETURN_IF_ERROR(reserve_scratch(kernel.name, how.items * scratch_bytes));
    std::lock_guard<std::mutex> lock(c_->mutex);
    RELAY_RETURN_IF_ERROR(c_->check());
    cl_uint at = 0;
    cl_int code = CL_SUCCESS;
    auto pass = [&](const auto& value) {
      if (code == CL_SUCCESS) code = c_->cl.clSetKernelArg(kernel.handle.get(), at++, sizeof value, &value);
    };
    for (const DeviceArray& array : arrays) pass(memory_of(array)), pass(cl_long{array.offset});
    for (int64_t value : shape) pass(cl_long{value});
    pass(cl_long{0}), pass(cl_long{tasks});
    if (scratch_bytes > 0 && at < kernel.arguments) pass(static_cast<const Memory&>(*scratch_).get());
    if (at != kernel.arguments && code == CL_SUCCESS)
      return Diagnostic{DiagnosticKind::corrupt_file,
                        format("kernel `{}` takes {} arguments, and gets {}", kernel.name, kernel.arguments, at),
                        {},
                        {},
                        {},
                        "compile the model again"};
    const size_t global = size(how.items), local = size(how.group);
    if (code == CL_SUCCESS)
      code = c_->cl.clEnqueueNDRangeKernel(c_->queue.get(), kernel.handle.get(), 1, nullptr, &global, &local, 0,
                                           nullptr, nullptr);
    if (code != CL_SUCCESS) return c_->lose(format("launching kernel `{}`", kernel.name), code);
    c_->last = kernel.name;
    return ok();
  }

  Status finish() override {
    std::lock_guard<std::mutex> lock(c_->mutex);
    return wait_for_all();
  }

 private:
  struct Kernel {
    std::string name;
    OpenClHandle<cl_kernel> handle;
    cl_uint arguments = 0;
  };
  struct Launch {
    int64_t items, group;  // work-items, and those of a work-group
  };

  // Called with the lock held.
  Status wait_for_all() {
    RELAY_RETURN_IF_ERROR(c_->check());
    cl_event done = nullptr;
    const cl_int code = c_->cl.clEnqueueMarkerWithWaitList(c_->queue.get(), 0, nullptr, &done);
    if (code != CL_SUCCESS) return c_->lose("waiting for kernels", code);
    return c_->wait(done, "waiting for kernels");
  }

  // The work-items of a GPU have a task each until they fill it several times; a CPU has few, which run many tasks.
  Launch launch_of(int64_t tasks, int64_t scratch_bytes) const {
    constexpr int64_t most_scratch = 256 << 20;  // bytes
    const OpenClDevice& about = c_->device.about;
    const bool cpu = about.kind == "CPU";
    const int64_t group = cpu ? 1 : std::min<int64_t>({64, about.group_size, tasks});
    int64_t items = std::min<int64_t>(tasks, about.units * (cpu ? int64_t{8} : int64_t{4096}));
    if (scratch_bytes > 0)
      items = std::min(items, std::max<int64_t>(group, std::min(most_scratch, about.allocation_bytes) / scratch_bytes));
    return {std::max(group, items / group * group), group};
  }

  // One block for all kernels: they run one after another. A block that earlier kernels use lives until they are done.
  Status reserve_scratch(const std::string& kernel, int64_t bytes) {
    std::lock_guard<std::mutex> lock(scratch_mutex_);
    if (bytes <= scratch_bytes_) return ok();
    RELAY_ASSIGN(DeviceMemoryRef made, allocate(bytes, format("the scratch memory of kernel `{}`", kernel)));
    const std::lock_guard<std::mutex> launching(c_->mutex);
    scratch_ = std::move(made), scratch_bytes_ = bytes;
    return ok();
  }

  ConnectionRef c_;
  OpenClHandle<cl_program> program_;
  std::vector<Kernel> kernels_;
  std::unordered_map<std::string, int> numbers_;
  std::mutex scratch_mutex_;
  DeviceMemoryRef scratch_;
  int64_t scratch_bytes_ = 0;
};

Result<ConnectionRef> connect(const OpenClOptions& options) {
  RELAY_ASSIGN(const OpenClLibrary* cl, opencl_library());
  RELAY_ASSIGN(FoundDevice device, find_device(*cl, options.device));
  ConnectionRef c(new Connection{*cl, std::move(device), options.time_limit_seconds, {}, {}, {}});
  cl_int code = CL_SUCCESS;
  c->context = OpenClHandle<cl_context>(cl->clCreateContext(nullptr, 1, &c->device.id, nullptr, nullptr, &code),
                                        cl->clReleaseContext);
  if (code != CL_SUCCESS) return c->failure("making a context", code);
  c->queue = OpenClHandle<cl_command_queue>(cl->clCreateCommandQueue(c->context.get(), c->device.id, 0, &code),
                                            cl->clReleaseCommandQueue);
  if (code != CL_SUCCESS) return c->failure("making a queue", code);
  return c;
}

// The first lines of the compiler's messages.
std::string build_log(const Connection& c, cl_program program) {
  size_t bytes = 0;
  c.cl.clGetProgramBuildInfo(program, c.device.id, CL_PROGRAM_BUILD_LOG, 0, nullptr, &bytes);
  std::string text(bytes, 0);
  c.cl.clGetProgramBuildInfo(program, c.device.id, CL_PROGRAM_BUILD_LOG, bytes, text.data(), nullptr);
  constexpr size_t most = 2000;
  return text.substr(0, std::min(text.find('\0'), most));
}

}  // namespace

Result<std::shared_ptr<const KernelLibrary>> opencl_kernels(const std::string& source,
                                                            const std::vector<std::string>& names,
                                                            const OpenClOptions& options) {
  RELAY_ASSIGN(ConnectionRef c, connect(options));
  const OpenClDevice& about = c->device.about;
  if (source.find("cl_khr_fp64") != std::string::npos && !about.has_double)
    return Diagnostic{DiagnosticKind::incompatible_artifact,
                      format("the program computes in float64, and `{}` lacks cl_khr_fp64", about.name),
                      {},
                      {},
                      {},
                      "use another device, or convert the model to float32"};
  cl_int code = CL_SUCCESS;
  const char* text = source.data();
  const size_t bytes = source.size();
  OpenClHandle<cl_program> program(c->cl.clCreateProgramWithSource(c->context.get(), 1, &text, &bytes, &code),
                                   c->cl.clReleaseProgram);
  if (code != CL_SUCCESS) return c->failure("making a program", code);
  std::string flags = "-cl-std=CL1.2";
  if (about.has_fma) flags += " -DRELAY_FMA";
  if (about.rounds_division) flags += " -cl-fp32-correctly-rounded-divide-sqrt";
  code = c->cl.clBuildProgram(program.get(), 1, &c->device.id, flags.c_str(), nullptr, nullptr);
  if (code != CL_SUCCESS) {
    Diagnostic d = c->failure("compiling the kernels", code);
    d.notes.push_back(build_log(*c, program.get()));
    return d;
  }
  std::shared_ptr<OpenClKernels> kernels = std::make_shared<OpenClKernels>(c, std::move(program));
  for (const std::string& name : names) RELAY_RETURN_IF_ERROR(kernels->add_kernel(name));
  return std::shared_ptr<const KernelLibrary>(std::move(kernels));
}

}  // namespace relay::runtime
