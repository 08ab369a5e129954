#include "relay/external/dnnl/plan.h"

#include <algorithm>
#include <cstdlib>
#include <new>

namespace relay::onednn {

::dnnl::engine& engine() {
  static ::dnnl::engine* const one = new ::dnnl::engine(::dnnl::engine::kind::cpu, 0);
  return *one;
}

Desc row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (size_t d = dims.size(); d-- > 1;) strides[d - 1] = strides[d] * dims[d];
  return {dims, ::dnnl::memory::data_type::f32, strides};
}

::dnnl::memory PackedConstants::packed(size_t constant, const Desc& as, const Desc& wanted) {
  std::lock_guard<std::mutex> lock(mutex_);
  ::dnnl::memory given(as, engine(), given_[constant].second);
  if (as == wanted) return given;
  for (const Packed& p : packed_)
    if (p.constant == constant && p.as == as && p.desc == wanted) return p.memory;
  ::dnnl::memory made(wanted, engine());
  ::dnnl::stream stream(engine());
  ::dnnl::reorder(given, made).execute(stream, given, made);
  stream.wait();
  packed_.push_back({constant, as, wanted, made});
  return made;
}

// Buffers of intermediate values: a free one that is large enough, else the largest free one, enlarged, else a new one.
void Plan::place() {
  std::vector<size_t> last(values_.size());
  for (size_t s = 0; s < steps_.size(); ++s)
    for (const Step::Arg& a : steps_[s].args) last[a.value] = s;
  std::vector<int> unused;
  std::vector<std::vector<size_t>> end_at(steps_.size());
  for (size_t s = 0; s < steps_.size(); ++s) {
    for (const Step::Arg& a : steps_[s].args) {
      Value& v = values_[a.value];
      if (v.kind != Value::Kind::Inside || v.buffer >= 0) continue;
      const size_t bytes = v.desc.get_size();
      auto size_of = [&](int b) { return buffer_bytes_[static_cast<size_t>(b)]; };
      std::sort(unused.begin(), unused.end(), [&](int x, int y) { return size_of(x) < size_of(y); });
      auto fits = std::find_if(unused.begin(), unused.end(), [&](int b) { return size_of(b) >= bytes; });
      if (fits == unused.end() && !unused.empty()) fits = unused.end() - 1;
      if (fits == unused.end()) {
        v.buffer = static_cast<int>(buffer_bytes_.size());
        buffer_bytes_.push_back(bytes);
      } else {
        v.buffer = *fits;
        buffer_bytes_[static_cast<size_t>(v.buffer)] = std::max(size_of(v.buffer), bytes);
        unused.erase(fits);
      }
      end_at[last[a.value]].push_back(a.value);
    }
    for (size_t value : end_at[s]) unused.push_back(values_[value].buffer);
  }
}

void Plan::Free::operator()(void* memory) const { std::free(memory); }

static void* allocate(size_t bytes) {
  constexpr size_t alignment = 64;
  void* memory = std::aligned_alloc(alignment, (std::max<size_t>(bytes, 1) + alignment - 1) / alignment * alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

std::unique_ptr<Plan::Workspace> Plan::make_workspace() const {
  std::unique_ptr<Workspace> w = std::make_unique<Workspace>();
  for (size_t bytes : buffer_bytes_) w->buffers.emplace_back(allocate(bytes));
  const size_t scratchpad_bytes = scratchpad_ ? scratchpad_.get_size() : 0;
  if (scratchpad_bytes > 0) w->buffers.emplace_back(allocate(scratchpad_bytes));
  for (const Step& step : steps_) {
    std::unordered_map<int, ::dnnl::memory>& args = w->args.emplace_back();
    for (const Step::Arg& a : step.args) {
      const Value& v = values_[a.value];
      const bool inside = v.kind == Value::Kind::Inside;
      ::dnnl::memory memory(a.desc, engine(), inside ? w->buffers[static_cast<size_t>(v.buffer)].get() : nullptr);
      args[a.name] = memory;
      if (!inside) w->from_outside.emplace_back(memory, &v);
    }
    for (const auto& [name, memory] : step.constants) args[name] = memory;
    if (scratchpad_bytes > 0)
      args[DNNL_ARG_SCRATCHPAD] = ::dnnl::memory(scratchpad_, engine(), w->buffers.back().get());
  }
  w->stream = ::dnnl::stream(engine());
  return w;
}

// All elements, padding between blocks included.
static void clamp(const ::dnnl::memory& memory, float low, float high) {
  float* x = static_cast<float*>(memory.get_data_handle());
  const size_t count = memory.get_desc().get_size() / sizeof(float);
  for (size_t i = 0; i < count; ++i) {
    const float above = x[i] < low ? low : x[i];
    x[i] = above > high ? high : above;
  }
}

void Plan::run(const std::vector<void*>& inputs, const std::vector<void*>& outputs) {
  std::unique_ptr<Workspace> w;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (!free_.empty()) w = std::move(free_.back()), free_.pop_back();
  }
  if (!w) w = make_workspace();
  for (auto& [memory, value] : w->from_outside)
    memory.set_data_handle((value->kind == Value::Kind::Output ? outputs : inputs)[value->index]);
  for (size_t s = 0; s < steps_.size(); ++s) {
    if (!steps_[s].limits) {
      steps_[s].primitive.execute(w->stream, w->args[s]);
      continue;
    }
    w->stream.wait();
    clamp(w->args[s].at(DNNL_ARG_DST), steps_[s].limits->first, steps_[s].limits->second);
  }
  w->stream.wait();
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(std::move(w));
}

}  // namespace relay::onednn
