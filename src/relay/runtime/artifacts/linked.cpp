#include "relay/runtime/artifacts/linked.h"

#include <algorithm>

#include "relay/base/bytes.h"
#include "relay/runtime/preparations.h"

namespace relay::runtime {

// Loads the kernels that run on devices, and copies the constants that are read there into their memories. Sets
// `on_host` for the kernels that the host runs.
static Status link_devices(LinkedProgram& linked, std::vector<bool>& on_host) {
  const Program& program = *linked.program;
  for (const DeviceName& name : program.devices) {
    RELAY_ASSIGN(const uint32_t number, device_number(name));
    linked.device_numbers.push_back(number);
  }
  if (program.devices.size() == 1) return ok();
  on_host.assign(program.kernels.size(), false);
  for (const Preparation& p : program.preparations) on_host[p.kernel] = true;
  linked.devices.resize(program.devices.size());
  for (const Segment& segment : program.segments) {
    for (const Step& step : segment.steps) {
      if (!step.calls_kernel()) continue;
      const MemorySpace at = segment.device_of(step);
      if (at == host_memory) {
        on_host[step.kernel] = true;
        continue;
      }
      linked.devices[at].kernels.resize(program.kernels.size());
      std::shared_ptr<const DeviceKernel>& kernel = linked.devices[at].kernels[step.kernel];
      if (kernel) continue;
      RELAY_ASSIGN(kernel, device(linked.device_numbers[at]).load(linked.library, program.kernels[step.kernel].name));
    }
    for (const Array& a : segment.arrays) {
      if (a.kind != Array::Kind::Constant || a.memory == host_memory) continue;
      DeviceBuffer& there = linked.devices[a.memory].constants[a.index];
      if (there) continue;
      const Tensor& value = program.constants[a.index];
      there = allocate_on(linked.device_numbers[a.memory], value.bytes());
      if (!there) {
        Diagnostic d{DiagnosticKind::out_of_memory,
                     format("no memory for {} of weights on {}", bytes_text(static_cast<int64_t>(value.bytes())),
                            str(program.devices[a.memory]))};
        const std::string limits = device(linked.device_numbers[a.memory]).limits();
        if (!limits.empty()) d.notes.push_back(limits);
        d.help = "place less work on that device";
        return d;
      }
      if (value.bytes() > 0)
        RELAY_RETURN_IF_ERROR(device(linked.device_numbers[a.memory]).upload(there.get(), value.data(), value.bytes()));
    }
  }
  return ok();
}

Result<LinkedProgram> link(std::shared_ptr<const Program> program, std::shared_ptr<const KernelLibrary> library,
                           Tier tier) {
  RELAY_ASSIGN(program, with_constants(std::move(program), library.get()));
  LinkedProgram linked;
  linked.program = program;
  linked.library = library;
  for (const Tensor& c : program->constants) linked.constant_bytes += static_cast<int64_t>(c.bytes());
  std::vector<bool> on_host(program->kernels.size(), true);
  RELAY_RETURN_IF_ERROR(link_devices(linked, on_host));
  RELAY_ASSIGN(linked.code, KernelCode::create(program, std::move(on_host), library, tier));
  for (const ExternalEntry& entry : program->externals) {
    RELAY_ASSIGN(std::shared_ptr<const External> loaded, load_external(entry, program->constants));
    linked.externals.push_back(std::move(loaded));
  }
  if (program->is_graph()) return linked;

  // The program is kept alive as long as a value uses its constants.
  for (const Tensor& c : program->constants)
    linked.constants.push_back(
        Value::constant(Tensor::view(const_cast<void*>(c.data()), c.shape(), c.dtype(), program)));
  for (const DataType& type : program->types) linked.types.push_back(intern_type(type));
  static std::atomic<uint64_t> next_function{0};
  uint64_t first = next_function.fetch_add(program->functions.size());
  if (first + program->functions.size() > UINT32_MAX)
    return Diagnostic{DiagnosticKind::limit_exceeded,       "this process has loaded too many programs", {}, {}, {},
                      "load each program once and share it"};
  linked.first_function = static_cast<uint32_t>(first);
  for (const Function& f : program->functions) {
    uint32_t& scratch = linked.scratch.emplace_back(0);
    std::vector<uint32_t>& site_of = linked.site_of.emplace_back(f.code.size());
    for (size_t at = 0; at < f.code.size(); ++at) {
      Op op = f.code[at].op;
      scratch = std::max(scratch, f.code[at].args.count + f.code[at].list.count);
      linked.uses_references |= op == Op::MakeReference || op == Op::ReadReference || op == Op::WriteReference;
      if (op != Op::RunSegment) continue;
      site_of[at] = static_cast<uint32_t>(linked.sites.size());
      linked.sites.push_back(f.code[at].index);
      std::vector<bool>& moves = linked.site_moves.emplace_back();
      for (uint32_t i = 0; i < f.code[at].args.count; ++i) moves.push_back(f.operands[f.code[at].args.begin + i].last);
    }
  }
  linked.native = library ? library->functions() : nullptr;
  if (linked.native) {
    if (linked.native->version != RELAY_NATIVE_VERSION)
      return Diagnostic{DiagnosticKind::incompatible_artifact,
                        format("the code of the functions is for version {} of the runtime's interface, and this is {}",
                               linked.native->version, RELAY_NATIVE_VERSION),
                        {},
                        {},
                        {},
                        "compile the model again with this version of Relay"};
    if (linked.native->count != program->functions.size())
      return Diagnostic{
          DiagnosticKind::corrupt_file, "the functions of the code do not match those of the program", {}, {}, {},
          "compile the model again"};
  }
  return linked;
}

Result<Plan> plan_within_limit(const LinkedProgram& linked, const Segment& segment, std::vector<int64_t> variables) {
  RELAY_ASSIGN(Plan made, plan(*linked.program, segment, std::move(variables)));
  if (linked.memory_limit == 0) return made;
  int64_t results = 0;
  for (size_t i = 0; i < segment.arrays.size(); ++i)
    if (segment.arrays[i].kind == Array::Kind::Output) results += made.bytes[i];
  int64_t all = linked.constant_bytes + made.arena_bytes + results;
  for (int64_t bytes : made.device_arena_bytes) all += bytes;
  if (all <= linked.memory_limit) return made;
  Diagnostic d{DiagnosticKind::out_of_memory, format("segment `{}` needs {} for these inputs, and the limit is {}",
                                                     segment.name, bytes_text(all), bytes_text(linked.memory_limit))};
  d.notes.push_back(format("weights {}, temporaries {} (at least {} with any plan), results {}",
                           bytes_text(linked.constant_bytes), bytes_text(made.arena_bytes),
                           bytes_text(made.lower_bound), bytes_text(results)));
  d.help = "use smaller inputs, such as a smaller batch; `relay inspect --memory` shows the lifetimes of arrays";
  return d;
}

}  // namespace relay::runtime
