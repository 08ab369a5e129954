#include "relay/driver/pass_options.h"

#include <algorithm>
#include <array>

#include "relay/lower/group/cost.h"
#include "relay/machine/instruction.h"

namespace relay::driver {

// The type of bytes that is multiplied faster by weights of int8.
static const char* faster_bytes(const TargetDesc& target) {
  for (const machine::Registers registers : {machine::Registers::Tile, machine::Registers::Vector}) {
    auto rate = [&](DType data) {
      return machine::fastest_instruction(target, data, DType::int8(), DType::int32(), registers)
          .multiply_adds_per_cycle();
    };
    if (rate(DType::uint8()) > rate(DType::int8())) return "uint8";
    if (rate(DType::int8()) > rate(DType::uint8())) return "int8";
  }
  return "either";
}

// True if the target adds products of four bytes, as lower/rules/narrow/block_dots.cpp needs.
static bool adds_products_of_bytes(const TargetDesc& target) {
  return target.blocks.threads == 0 &&
         std::ranges::any_of(std::array{DType::uint8(), DType::int8()}, [&](DType weight) {
           const machine::Instruction* found =
               machine::fastest_instruction(target, weight, DType::int8(), DType::int32()).instruction;
           return found && found->products == 4;
         });
}

std::string precision_note(const Options& options) {
  const TargetDesc& target = options.lower.target;
  if (options.passes.precision == Precision::ShortInputs && !adds_products_of_bytes(target))
    return "the target does not add products of bytes: inputs are rounded, but products take as long as before";
  if (options.passes.precision != Precision::BFloat16 || target.blocks.threads > 0) return "";
  const double floats = target.fma_per_cycle * static_cast<double>(lower::float_lanes(target));
  for (const machine::Registers registers : {machine::Registers::Tile, machine::Registers::Vector})
    if (machine::fastest_instruction(target, DType::bfloat16(), DType::bfloat16(), DType::float32(), registers)
            .multiply_adds_per_cycle() > lower::surely_more * floats)
      return "";
  return "the target multiplies bfloat16 no faster than float32: kernels convert numbers and round results, which may "
         "take longer than float32; --precision auto only shortens weights";
}

std::map<std::string, ir::AttrValue> pass_options(const Options& options) {
  std::map<std::string, ir::AttrValue> out = pipeline_of(options.passes).options;
  const TargetDesc& target = options.lower.target;
  const machine::RatedInstruction pairs =
      machine::fastest_instruction(target, DType::int16(), DType::int16(), DType::int32());
  const double products = pairs.instruction ? pairs.instruction->products * pairs.per_cycle : 0;
  const machine::Instruction* tiles =
      machine::fastest_instruction(target, DType::uint8(), DType::uint8(), DType::int32(), machine::Registers::Tile)
          .instruction;
  const bool on_tiles = tiles && !tiles->in_vectors;  // lower/rules/narrow/computed.cpp
  out["fake_quantization_to_integer.products"] =
      int64_t{on_tiles || products > lower::surely_more * target.fma_per_cycle};
  out["fake_quantization_to_integer.bytes"] = std::string(faster_bytes(target));
  out["fuse_ops.integer_blocks"] = int64_t{adds_products_of_bytes(target)};
  const machine::Instruction* short_tiles = machine::fastest_instruction(target, DType::bfloat16(), DType::bfloat16(),
                                                                         DType::float32(), machine::Registers::Tile)
                                                .instruction;
  const bool has_rows = options.passes.opt_level > 0 && short_tiles && !short_tiles->in_vectors;
  if (!has_rows) out["rows_of_pixels.most_channels"] = int64_t{0};
  return out;
}

}  // namespace relay::driver
