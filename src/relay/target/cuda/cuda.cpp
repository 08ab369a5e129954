#include "relay/target/cuda/cuda.h"

#include <algorithm>

#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/machine/instruction.h"
#include "relay/runtime/devices/cuda/cuda.h"

namespace relay::target {

// Figures of NVIDIA's data sheets and of the tables of the programming guide, for the T4, the A100 and the H100; not
// measured.
namespace {
struct Card {
  const char* processor;
  GpuFigures gpu;
  int64_t l2;  // KiB
  double ghz;
};
}  // namespace
static const Card cards[] = {
    {"sm_75", {40, 32, 1024, 1024, 16, 255, 64 << 10, 64 << 10, 64 << 10, 320}, 4 << 10, 1.59},
    {"sm_80", {108, 32, 1024, 2048, 32, 255, 64 << 10, 163 << 10, 164 << 10, 1555}, 40 << 10, 1.41},
    {"sm_90a", {132, 32, 1024, 2048, 32, 255, 64 << 10, 227 << 10, 228 << 10, 3350}, 50 << 10, 1.98},
};

// Schedules are those of a processor without vectors, because each thread computes scalars.
static TargetDesc described(const Card& card) {
  TargetDesc d = codegen::ptx_target(card.processor);
  d.l1_bytes = 16 << 10, d.l2_bytes = 64 << 10, d.l3_bytes = card.l2 << 10;
  d.fma_per_cycle = 1, d.ghz = card.ghz;
  d.dram_gbps = card.gpu.memory_gbps / card.gpu.multiprocessors;
  d.cores = card.gpu.multiprocessors;
  // The instructions with the largest tiles. A100 and T4: 1024 and 512 multiply-adds of float16 in a cycle, twice as
  // many of bytes. The H100 reaches about 60 % of its 2048 by these instructions.
  const std::string_view processor = card.processor;
  for (const machine::Instruction* i : machine::instructions_of(d.triple, {processor == "sm_75" ? "+sm_75" : "+sm_80"}))
    d.instructions.push_back({i->name, processor == "sm_75" && i->left.bytes() == 1 ? 1
                                       : processor == "sm_90a"                      ? 0.6
                                                                                    : 0.5});
  // The unit that loads and stores takes 128 bytes in a cycle.
  constexpr double bytes_per_cycle = 128;
  if (processor != "sm_75")
    for (const machine::CopyInstruction* i : machine::copy_instructions_of(d.triple, {"+sm_80"}))
      d.instructions.push_back({i->name, bytes_per_cycle / (i->bytes * card.gpu.warp)});
  // Without asking for more, a block has 48 KiB.
  constexpr int64_t most_static = 48 << 10;
  d.blocks = {card.gpu.warp, card.gpu.block_threads, card.gpu.threads, card.gpu.registers,
              most_static,   card.gpu.shared};
  return d;
}

const GpuFigures* gpu_figures(const TargetDesc& target) {
  for (const Card& card : cards)
    if (target.cpu == card.processor) return &card.gpu;
  return nullptr;
}

static std::vector<std::string> processors() {
  std::vector<std::string> names{"cuda"};
  for (const Card& card : cards) names.push_back(card.processor);
  return names;
}

static Result<TargetDesc> describe(std::string_view text) {
  std::string name(trim(text));
  if (name == "cuda") {
    RELAY_ASSIGN(const runtime::CudaInfo gpu, runtime::find_cuda_device());
    name = runtime::cuda_processor(gpu);
  }
  for (const Card& card : cards)
    if (name == card.processor) return described(card);
  return Diagnostic{DiagnosticKind::unknown_target,
                    format("no CUDA processor is named '{}'", name),
                    {},
                    {},
                    {format("known: {}", join(processors(), ", "))},
                    "give cuda for the GPU of this machine, or one of these, as in cuda:sm_80"};
}

codegen::TargetDef cuda() { return {"cuda", processors, describe}; }

Occupancy occupancy(const GpuFigures& gpu, int threads, int registers, int64_t shared) {
  auto up = [](int64_t n, int64_t to) { return (n + to - 1) / to * to; };
  const int64_t warps = up(threads, gpu.warp) / gpu.warp;
  // Registers are given to warps in pieces of 256, shared memory to blocks in pieces of 128 bytes.
  const int64_t warp_registers = up(int64_t{std::max(registers, 1)} * gpu.warp, 256);
  int64_t blocks = std::min<int64_t>(gpu.blocks, gpu.threads / (warps * gpu.warp));
  blocks = std::min(blocks, gpu.registers / warp_registers / warps);
  if (shared > 0) blocks = std::min(blocks, gpu.shared / (up(shared, 128) + 1024));  // 1 KiB is the driver's
  return {static_cast<int>(blocks), static_cast<double>(blocks * warps * gpu.warp) / gpu.threads};
}

}  // namespace relay::target
