// A function of the dnnl compiler (external/dnnl.cpp) as primitives of oneDNN for inputs of given sizes.
//
// Between convolutions values stay in the layouts that oneDNN chooses; inputs, constants and results are row-major as
// in Relay, with reorders in between. Values whose lifetimes do not overlap share memory.
#pragma once

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <unordered_map>
#include <vector>

namespace relay::onednn {

using Json = nlohmann::json;
using Dims = ::dnnl::memory::dims;
using Desc = ::dnnl::memory::desc;

::dnnl::engine& engine();
// Dense and row-major, of float32.
Desc row_major(const Dims& dims);

// Constants in the layouts that primitives request, each reordered once for all plans of a function.
class PackedConstants {
 public:
  explicit PackedConstants(std::vector<std::pair<Dims, void*>> given) : given_(std::move(given)) {}
  size_t size() const { return given_.size(); }
  const Dims& dims(size_t constant) const { return given_[constant].first; }
  // `as`: a view of the constant's elements: the same memory with other dimensions or strides.
  ::dnnl::memory packed(size_t constant, const Desc& as, const Desc& wanted);

 private:
  struct Packed {
    size_t constant;
    Desc as, desc;
    ::dnnl::memory memory;
  };
  std::vector<std::pair<Dims, void*>> given_;
  std::vector<Packed> packed_;
  std::mutex mutex_;
};

// An operand of steps; `desc`: its storage.
struct Value {
  enum class Kind : uint8_t { Input, Constant, Inside, Output } kind = Kind::Inside;
  size_t index = 0;  // of inputs, constants or outputs
  Desc desc;
  int buffer = -1;  // Inside: the buffer of the workspace
};

struct Step {
  struct Arg {
    int name;  // DNNL_ARG_SRC, ..
    size_t value;
    Desc desc;  // the primitive's view of it
  };
  ::dnnl::primitive primitive;  // of no kind if the step clamps
  std::vector<Arg> args;
  std::vector<std::pair<int, ::dnnl::memory>> constants;
  // Set for a step without a primitive: limits its destination, in place. NaN stays NaN, unlike in oneDNN's relu and
  // clip, which make a number of it.
  std::optional<std::pair<float, float>> limits{};
};

class Plan {
 public:
  // `inputs`, `outputs`: their sizes. Throws std::exception with a reason, possibly a dnnl::error.
  Plan(const Json& program, PackedConstants& constants, const std::vector<Dims>& inputs,
       const std::vector<Dims>& outputs);
  // May be called by any number of threads at once.
  void run(const std::vector<void*>& inputs, const std::vector<void*>& outputs);

 private:
  friend class Builder;
  struct Free {
    void operator()(void* memory) const;
  };
  // The memory of one run at a time.
  struct Workspace {
    std::vector<std::unique_ptr<void, Free>> buffers;
    std::vector<std::unordered_map<int, ::dnnl::memory>> args;          // of steps
    std::vector<std::pair<::dnnl::memory, const Value*>> from_outside;  // whose memory the caller passes
    ::dnnl::stream stream;
  };
  std::unique_ptr<Workspace> make_workspace() const;
  void place();

  std::vector<Value> values_;
  std::vector<Step> steps_;
  std::vector<size_t> buffer_bytes_;
  Desc scratchpad_;
  std::vector<std::unique_ptr<Workspace>> free_;
  std::mutex mutex_;
};

}  // namespace relay::onednn
