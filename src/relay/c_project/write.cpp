#include "relay/c_project/graph_writer.h"
#include "relay/c_project/order.h"
#include "relay/c_project/program_writer.h"

namespace relay::c_project {

// The memory that takes what fits nowhere else.
static int64_t last_limit(const Options& options) {
  return options.more_memories.empty() ? options.memory_limit : options.more_memories.back().bytes;
}
static int64_t last_bytes(const Memory& memory) {
  return memory.more_bytes.empty() ? memory.workspace_bytes : memory.more_bytes.back();
}

static Diagnostic over_last_limit(const Options& options, const runtime::Program& graph, const Memory& memory) {
  const MemoryLimit& last = options.more_memories.back();
  Diagnostic d{DiagnosticKind::out_of_memory,
               format("the arrays that fit in no other memory need {} bytes of {}, but the limit is {}",
                      last_bytes(memory), last.name, last.bytes)};
  add_peak(graph, memory, static_cast<uint32_t>(options.more_memories.size()), d);
  d.help = "give a memory more bytes with --memory, smaller inputs, or a network whose layers have fewer channels";
  return d;
}

static Status check_constants(const Options& options, const Project& project) {
  if (!options.read_only || project.sizes.constants <= options.read_only->bytes) return ok();
  return Diagnostic{DiagnosticKind::out_of_memory,
                    format("the constants need {} bytes of {}, but the limit is {}", project.sizes.constants,
                           options.read_only->name, options.read_only->bytes),
                    {},
                    {},
                    {},
                    "give a larger --memory, or quantise the network (relay quantise)"};
}

static Result<Project> write_graph(const runtime::Program& graph, std::span<const loop::Kernel> kernels,
                                   const Recording& recording, const Options& options) {
  GraphWriter writer(graph, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(writer.write_kernels());
  const int64_t limit = last_limit(options);
  if (limit == 0 || last_bytes(writer.memory()) <= limit) return writer.write_files();
  const runtime::Program ordered = in_order_of_least_peak(graph, writer.memory(), kernels, writer.scratch_bytes());
  GraphWriter retry(ordered, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(retry.write_kernels());
  if (last_bytes(retry.memory()) <= limit) return retry.write_files();
  const bool is_better = last_bytes(retry.memory()) < last_bytes(writer.memory());
  const runtime::Program& best = is_better ? ordered : graph;
  const Memory& memory = is_better ? retry.memory() : writer.memory();
  if (!options.more_memories.empty()) return over_last_limit(options, best, memory);
  return over_limit(best, memory, options.memory_limit);
}

Result<Project> write(const runtime::Program& program, std::span<const loop::Kernel> kernels,
                      const Recording& recording, const Options& options) {
  if (program.is_graph()) {
    RELAY_ASSIGN(Project project, write_graph(program, kernels, recording, options));
    RELAY_RETURN_IF_ERROR(check_constants(options, project));
    return project;
  }
  ProgramWriter writer(program, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(writer.write_kernels());
  RELAY_ASSIGN(Project project, writer.write_files());
  RELAY_RETURN_IF_ERROR(writer.check_limits());
  RELAY_RETURN_IF_ERROR(check_constants(options, project));
  return project;
}

}  // namespace relay::c_project
