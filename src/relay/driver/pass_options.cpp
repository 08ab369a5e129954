#include "relay/driver/pass_options.h"

#include "relay/lower/group/cost.h"
#include "relay/machine/rates.h"

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

std::string precision_note(const Options& options) {
  const TargetDesc& target = options.lower.target;
  if (options.passes.precision == Precision::ShortInputs && !machine::instruction_for_four_bits(target))
    return "the target does not add products of bytes: inputs are rounded, but products take as long as before";
  if (options.passes.precision != Precision::BFloat16 || target.blocks.threads > 0) return "";
  for (const machine::Registers registers : {machine::Registers::Tile, machine::Registers::Vector})
    if (machine::relative_rate(target, DType::bfloat16(), DType::bfloat16(), DType::float32(), registers) >
        lower::surely_more)
      return "";
  return "the target multiplies bfloat16 no faster than float32: kernels convert numbers and round results, which may "
         "take longer than float32; --precision auto only shortens weights";
}

std::map<std::string, ir::AttrValue> pass_options(const Options& options) {
  std::map<std::string, ir::AttrValue> out = pipeline_of(options.passes).options;
  const TargetDesc& target = options.lower.target;
  const double products =
      machine::products_per_cycle(machine::fastest_instruction(target, DType::int16(), DType::int16(), DType::int32()));
  const machine::Instruction* tiles =
      machine::fastest_instruction(target, DType::uint8(), DType::uint8(), DType::int32(), machine::Registers::Tile)
          .instruction;
  const bool on_tiles = tiles && !tiles->in_vectors;  // lower/rules/narrow/computed.cpp
  out["fake_quantization_to_integer.products"] =
      int64_t{on_tiles || products > lower::surely_more * target.fma_per_cycle};
  out["fake_quantization_to_integer.bytes"] = std::string(faster_bytes(target));
  out["fuse_ops.integer_blocks"] = int64_t{machine::instruction_for_four_bits(target) != nullptr};
  const machine::Instruction* short_tiles = machine::fastest_instruction(target, DType::bfloat16(), DType::bfloat16(),
                                                                         DType::float32(), machine::Registers::Tile)
                                                .instruction;
  const bool has_rows = options.passes.opt_level > 0 && short_tiles && !short_tiles->in_vectors;
  if (!has_rows) out["rows_of_pixels.most_channels"] = int64_t{0};
  return out;
}

}  // namespace relay::driver
