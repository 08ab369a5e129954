#include "relay/c_project/graph_writer.h"
#include "relay/c_project/order.h"
#include "relay/c_project/program_writer.h"

namespace relay::c_project {

static Result<Project> write_graph(const runtime::Program& graph, std::span<const loop::Kernel> kernels,
                                   const Recording& recording, const Options& options) {
  GraphWriter writer(graph, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(writer.write_kernels());
  if (options.memory_limit == 0 || writer.memory().workspace_bytes <= options.memory_limit) return writer.write_files();
  const runtime::Program ordered = in_order_of_least_peak(graph, writer.memory(), kernels, writer.scratch_bytes());
  GraphWriter retry(ordered, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(retry.write_kernels());
  if (retry.memory().workspace_bytes <= options.memory_limit) return retry.write_files();
  const bool is_better = retry.memory().workspace_bytes < writer.memory().workspace_bytes;
  const GraphWriter& best = is_better ? retry : writer;
  return over_limit(is_better ? ordered : graph, best.memory(), best.scratch_bytes(), options.memory_limit);
}

Result<Project> write(const runtime::Program& program, std::span<const loop::Kernel> kernels,
                      const Recording& recording, const Options& options) {
  if (program.is_graph()) return write_graph(program, kernels, recording, options);
  ProgramWriter writer(program, kernels, recording, options);
  RELAY_RETURN_IF_ERROR(writer.write_kernels());
  RELAY_ASSIGN(Project project, writer.write_files());
  RELAY_RETURN_IF_ERROR(writer.check_limits());
  return project;
}

}  // namespace relay::c_project
