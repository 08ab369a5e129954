#include "relay/machine/instruction.h"

#include <algorithm>

#include "relay/base/text.h"

namespace relay::machine {

std::span<const Instruction> instructions() {
#define RELAY_INSTRUCTION(name, architecture, left, right, sum, products, least, most, features, intrinsic) \
  {name, architecture, DType::left(), DType::right(), DType::sum(), products, least, most, features, intrinsic},
#define RELAY_PRODUCT_INSTRUCTION(name, architecture, left, right, sum, products, bytes, features, intrinsic) \
  {name,  architecture, DType::left(), DType::right(), DType::sum(),      products,                           \
   bytes, bytes,        features,      intrinsic,      Registers::Vector, false},
#define RELAY_TILE_INSTRUCTION(name, architecture, left, right, sum, rows, steps, products, most, features, intrinsic) \
  {name, architecture, DType::left(), DType::right(),  DType::sum(), products, DType::sum().bytes(),                   \
   most, features,     intrinsic,     Registers::Tile, true,         rows,     steps},
#define RELAY_MATRIX_INSTRUCTION(name, architecture, left, right, sum, rows, columns, products, features, intrinsic) \
  {name,                                                                                                             \
   architecture,                                                                                                     \
   DType::left(),                                                                                                    \
   DType::right(),                                                                                                   \
   DType::sum(),                                                                                                     \
   products,                                                                                                         \
   DType::sum().bytes(),                                                                                             \
   columns * DType::sum().bytes(),                                                                                   \
   features,                                                                                                         \
   intrinsic,                                                                                                        \
   Registers::Tile,                                                                                                  \
   true,                                                                                                             \
   rows,                                                                                                             \
   1,                                                                                                                \
   true},
#define RELAY_SHORT_SUM_INSTRUCTION(name, architecture, left, right, sum, products, bytes, features, intrinsic) \
  {name,  architecture, DType::left(), DType::right(),    DType::sum(), products, bytes,                        \
   bytes, features,     intrinsic,     Registers::Vector, true,         1,        1,                            \
   false, true},
#define RELAY_C_INSTRUCTION(name, architecture, left, right, sum, products, features)  \
  {name,     architecture,         DType::left(),        DType::right(), DType::sum(), \
   products, DType::sum().bytes(), DType::sum().bytes(), features,       ""},
  static const Instruction all[] = {
#include "relay/machine/instructions.def"
  };
  return all;
}

std::span<const CopyInstruction> copy_instructions() {
#define RELAY_COPY_INSTRUCTION(name, architecture, bytes, features, intrinsic) \
  {name, architecture, bytes, features, intrinsic},
  static const CopyInstruction all[] = {
#include "relay/machine/instructions.def"
  };
  return all;
}

// The members of `all` that a machine with these features has.
template <class Any>
static std::vector<const Any*> available(std::span<const Any> all, const std::string& triple,
                                         const std::vector<std::string>& features) {
  std::vector<const Any*> found;
  for (const Any& i : all) {
    const std::vector<std::string_view> needed = split(i.features, ' ');
    if (starts_with(triple, i.architecture) && std::all_of(needed.begin(), needed.end(), [&](std::string_view f) {
          return std::find(features.begin(), features.end(), "+" + std::string(f)) != features.end();
        }))
      found.push_back(&i);
  }
  return found;
}

std::vector<const Instruction*> instructions_of(const std::string& triple, const std::vector<std::string>& features) {
  return available(instructions(), triple, features);
}

std::vector<const CopyInstruction*> copy_instructions_of(const std::string& triple,
                                                         const std::vector<std::string>& features) {
  return available(copy_instructions(), triple, features);
}

template <class Any>
static double rate_of(const TargetDesc& target, const Any& instruction) {
  for (const InstructionRate& rate : target.instructions)
    if (rate.name == instruction.name) return rate.per_cycle;
  return 0;
}

RatedCopy find_copy_instruction(const TargetDesc& target, int64_t bytes) {
  for (const CopyInstruction& i : copy_instructions())
    if (const double per_cycle = i.bytes == bytes ? rate_of(target, i) : 0; per_cycle > 0) return {&i, per_cycle};
  return {};
}

static bool multiplies(const Instruction& i, DType left, DType right, DType sum) {
  return i.left == left && i.right == right && i.sum == sum;
}

const Instruction* find_instruction(const TargetDesc& target, DType left, DType right, DType sum, int products,
                                    int bytes) {
  for (const Instruction& i : instructions())
    if (!i.on_tiles() && multiplies(i, left, right, sum) && i.products == products && i.least_bytes <= bytes &&
        bytes <= i.most_bytes && rate_of(target, i) > 0)
      return &i;
  return nullptr;
}

RatedInstruction fastest_instruction(const TargetDesc& target, DType left, DType right, DType sum,
                                     Registers registers) {
  RatedInstruction best;
  for (const Instruction& i : instructions()) {
    if (i.registers != registers || !multiplies(i, left, right, sum)) continue;
    if (!i.on_tiles() && i.most_bytes < target.vector_bytes) continue;
    const RatedInstruction other{&i, rate_of(target, i)};
    if (other.multiply_adds_per_cycle() > best.multiply_adds_per_cycle()) best = other;
  }
  return best;
}

const Instruction* instruction_for_four_bits(const TargetDesc& target) {
  constexpr int at_once = 4;
  for (const DType numbers : {DType::uint8(), DType::int8()}) {
    const Instruction* found = fastest_instruction(target, numbers, DType::int8(), DType::int32()).instruction;
    const bool has_lanes = found && found->most_bytes > found->sum.bytes();
    if (has_lanes && found->products == at_once && target.blocks.threads == 0) return found;
  }
  return nullptr;
}

bool has_tiles_in_vectors(const TargetDesc& target) {
  const std::span<const Instruction> all = instructions();
  return std::any_of(all.begin(), all.end(),
                     [&](const Instruction& i) { return i.in_vectors && rate_of(target, i) > 0; });
}

const Instruction* find_tile_instruction(const TargetDesc& target, DType left, DType right, DType sum, int products) {
  for (const Instruction& i : instructions())
    if (i.on_tiles() && multiplies(i, left, right, sum) && i.products == products && rate_of(target, i) > 0) return &i;
  return nullptr;
}

}  // namespace relay::machine
