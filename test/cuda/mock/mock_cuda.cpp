// A CUDA driver without a GPU, for tests of the host's side: the symbols of libcuda over memory that the host cannot
// reach by its addresses. Kernels run on a machine for PTX (ptx_machine.h). Relay loads it by RELAY_CUDA_LIBRARY.
//
// Work is done late: operations of a stream wait until somebody asks whether they are done. Code that changes or reads
// memory too early therefore gets wrong results every time. Memory is filled with a pattern when it is allocated, and
// again when it is freed.
//
// The environment variable RELAY_MOCK_CUDA_FAULTS is a list such as "no-memory,lost":
//
//   no-device   there is no GPU
//   old-driver  the driver is of CUDA 11.8
//   small       the GPU has capability 6.1
//   no-memory   allocations of more than a MiB fail
//   lost        the first kernel ends with an error, and so does everything after it
//   hang        the first kernel never ends
//   bad-code    the compiler refuses every module
//   old-code    the driver does not know the version of PTX
//
// mock_cuda_report() is a line of JSON: what is allocated, what was called, and what was done wrong.
#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

#include "ptx_machine.h"
#include "relay/runtime/devices/cuda/cuda_api.h"

namespace {

using namespace relay::runtime;
using relay::mock::PtxModule;

thread_local bool context_of_thread = false;

#define RELAY_MOCK extern "C" __attribute__((visibility("default")))

constexpr cu::Result invalid_value = 1, illegal_address = 700, launch_failed = 719;

bool has(const char* fault) {
  const char* given = std::getenv("RELAY_MOCK_CUDA_FAULTS");
  return given && std::strstr(given, fault) != nullptr;
}

struct Memory {
  std::vector<uint8_t> bytes;
  bool is_freed = false;  // by an operation that is still to run
};
using Work = std::function<cu::Result()>;
struct Graph {
  std::vector<Work> work;
  std::vector<const void*> modules;  // of its kernels, one for each launch
};
struct Stream {
  std::deque<Work> work;
  bool hangs = false;
  Graph* captured = nullptr;  // while operations become a graph instead of running
};
struct Event {
  Stream* stream = nullptr;
  bool is_recorded = false, is_done = true;
};

struct Driver {
  std::recursive_mutex mutex;
  std::map<uint64_t, Memory> memory;  // by address
  uint64_t next_address = 0x7e0000000000;
  uint64_t last_begin = 1, last_end = 0;  // of the allocation that was accessed last
  uint8_t* last = nullptr;
  std::set<void*> host, modules, streams, events, graphs;
  std::map<const void*, int> launched;  // by module: kernels that have not ended
  int contexts = 0;
  cu::Result error = cu::success;  // stays
  uint64_t allocations = 0, launches = 0, graph_launches = 0, uploads = 0, downloads = 0, bytes = 0, peak = 0;
  std::vector<std::string> wrong;
  std::string report;

  cu::Result is_wrong(std::string what, cu::Result code = invalid_value) {
    wrong.push_back(std::move(what));
    return code;
  }
  void* translate(uint64_t address, size_t size) {
    if (address >= last_begin && address + size <= last_end) return last + (address - last_begin);
    auto found = memory.upper_bound(address);
    if (found == memory.begin()) return nullptr;
    --found;
    const uint64_t offset = address - found->first;
    if (offset > found->second.bytes.size() || size > found->second.bytes.size() - offset) return nullptr;
    last_begin = found->first, last_end = last_begin + found->second.bytes.size(), last = found->second.bytes.data();
    return last + offset;
  }
};
Driver& driver() {
  static Driver* made = new Driver;
  return *made;
}

struct Lock {
  Lock() { driver().mutex.lock(); }
  ~Lock() { driver().mutex.unlock(); }
};
// Begins a function that needs a chosen context and no earlier error.
#define RELAY_ENTER                                                                        \
  const Lock lock;                                                                         \
  Driver& d = driver();                                                                    \
  if (!context_of_thread) return d.is_wrong(std::string(__func__) + " without a context"); \
  if (d.error != cu::success) return d.error;

void add_work(Stream* s, Work work) {
  if (s->captured)
    s->captured->work.push_back(std::move(work));
  else
    s->work.push_back(std::move(work));
}

cu::Result run_work(Driver& d, Stream& s) {
  if (s.captured) return d.is_wrong("a stream is asked while it is captured");
  if (s.hangs) return cu::not_ready;
  bool did = false;
  while (!s.work.empty() && d.error == cu::success && !s.hangs) {
    const std::function<cu::Result()> now = std::move(s.work.front());
    s.work.pop_front();
    d.error = now();
    did = true;
  }
  if (d.error != cu::success) return d.error;
  return s.hangs || did ? cu::not_ready : cu::success;  // the first question comes too early
}

}  // namespace

RELAY_MOCK cu::Result cuInit(unsigned) { return has("no-device") ? cu::no_device : cu::success; }
RELAY_MOCK cu::Result cuDriverGetVersion(int* version) {
  *version = has("old-driver") ? 11080 : 12040;
  return cu::success;
}
RELAY_MOCK cu::Result cuGetErrorName(cu::Result code, const char** name) {
  static const std::map<cu::Result, const char*> names = {
      {invalid_value, "CUDA_ERROR_INVALID_VALUE"},     {cu::out_of_memory, "CUDA_ERROR_OUT_OF_MEMORY"},
      {cu::wrong_ptx, "CUDA_ERROR_INVALID_PTX"},       {cu::unsupported_ptx, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"},
      {illegal_address, "CUDA_ERROR_ILLEGAL_ADDRESS"}, {launch_failed, "CUDA_ERROR_LAUNCH_FAILED"}};
  const auto found = names.find(code);
  if (found == names.end()) return invalid_value;
  *name = found->second;
  return cu::success;
}
RELAY_MOCK cu::Result cuDeviceGetCount(int* count) {
  *count = 1;
  return cu::success;
}
RELAY_MOCK cu::Result cuDeviceGet(cu::Device* device, int number) {
  *device = number;
  return number == 0 ? cu::success : invalid_value;
}
RELAY_MOCK cu::Result cuDeviceGetName(char* name, int bytes, cu::Device) {
  std::strncpy(name, "mock GPU", static_cast<size_t>(bytes));
  return cu::success;
}
RELAY_MOCK cu::Result cuDeviceTotalMem_v2(size_t* bytes, cu::Device) {
  *bytes = size_t{1} << 30;
  return cu::success;
}
RELAY_MOCK cu::Result cuDeviceGetAttribute(int* value, int attribute, cu::Device) {
  const char* given = std::getenv("RELAY_MOCK_CUDA_CAPABILITY");  // as 75
  const int capability = has("small") ? 61 : given ? std::atoi(given) : 80;
  *value = attribute == cu::major_capability   ? capability / 10
           : attribute == cu::minor_capability ? capability % 10
                                               : 1;  // one multiprocessor, and memory pools
  return cu::success;
}
RELAY_MOCK cu::Result cuDevicePrimaryCtxRetain(cu::Context* context, cu::Device) {
  const Lock lock;
  ++driver().contexts;
  *context = reinterpret_cast<cu::Context>(&driver());
  return cu::success;
}
RELAY_MOCK cu::Result cuDevicePrimaryCtxRelease_v2(cu::Device) {
  const Lock lock;
  if (--driver().contexts < 0) return driver().is_wrong("a context is released twice");
  return cu::success;
}
RELAY_MOCK cu::Result cuCtxSetCurrent(cu::Context context) {
  const Lock lock;
  context_of_thread = context == reinterpret_cast<cu::Context>(&driver());
  return context_of_thread ? cu::success : driver().is_wrong("no such context");
}
RELAY_MOCK cu::Result cuDeviceGetDefaultMemPool(cu::Pool* pool, cu::Device) {
  *pool = nullptr;
  return cu::success;
}
RELAY_MOCK cu::Result cuMemPoolSetAttribute(cu::Pool, int, void*) { return cu::success; }
RELAY_MOCK cu::Result cuMemPoolTrimTo(cu::Pool, size_t) { return cu::success; }

RELAY_MOCK cu::Result cuMemAllocAsync(cu::Address* address, size_t bytes, cu::Stream) {
  RELAY_ENTER
  if (bytes == 0) return d.is_wrong("an allocation of 0 bytes");
  if (bytes > 1 << 20 && has("no-memory")) return cu::out_of_memory;
  if (bytes > (size_t{1} << 30) - d.bytes) return cu::out_of_memory;
  for (void* s : d.streams)
    if (reinterpret_cast<Stream*>(s)->captured) return d.is_wrong("memory is allocated while a stream is captured");
  *address = d.next_address;
  d.next_address += (bytes + 4095) / 4096 * 4096 + 4096;  // a gap, so that an access behind the end is found
  d.memory[*address].bytes.assign(bytes, 0xa5);
  ++d.allocations, d.bytes += bytes, d.peak = std::max(d.peak, d.bytes);
  return cu::success;
}
RELAY_MOCK cu::Result cuMemFreeAsync(cu::Address address, cu::Stream stream) {
  RELAY_ENTER
  const auto found = d.memory.find(address);
  if (found == d.memory.end() || found->second.is_freed) return d.is_wrong("memory that is not allocated is freed");
  if (reinterpret_cast<Stream*>(stream)->captured) return d.is_wrong("memory is freed while the stream is captured");
  found->second.is_freed = true;
  reinterpret_cast<Stream*>(stream)->work.push_back([&d, address] {
    d.bytes -= d.memory[address].bytes.size();
    d.memory.erase(address);
    d.last_begin = 1, d.last_end = 0;
    return cu::success;
  });
  return cu::success;
}
RELAY_MOCK cu::Result cuMemHostAlloc(void** address, size_t bytes, unsigned) {
  RELAY_ENTER
  *address = std::calloc(bytes, 1);
  d.host.insert(*address);
  return cu::success;
}
RELAY_MOCK cu::Result cuMemFreeHost(void* address) {
  RELAY_ENTER
  if (d.host.erase(address) == 0) return d.is_wrong("memory of the host that is not allocated is freed");
  std::free(address);
  return cu::success;
}

static cu::Result copy_later(Driver& d, cu::Stream stream, std::function<void*()> to, std::function<void*()> from,
                             size_t bytes) {
  if (stream == nullptr) return d.is_wrong("a copy without a stream");
  add_work(reinterpret_cast<Stream*>(stream), [&d, to = std::move(to), from = std::move(from), bytes] {
    void *target = to(), *source = from();
    if (target == nullptr || source == nullptr)
      return d.is_wrong("a copy outside of the device's memory", illegal_address);
    std::memmove(target, source, bytes);
    return cu::success;
  });
  return cu::success;
}
static std::function<void*()> on_device(Driver& d, cu::Address address, size_t bytes) {
  return [&d, address, bytes] { return d.translate(address, bytes); };
}
RELAY_MOCK cu::Result cuMemcpyHtoDAsync_v2(cu::Address to, const void* from, size_t bytes, cu::Stream stream) {
  RELAY_ENTER
  ++d.uploads;
  return copy_later(d, stream, on_device(d, to, bytes), [from] { return const_cast<void*>(from); }, bytes);
}
RELAY_MOCK cu::Result cuMemcpyDtoHAsync_v2(void* to, cu::Address from, size_t bytes, cu::Stream stream) {
  RELAY_ENTER
  ++d.downloads;
  return copy_later(d, stream, [to] { return to; }, on_device(d, from, bytes), bytes);
}
RELAY_MOCK cu::Result cuMemcpyDtoDAsync_v2(cu::Address to, cu::Address from, size_t bytes, cu::Stream stream) {
  RELAY_ENTER
  return copy_later(d, stream, on_device(d, to, bytes), on_device(d, from, bytes), bytes);
}

RELAY_MOCK cu::Result cuStreamCreate(cu::Stream* stream, unsigned) {
  RELAY_ENTER
  Stream* made = new Stream;
  d.streams.insert(made);
  *stream = reinterpret_cast<cu::Stream>(made);
  return cu::success;
}
RELAY_MOCK cu::Result cuStreamDestroy_v2(cu::Stream stream) {
  RELAY_ENTER
  if (d.streams.erase(stream) == 0) return d.is_wrong("no such stream");
  while (run_work(d, *reinterpret_cast<Stream*>(stream)) == cu::not_ready) {
  }
  delete reinterpret_cast<Stream*>(stream);
  return cu::success;
}
RELAY_MOCK cu::Result cuStreamQuery(cu::Stream stream) {
  RELAY_ENTER
  return run_work(d, *reinterpret_cast<Stream*>(stream));
}
RELAY_MOCK cu::Result cuStreamBeginCapture_v2(cu::Stream stream, int mode) {
  RELAY_ENTER
  Stream* s = reinterpret_cast<Stream*>(stream);
  if (s->captured || mode != cu::of_this_thread) return d.is_wrong("a capture that cannot begin");
  d.graphs.insert(s->captured = new Graph);
  return cu::success;
}
RELAY_MOCK cu::Result cuStreamEndCapture(cu::Stream stream, cu::Graph* graph) {
  RELAY_ENTER
  Stream* s = reinterpret_cast<Stream*>(stream);
  if (s->captured == nullptr) return d.is_wrong("no capture began");
  *graph = reinterpret_cast<cu::Graph>(std::exchange(s->captured, nullptr));
  return cu::success;
}
RELAY_MOCK cu::Result cuGraphInstantiateWithFlags(cu::GraphProgram* program, cu::Graph graph, unsigned long long) {
  RELAY_ENTER
  if (d.graphs.count(graph) == 0) return d.is_wrong("no such graph");
  Graph* made = new Graph(*reinterpret_cast<Graph*>(graph));
  d.graphs.insert(made);
  *program = reinterpret_cast<cu::GraphProgram>(made);
  return cu::success;
}
static cu::Result destroy_graph(void* graph) {
  RELAY_ENTER
  if (d.graphs.erase(graph) == 0) return d.is_wrong("no such graph");
  delete reinterpret_cast<Graph*>(graph);
  return cu::success;
}
RELAY_MOCK cu::Result cuGraphDestroy(cu::Graph graph) { return destroy_graph(graph); }
RELAY_MOCK cu::Result cuGraphExecDestroy(cu::GraphProgram program) { return destroy_graph(program); }
RELAY_MOCK cu::Result cuGraphLaunch(cu::GraphProgram program, cu::Stream stream) {
  RELAY_ENTER
  if (d.graphs.count(program) == 0) return d.is_wrong("no such graph");
  const Graph& graph = *reinterpret_cast<Graph*>(program);
  for (const void* module : graph.modules) {
    if (d.modules.count(const_cast<void*>(module)) == 0) return d.is_wrong("the module of a graph's kernel is gone");
    ++d.launched[module];
  }
  for (const Work& work : graph.work) add_work(reinterpret_cast<Stream*>(stream), work);
  ++d.graph_launches;
  return cu::success;
}

RELAY_MOCK cu::Result cuEventCreate(cu::Event* event, unsigned) {
  RELAY_ENTER
  Event* made = new Event;
  d.events.insert(made);
  *event = reinterpret_cast<cu::Event>(made);
  return cu::success;
}
RELAY_MOCK cu::Result cuEventDestroy_v2(cu::Event event) {
  RELAY_ENTER
  if (d.events.erase(event) == 0) return d.is_wrong("no such event");
  delete reinterpret_cast<Event*>(event);
  return cu::success;
}
RELAY_MOCK cu::Result cuEventRecord(cu::Event event, cu::Stream stream) {
  RELAY_ENTER
  Event* e = reinterpret_cast<Event*>(event);
  e->stream = reinterpret_cast<Stream*>(stream), e->is_done = false;
  e->stream->work.push_back([e] {
    e->is_done = true;
    return cu::success;
  });
  return cu::success;
}
RELAY_MOCK cu::Result cuEventQuery(cu::Event event) {
  RELAY_ENTER
  Event* e = reinterpret_cast<Event*>(event);
  if (e->is_done) return cu::success;
  const cu::Result code = run_work(d, *e->stream);
  return code == cu::success ? cu::not_ready : code;
}

RELAY_MOCK cu::Result cuModuleLoadDataEx(cu::Module* module, const void* image, unsigned options, int* names,
                                         void** values) {
  RELAY_ENTER
  auto log = [&](const std::string& text) {
    size_t bytes = 0;
    char* to = nullptr;
    for (unsigned i = 0; i < options; ++i) {
      if (names[i] == cu::error_log) to = static_cast<char*>(values[i]);
      if (names[i] == cu::error_log_bytes) bytes = reinterpret_cast<size_t>(values[i]);
    }
    if (to && bytes > 0) std::strncpy(to, text.c_str(), bytes - 1);
  };
  if (has("old-code")) return cu::unsupported_ptx;
  if (has("bad-code")) {
    log("ptxas fatal: a planted fault");
    return cu::wrong_ptx;
  }
  try {
    PtxModule* made = new PtxModule(static_cast<const char*>(image));
    d.modules.insert(made);
    *module = reinterpret_cast<cu::Module>(made);
    return cu::success;
  } catch (const relay::mock::PtxError& e) {
    log(e.what());
    return d.is_wrong(e.what(), cu::wrong_ptx);
  }
}
RELAY_MOCK cu::Result cuModuleUnload(cu::Module module) {
  RELAY_ENTER
  if (d.modules.erase(module) == 0) return d.is_wrong("no such module");
  if (d.launched[module] > 0) return d.is_wrong("a module is unloaded before its kernels have ended");
  delete reinterpret_cast<PtxModule*>(module);
  return cu::success;
}
// A function is known by its entry, and the module by what is loaded.
struct MockFunction {
  const PtxModule* module;
  const relay::mock::Entry* entry;
};
static std::map<const relay::mock::Entry*, MockFunction>& functions() {
  static auto* made = new std::map<const relay::mock::Entry*, MockFunction>;
  return *made;
}
RELAY_MOCK cu::Result cuModuleGetFunction(cu::Function* function, cu::Module module, const char* name) {
  RELAY_ENTER
  if (d.modules.count(module) == 0) return d.is_wrong("no such module");
  const PtxModule* code = reinterpret_cast<PtxModule*>(module);
  const relay::mock::Entry* entry = code->find(name);
  if (entry == nullptr) return cu::not_found;
  *function = reinterpret_cast<cu::Function>(&(functions()[entry] = {code, entry}));
  return cu::success;
}
RELAY_MOCK cu::Result cuFuncGetAttribute(int* value, int attribute, cu::Function function) {
  RELAY_ENTER
  if (attribute != cu::most_block_threads) return d.is_wrong("an attribute of functions that is not known");
  *value = static_cast<int>(reinterpret_cast<MockFunction*>(function)->entry->most_threads);
  return cu::success;
}
RELAY_MOCK cu::Result cuLaunchKernel(cu::Function function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned, cu::Stream stream,
                                     void**, void** extra) {
  RELAY_ENTER
  const MockFunction called = *reinterpret_cast<MockFunction*>(function);
  if (d.modules.count(const_cast<PtxModule*>(called.module)) == 0) return d.is_wrong("the module of a kernel is gone");
  if (grid_x == 0 || grid_y != 1 || grid_z != 1 || block_x == 0 || block_x > 1024 || block_y != 1 || block_z != 1)
    return d.is_wrong("a grid that kernels do not have");
  std::vector<uint8_t> arguments;
  const void* from = nullptr;
  for (; extra && extra[0] != cu::end_of_extras; extra += 2) {
    if (extra[0] == cu::buffer_of_arguments) from = extra[1];
    if (extra[0] == cu::bytes_of_arguments) arguments.resize(*static_cast<size_t*>(extra[1]));
  }
  if (from == nullptr || arguments.size() != called.entry->parameter_bytes)
    return d.is_wrong(called.entry->name + ": the arguments take " + std::to_string(arguments.size()) +
                      " bytes, and its parameters " + std::to_string(called.entry->parameter_bytes));
  std::memcpy(arguments.data(), from, arguments.size());
  Stream* s = reinterpret_cast<Stream*>(stream);
  if (s->captured)
    s->captured->modules.push_back(called.module);
  else
    ++d.launches, ++d.launched[called.module];
  add_work(s, [&d, s, called, arguments, grid_x, block_x] {
    --d.launched[called.module];
    if (has("hang")) s->hangs = true;
    if (has("lost")) return launch_failed;
    if (has("hang")) return cu::success;
    try {
      called.module->run(*called.entry, arguments, {grid_x, block_x},
                         [&d](uint64_t address, size_t bytes) { return d.translate(address, bytes); });
    } catch (const relay::mock::PtxError& e) {
      return d.is_wrong(e.what(), illegal_address);
    }
    return cu::success;
  });
  return cu::success;
}

RELAY_MOCK const char* mock_cuda_report() {
  const Lock lock;
  Driver& d = driver();
  std::string wrong;
  for (const std::string& one : d.wrong) {
    wrong += wrong.empty() ? "\"" : ", \"";
    for (char c : one) wrong += c == '"' || c == '\\' ? '\'' : c < ' ' ? ' ' : c;
    wrong += "\"";
  }
  size_t live = 0;
  for (const auto& [address, memory] : d.memory) live += !memory.is_freed;
  auto pair = [](const char* name, uint64_t value) {
    return std::string("\"") + name + "\": " + std::to_string(value) + ", ";
  };
  d.report = "{" + pair("live", live) + pair("modules", d.modules.size()) + pair("streams", d.streams.size()) +
             pair("events", d.events.size()) + pair("allocations", d.allocations) + pair("launches", d.launches) +
             pair("graphs", d.graphs.size()) + pair("graph_launches", d.graph_launches) + pair("uploads", d.uploads) +
             pair("downloads", d.downloads) + pair("peak", d.peak) + "\"wrong\": [" + wrong + "]}";
  return d.report.c_str();
}

// Written to the file of RELAY_MOCK_CUDA_REPORT when the process ends.
static const struct AtExit {
  ~AtExit() {
    const char* path = std::getenv("RELAY_MOCK_CUDA_REPORT");
    if (path == nullptr) return;
    if (FILE* file = std::fopen(path, "w")) {
      std::fprintf(file, "%s\n", mock_cuda_report());
      std::fclose(file);
    }
  }
} at_exit;
