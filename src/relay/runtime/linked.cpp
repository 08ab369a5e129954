#include "relay/runtime/linked.h"

#include <algorithm>
#include <cstring>

#include "relay/base/bytes.h"
#include "relay/runtime/segment_runner.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

static Status run_preparation(const Preparation& p, Program& program, KernelFn kernel) {
  const Tensor& wanted = program.constants[p.args[p.result]];
  // What the kernel leaves out is padding, which is zero.
  std::shared_ptr<const void> memory = zeroed_array(wanted.bytes());
  if (!memory)
    return Diagnostic{DiagnosticKind::out_of_memory,
                      format("there is no memory for a constant of {} bytes", wanted.bytes()),
                      {},
                      {},
                      {},
                      "free memory, or use a smaller model"};
  program.constants[p.args[p.result]] =
      Tensor::view(const_cast<void*>(memory.get()), wanted.shape(), wanted.dtype(), memory);
  std::vector<void*> params;
  for (uint32_t arg : p.args) params.push_back(const_cast<void*>(program.constants[arg].data()));
  std::atomic<bool> failed = false;
  ThreadPool::Session session(ThreadPool::global());
  call_kernel(session, kernel, params.data(), p.sizes.data(), p.tasks, program.kernels[p.kernel].scratch_bytes, 0,
              failed);
  if (failed) return out_of_scratch();
  return ok();
}

// Kernels may read constants at 64 bytes.
static void align(Tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data()) % 64 == 0) return;
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  drop_pages(t.data(), t.bytes());
  t = std::move(copy);
}

// The program with all of its constants as kernels read them. What only preparations read is let go.
static Result<std::shared_ptr<const Program>> with_constants(std::shared_ptr<const Program> given,
                                                             const KernelLibrary* library) {
  auto ready = [](const Tensor& t) { return !is_prepared(t) && reinterpret_cast<uintptr_t>(t.data()) % 64 == 0; };
  if (std::all_of(given->constants.begin(), given->constants.end(), ready)) return given;
  std::shared_ptr<Program> made = std::make_shared<Program>(*given);
  std::vector<size_t> last_read(made->constants.size(), SIZE_MAX);
  for (size_t i = 0; i < made->preparations.size(); ++i)
    for (uint32_t arg : made->preparations[i].args) last_read[arg] = i;
  for (const Segment& s : made->segments)
    for (const Array& a : s.arrays)
      if (a.kind == Array::Kind::Constant) last_read[a.index] = SIZE_MAX;
  for (const Function& f : made->functions)
    for (const Instruction& in : f.code)
      if (in.op == Op::Constant) last_read[in.index] = SIZE_MAX;
  for (size_t i = 0; i < made->preparations.size(); ++i) {
    const Preparation& p = made->preparations[i];
    KernelFn kernel = library ? library->find(made->kernels[p.kernel].name) : nullptr;
    if (kernel == nullptr)
      return Diagnostic{
          DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", made->kernels[p.kernel].name), {}, {}, {},
          "compile the model again"};
    for (uint32_t arg : p.args) align(made->constants[arg]);
    RELAY_RETURN_IF_ERROR(run_preparation(p, *made, kernel));
    for (uint32_t arg : p.args)
      if (last_read[arg] == i && arg != p.args[p.result]) {
        drop_pages(made->constants[arg].data(), made->constants[arg].bytes());
        made->constants[arg] = Tensor::empty({0}, made->constants[arg].dtype());
      }
  }
  for (Tensor& t : made->constants) align(t);
  made->preparations.clear();
  return std::shared_ptr<const Program>(std::move(made));
}

Result<LinkedProgram> link(std::shared_ptr<const Program> program, std::shared_ptr<const KernelLibrary> library) {
  RELAY_ASSIGN(program, with_constants(std::move(program), library.get()));
  LinkedProgram linked;
  linked.program = program;
  linked.library = library;
  for (const Tensor& c : program->constants) linked.constant_bytes += static_cast<int64_t>(c.bytes());
  for (const KernelEntry& kernel : program->kernels) {
    KernelFn fn = library ? library->find(kernel.name) : nullptr;
    if (fn == nullptr)
      return Diagnostic{DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", kernel.name), {}, {}, {},
                        "compile the model again"};
    linked.kernels.push_back(fn);
  }
  if (program->is_graph()) return linked;

  // The program is kept as long as a value lies in its constants.
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
      return Diagnostic{DiagnosticKind::corrupt_file, "the code has other functions than the program", {}, {}, {},
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
  if (all <= linked.memory_limit) return made;
  Diagnostic d{DiagnosticKind::out_of_memory, format("segment `{}` needs {} for these inputs, and the limit is {}",
                                                     segment.name, bytes_text(all), bytes_text(linked.memory_limit))};
  d.notes.push_back(format("weights {}, temporaries {} (at least {} whatever the plan), results {}",
                           bytes_text(linked.constant_bytes), bytes_text(made.arena_bytes),
                           bytes_text(made.lower_bound), bytes_text(results)));
  d.help = "smaller inputs, such as a smaller batch, need less; `relay inspect --memory` shows what lives when";
  return d;
}

}  // namespace relay::runtime
