#include "relay/runtime/program/memories.h"

#include <algorithm>

namespace relay::runtime {

std::string wrong_devices(const std::vector<DeviceName>& devices) {
  if (devices.empty() || !devices[0].is_host()) return "its first device is not the host";
  for (size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].number < 0) return "a device's number is negative";
    if (std::find(devices.begin(), devices.begin() + static_cast<int64_t>(i), devices[i]) !=
        devices.begin() + static_cast<int64_t>(i))
      return format("the device {} is there twice", str(devices[i]));
  }
  return "";
}

std::string wrong_memory(const Program& program, const Segment& f) {
  const bool on_host = program.is_graph() || f.batching != Batching::None;
  for (const Array& a : f.arrays) {
    const bool outer = a.kind == Array::Kind::Input || a.kind == Array::Kind::Output;
    if (on_host && outer && a.memory != host_memory) return "an input or output is not in the host's memory";
    if (a.kind == Array::Kind::View && a.memory != f.arrays[a.index].memory)
      return "a view and its base are in two memories";
    if (a.in_place && a.memory != f.arrays[f.inputs[a.in_place->input]].memory)
      return "an output has the storage of another memory";
  }
  for (uint32_t output : f.outputs)
    if (program.is_graph() && f.arrays[output].memory != host_memory) return "an output is not in the host's memory";
  for (const Step& step : f.steps) {
    if (step.kind == Step::Kind::Copy) continue;
    const bool conditional = step.kind == Step::Kind::KernelWhen;
    const bool is_kernel = step.calls_kernel();
    const MemorySpace memory = is_kernel ? f.device_of(step) : host_memory;
    for (uint32_t i = 0; i < step.args.count; ++i) {
      const bool is_condition = conditional && i + 1 == step.args.count;
      if (f.arrays[f.operands[step.args.begin + i]].memory != (is_condition ? host_memory : memory))
        return format("an array of `{}` is not in the memory of its device", name_of(program, f, step));
    }
  }
  return "";
}

}  // namespace relay::runtime
