#include "warp_products.h"

#include <array>
#include <cstring>

#include "mock/ptx_machine.h"
#include "relay/codegen/codegen.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/machine/instruction.h"

namespace relay {
namespace {

using machine::Instruction;

constexpr int steps = 3, columns = 29;

int rows_of(const Instruction& i) { return 2 * i.rows - 3; }
int terms_of(const Instruction& i) { return steps * i.steps * i.products; }

// Two warps with two by two tiles each, in loops as schedules make them. Rows and columns past the end are not stored.
std::string text_of(const Instruction& i) {
  std::string left, right;
  for (int p = 0; p < i.products; ++p) {
    left += format("left[m * {} + x, (k * {} + q) * {} + {}], ", i.rows, i.steps, i.products, p);
    right += format("{}right[w * 16 + n * 8 + y, (k * {} + q) * {} + {}]", p ? ", " : "", i.steps, i.products, p);
  }
  const std::string tiles = format(
                        "for m in 0..2 unrolled {{ for n in 0..2 unrolled {{ for x in 0..{} tile {{ for y in "
                        "0..8 tile {{",
                        i.rows),
                    sum = format("sum[m * {} + x, n * 8 + y]", i.rows);
  auto fill = [&](const char* to, const char* from, int rows) {
    return format(
        "for r in 0..{0} {{ for e in 0..{1} {{\n"
        "  let at = e * 64 + w * 32 + lane\n"
        "  if at < {2} {{ {3}[r, at] = {4}[r, at] }}\n}} }}\n",
        rows, (terms_of(i) + 63) / 64, terms_of(i), to, from);
  };
  const int pitch = terms_of(i) + 16 / i.left.bytes();
  return format("kernel products(a: {}[{}, {}] read, b: {}[{}, {}] read, c: {}[{}, {}]), shape (), task t < 1 {{\n",
                i.left.str(), rows_of(i), terms_of(i), i.right.str(), columns, terms_of(i), i.sum.str(), rows_of(i),
                columns) +
         format("alloc left: {}[{}, {}] in shared\nalloc right: {}[32, {}] in shared\n", i.left.str(), 2 * i.rows,
                pitch, i.right.str(), pitch) +
         "for w in 0..2 thread { for lane in 0..32 thread {\n" + fill("left", "a", rows_of(i)) +
         fill("right", "b", columns) + format("barrier\nalloc sum: {}[{}, 16] in tile\n", i.sum.str(), 2 * i.rows) +
         format("{} {} = 0{} }} }} }} }}\n", tiles, sum, i.sum.is_float() ? "f" : "i32") +
         format("for k in 0..{} {{\n{} for q in 0..{} tile {{ {} = {} + dot_{}({}{}) }} }} }} }} }}\n}}\n", steps,
                tiles, i.steps, sum, sum, i.sum.str(), left, right) +
         format(
             "{} if m * {} + x < {} {{ c[m * {} + x, w * 16 + n * 8 + y] = {} if w * 16 + n * 8 + y < {} }} }} }} "
             "}} }}\n",
             tiles, i.rows, rows_of(i), i.rows, sum, columns) +
         "} } }\n";
}

// The same with both factors copied asynchronously, a step ahead: `bytes` at once, into two places each.
std::string text_of_copies(const Instruction& i, int bytes) {
  std::string text = text_of(i);
  const int numbers = bytes / i.left.bytes(), groups = i.steps * i.products / numbers,
            pitch = i.steps * i.products + 16;
  const size_t begin = text.find("alloc left"), end = text.find("for m in 0..2 unrolled");
  auto copies = [&](const char* to, const char* from, int rows, const char* step) {
    return format(
        "for e in 0..{0} {{\n  let at = e * 64 + w * 32 + lane\n"
        "  if at // {1} < {2} {{ async {3} {4}[{5} % 2, at // {1}, at % {1} * {3}] = {6}[at // {1}, {5} * {7} + at % "
        "{1} "
        "* {3}] }}\n}}\n",
        (rows * groups + 63) / 64, groups, rows, numbers, to, step, from, i.steps * i.products);
  };
  auto both = [&](const char* step) {
    return copies("left", "a", rows_of(i), step) + copies("right", "b", columns, step) + "commit\n";
  };
  const std::string head = format("alloc left: {}[2, {}, {}] in shared\nalloc right: {}[2, 32, {}] in shared\n",
                                  i.left.str(), 2 * i.rows, pitch, i.right.str(), pitch) +
                           "for w in 0..2 thread { for lane in 0..32 thread {\nfor first in 0..1 {\n" + both("first") +
                           format("}}\nalloc sum: {}[{}, 16] in tile\n", i.sum.str(), 2 * i.rows);
  text.replace(begin, end - begin, head);
  auto replace_all = [&](const std::string& what, const std::string& with) {
    for (size_t at = text.find(what); at != text.npos; at = text.find(what, at + with.size()))
      text.replace(at, what.size(), with);
  };
  for (const char* factor : {"left", "right"}) replace_all(format("{}[m", factor), format("{}[k % 2, m", factor));
  replace_all("right[w", "right[k % 2, w");
  replace_all(format("(k * {} + q) * {}", i.steps, i.products), format("q * {}", i.products));
  const std::string loop = format("for k in 0..{} {{\n", steps);
  text.replace(text.find(loop), loop.size(),
               loop + format("wait 0\nbarrier\nif k < {} {{ let next = k + 1\n{} }}\nlet place = k % 2\n", steps - 1,
                             both("next")));
  replace_all("[k % 2, ", "[place, ");
  return text;
}

// Integers of the whole range; halves from -2 to 2 for floats.
std::vector<uint8_t> numbers(DType type, int count, uint64_t seed) {
  std::vector<uint8_t> out;
  for (int i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    const uint64_t any = seed >> 33;
    uint64_t bits = any & 255;
    if (type.is_float()) {
      constexpr std::array<uint16_t, 5> of_float16{0, 0x3800, 0x3c00, 0x3e00, 0x4000},
          of_bfloat16{0, 0x3f00, 0x3f80, 0x3fc0, 0x4000};
      bits = (type == DType::float16() ? of_float16 : of_bfloat16)[any % 5] | (any >> 8 & 1) << 15;
    }
    for (int b = 0; b < type.bytes(); ++b) out.push_back(static_cast<uint8_t>(bits >> (8 * b)));
  }
  return out;
}

std::string check(const Instruction& i, const std::string& loops, const char* needed) {
  const Result<loop::Kernel> kernel = loop::parse_kernel(loops);
  if (!kernel) return render(kernel.errors()) + loops;
  if (const Diagnostics wrong = loop::verify(*kernel); !wrong.empty()) return render(wrong);
  TargetDesc target = codegen::ptx_target(i.features);
  target.instructions = {{i.name, 1}};
  for (const machine::CopyInstruction& copy : machine::copy_instructions())
    target.instructions.push_back({copy.name, 1});
  if (const Status fits = codegen::check_async_copies(*kernel, target); !fits) return render(fits.errors());
  if (const Status fits = codegen::check_warp_tiles(*kernel, target); !fits) return render(fits.errors());
  const Result<std::string> text = codegen::ptx_text({&*kernel, 1}, target);
  if (!text) return render(text.errors());
  for (const char* instruction : {"\tmma.sync", needed})
    if (text->find(instruction) == text->npos) return format("there is no{} in\n{}", instruction, *text);

  std::vector<std::vector<uint8_t>> want{numbers(i.left, rows_of(i) * terms_of(i), 1),
                                         numbers(i.right, columns * terms_of(i), 2),
                                         std::vector<uint8_t>(static_cast<size_t>(rows_of(i) * columns * 4))};
  std::vector<std::vector<uint8_t>> got = want;
  std::vector<void*> params;
  std::vector<int64_t> sizes;
  for (std::vector<uint8_t>& a : want) params.push_back(a.data()), sizes.push_back(std::ssize(a));
  const Status meant = loop::interpret(*kernel, params, sizes, {}, 0, 1);
  if (!meant) return render(meant.errors());
  try {
    constexpr uint64_t spacing = uint64_t{1} << 32;  // of the arrays' addresses
    const mock::PtxModule module(*text);
    const std::array<uint64_t, 6> arguments{spacing, 2 * spacing, 3 * spacing, 1, 0, 0};
    std::vector<uint8_t> bytes(sizeof arguments);
    std::memcpy(bytes.data(), arguments.data(), bytes.size());
    module.run(*module.find("kernel_products"), bytes, {1, 64}, [&](uint64_t address, size_t size) -> void* {
      const uint64_t which = address / spacing, offset = address % spacing;
      if (which == 0 || which > got.size() || offset + size > got[which - 1].size()) return nullptr;
      return got[which - 1].data() + offset;
    });
  } catch (const mock::PtxError& e) {
    return e.what() + ("\n" + *text);
  }
  return got == want ? "" : "the results differ";
}

}  // namespace

std::string check_warp_products(int& count) {
  for (const Instruction& i : machine::instructions()) {
    if (std::string_view(i.architecture) != "nvptx64") continue;
    if (const std::string problem = check(i, text_of(i), "\tmma.sync"); !problem.empty())
      return format("{}: {}", i.name, problem);
    ++count;
    if (std::string_view(i.features) == "sm_75") continue;
    for (const auto& [bytes, copy] : {std::pair{16, "\tcp.async.cg.shared.global"},
                                      {8, "\tcp.async.ca.shared.global"},
                                      {4, "\tcp.async.ca.shared.global"}}) {
      if (const std::string problem = check(i, text_of_copies(i, bytes), copy); !problem.empty())
        return format("{} with copies of {} bytes: {}", i.name, bytes, problem);
      ++count;
    }
  }
  return "";
}

}  // namespace relay
