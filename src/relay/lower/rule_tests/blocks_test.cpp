// Schedules for devices with blocks of threads: loops that blocks and threads run, shared arrays, and the rule for
// contractions. The interpreter runs the kernels, and reports races.
#include "relay/loop/blocks.h"

#include <gtest/gtest.h>

#include "relay/loop/tiles.h"
#include "relay/loop/warp_tiles.h"
#include "relay/lower/nest/nest.h"
#include "relay/lower/rules/rules.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/instruction.h"

namespace relay::lower {
namespace {

using scalar::imm;

TargetDesc gpu(int threads = 256, int64_t shared = 48 << 10) {
  TargetDesc t;
  t.name = "gpu", t.vector_bytes = 4, t.vector_registers = 32, t.has_fma = true, t.fma_per_cycle = 1, t.cores = 8;
  t.blocks = {32, threads, 2048, 64 << 10, shared, 100 << 10};
  return t;
}

// A GPU whose warps multiply tiles.
TargetDesc gpu_with_tiles(const char* generation = "+sm_80") {
  TargetDesc t = gpu();
  for (const machine::CopyInstruction* i : machine::copy_instructions_of("nvptx64", {generation}))
    t.instructions.push_back({i->name, 0.25});
  for (const machine::Instruction* i : machine::instructions_of("nvptx64", {generation}))
    t.instructions.push_back({i->name, 0.5});
  return t;
}

// A group, with the values of its inputs.
struct Program {
  te::Tensors outputs;
  std::vector<std::pair<Expr, int64_t>> symbols{};
};

Shape concrete(const Exprs& shape, const Program& p) {
  Shape out;
  for (const Expr& e : shape) out.push_back(scalar::evaluate(e, p.symbols).value());
  return out;
}

std::vector<std::pair<te::Tensor, Tensor>> inputs_of(const te::Tensors& stages, const Program& p) {
  std::vector<std::pair<te::Tensor, Tensor>> values;
  for (const te::Tensor& t : stages) {
    if (!t->is_placeholder()) continue;
    Tensor v = Tensor::empty(concrete(t->shape, p), t->dtype);
    for (int64_t i = 0; i < v.elements(); ++i) v.set(i, static_cast<double>(i * 7 % 5 - 2));
    values.emplace_back(t, v);
  }
  return values;
}

// The outputs of a draft's kernels, interpreted; a diagnostic if the nest refuses the schedule, or the interpreter finds
// a fault.
Result<std::vector<Tensor>> results_of(const ScheduleDraft& draft, const Program& p, Mutation planted) {
  const te::Tensors stages = draft.stages();
  RELAY_ASSIGN(const std::vector<BuiltKernel> kernels,
               build_kernels(stages, draft.schedule, draft.layouts, *draft.target, "k", planted));
  std::map<std::string, Tensor> arrays;
  for (const auto& [t, value] : inputs_of(stages, p)) arrays[t->name] = pack(value, draft.layouts.at(t->name));
  for (const BuiltKernel& k : kernels) {
    std::vector<void*> params;
    std::vector<int64_t> bytes, sizes;
    for (const te::Tensor& t : k.params) {
      Tensor& a = arrays[t->name];
      if (!a.data()) a = Tensor::empty(concrete(draft.layouts.at(t->name).physical_shape(t->shape), p), t->dtype);
      params.push_back(a.mutable_data()), bytes.push_back(static_cast<int64_t>(a.bytes()));
    }
    for (const Expr& v : k.kernel.shape_vars) sizes.push_back(scalar::evaluate(v, p.symbols).value());
    const int64_t tasks = scalar::evaluate(k.kernel.tasks, p.symbols).value();
    loop::Kernel run = k.kernel;
    if (loop::has_warp_tiles(run)) {  // as code generation sees it
      Result<loop::Kernel> tiles = loop::with_operand_tiles(loop::unroll(run));
      if (!tiles) return tiles.errors();
      run = *std::move(tiles);
    }
    RELAY_RETURN_IF_ERROR(loop::interpret(run, params, bytes, sizes, 0, tasks));
  }
  std::vector<Tensor> out;
  for (const te::Tensor& t : draft.outputs())
    out.push_back(unpack(arrays.at(t->name), draft.layouts.at(t->name), concrete(t->shape, p)));
  return out;
}

ScheduleDraft empty_draft(const Program& p, const TargetDesc& target) {
  ScheduleDraft draft;
  draft.target = &target, draft.set_outputs(p.outputs);
  for (const te::Tensor& t : draft.stages())
    if (t->is_placeholder()) draft.layouts[t->name] = Layout::row_major(static_cast<int>(t->shape.size()));
  return draft;
}

// Compares with plain loops. Returns the first problem, or "".
std::string problem_of(const ScheduleDraft& draft, const Program& p, Mutation planted = Mutation::None) {
  const TargetDesc host;
  ScheduleDraft plain = empty_draft(p, host);
  schedule_plainly(plain);
  const Result<std::vector<Tensor>> expected = results_of(plain, p, Mutation::None),
                                    got = results_of(draft, p, planted);
  RELAY_CHECK(expected, "{}", render(expected.errors()));
  if (!got) return got.errors()[0].message;
  for (size_t o = 0; o < got->size(); ++o)
    for (int64_t i = 0; i < (*got)[o].elements(); ++i)
      if ((*got)[o].at(i) != (*expected)[o].at(i))
        return format("element {} is {}, not {}", i, (*got)[o].at(i), (*expected)[o].at(i));
  return "";
}

// relu(x[m, k] * w[n, k] + bias[n])
Program dense(Expr m, Expr n, Expr k) {
  const DType f32 = DType::float32();
  te::Tensor x = te::placeholder("x", {m, k}, f32), w = te::placeholder("w", {n, k}, f32),
             bias = te::placeholder("bias", {n}, f32);
  te::Tensor sum = te::reduce("dense", {m, n}, {k}, te::Combiner::Sum,
                              [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], r[0]}) * (*w)({i[1], r[0]}); });
  return {{te::compute("out", sum->shape,
                       [&](const Exprs& i) { return scalar::max((*sum)(i) + (*bias)({i[1]}), scalar::fimm(0)); })}};
}

ScheduleDraft drafted(const Program& p, const TargetDesc& target, const std::string& schedule) {
  ScheduleDraft draft = empty_draft(p, target);
  if (schedule.empty()) {
    apply_rules(draft);
  } else {
    Result<Schedule> read = parse_schedule(schedule, draft.stages());
    EXPECT_TRUE(read) << render(read.errors());
    if (read) draft.schedule = *read;
    EXPECT_EQ(str(draft.schedule, draft.stages()), schedule);
    give_roots_layouts(draft);
  }
  return draft;
}

// The transposed rows of a matrix, by way of shared memory: both sides of the copy are along rows.
Program transposed(Expr m, Expr n) {
  te::Tensor x = te::placeholder("x", {m, n}, DType::float32());
  te::Tensor copy = te::compute("copy", {m, n}, [&](const Exprs& i) { return (*x)(i); });
  return {{te::compute("out", {n, m}, [&](const Exprs& i) { return (*copy)({i[1], i[0]}); })}};
}

const char* const tiles = R"(rule by hand
stage out: root
  loops i0/4:block i1/8:block i0/2:thread i1/4:thread i0/1:unroll i1/1:unroll
stage copy: at out.4 shared
  loops i0/1:thread i1/1:thread
)";

TEST(BlockSchedules, SharedCopyIsFilledByAllThreads) {
  const TargetDesc target = gpu();
  const Program p = transposed(imm(16), imm(8));
  const ScheduleDraft draft = drafted(p, target, tiles);
  EXPECT_EQ(problem_of(draft, p), "");
  Result<std::vector<BuiltKernel>> kernels = build_kernels(draft.stages(), draft.schedule, draft.layouts, target, "k");
  ASSERT_TRUE(kernels) << render(kernels.errors());
  EXPECT_EQ(loop::str(loop::simplify((*kernels)[0].kernel)),
            R"(kernel k(x: float32[16, 8] read, out: float32[8, 16]), shape (), task task_1 < 1 {
  for i0_block in 0..2 block {
    for i1_block in 0..2 block {
      for i0_thread in 0..2 thread {
        for i1_thread in 0..2 thread {
          alloc copy: float32[8, 4] in shared
          for copy_turn in 0..8 {
            let copy_element = copy_turn * 4 + i0_thread * 2 + i1_thread
            let i0 = copy_element // 4
            let i1 = copy_element % 4
            copy[i0, i1] = x[i0 + i1_block * 8, i0_block * 4 + i1]
          }
          barrier
          for i01 in 0..2 unrolled {
            for i11 in 0..4 unrolled {
              out[i01 + i0_block * 4 + i0_thread * 2, i11 + i1_block * 8 + i1_thread * 4] = copy[i11 + i1_thread * 4, i01 + i0_thread * 2]
            }
          }
        }
      }
    }
  }
}
)");
}

TEST(BlockSchedules, TailsAreNeitherReadNorStored) {
  const TargetDesc target = gpu();
  for (const auto& [m, n] : {std::pair<int, int>{16, 8}, {17, 9}, {3, 1}, {1, 13}}) {
    SCOPED_TRACE(format("{} x {}", m, n));
    Program p = transposed(imm(m), imm(n));
    EXPECT_EQ(problem_of(drafted(p, target, tiles), p), "");
    const Expr rows = scalar::var("m"), columns = scalar::var("n");
    p = transposed(rows, columns);
    p.symbols = {{rows, m}, {columns, n}};
    EXPECT_EQ(problem_of(drafted(p, target, tiles), p), "");
  }
}

// Places between loops over threads, serial loops in front of them, and neighbouring elements for neighbouring threads.
TEST(BlockSchedules, OtherOrdersOfLoops) {
  const TargetDesc target = gpu();
  const Program p = transposed(imm(15), imm(21));
  for (const char* loops : {"i0/4:block i1/8:block i0/2 i1/4:thread i0/1:unroll i1/1:unroll",
                            "i0/8:block i0/4 i0/1:thread i1/4 i1/1:thread", "i1/2:block i0/4 i0/2:thread i1/1 i0/1"})
    for (int level : {2, 3, 4}) {
      const std::string text =
          format("rule by hand\nstage out: root\n  loops {}\nstage copy: at out.{} shared\n  loops i1/1:thread i0/1\n",
                 loops, level);
      EXPECT_EQ(problem_of(drafted(p, target, text), p), "") << text;
    }
}

// While a step of four rows is stored, the next ones are copied.
TEST(BlockSchedules, AsyncCopiesOfTheNextSteps) {
  const TargetDesc target = gpu_with_tiles();
  const Program p = transposed(imm(24), imm(16));
  for (int stages : {2, 3, 4})
    for (const char* fill : {"i0/1:thread i1/4:thread", "i0/1:thread", "i0/1:thread i1/2:thread"}) {
      const std::string text = format(
          "rule by hand\nstage out: root\n  loops i0/4:block i1/4 i0/2:thread i1/2:thread i0/1:unroll i1/1:unroll\n"
          "stage copy: at out.2 shared\n  loops {} i1/{}:async\n",
          fill, stages);
      const ScheduleDraft draft = drafted(p, target, text);
      EXPECT_EQ(problem_of(draft, p), "") << text;
      EXPECT_NE(problem_of(draft, p, Mutation::LoseWait).find("waits for `async"), std::string::npos) << text;
      EXPECT_NE(problem_of(draft, p, Mutation::LoseBarrier), "") << text;
    }
}

TEST(BlockSchedules, RefusalsOfAsyncCopies) {
  const Program p = transposed(imm(24), imm(16));
  auto refused = [&](const TargetDesc& target, const std::string& loops, const std::string& fill) {
    return problem_of(drafted(p, target,
                              format("rule by hand\nstage out: root\n  loops {} i0/2:thread i1/2:thread "
                                     "i0/1:unroll i1/1:unroll\nstage copy: at out.2 shared\n  loops {}\n",
                                     loops, fill)),
                      p);
  };
  const char *loops = "i0/4:block i1/4", *fill = "i0/1:thread i1/4:thread i1/2:async";
  EXPECT_EQ(refused(gpu_with_tiles(), loops, fill), "");
  EXPECT_EQ(refused(gpu(), loops, fill),
            "stage 'copy' is copied asynchronously, 16 bytes at once, and gpu has no instruction for that");
  EXPECT_EQ(refused(gpu_with_tiles(), loops, "i1/1:thread i0/4:thread i0/2:async"),
            "stage 'copy' is copied asynchronously, and 16 bytes of it are not known to be aligned neighbours of one "
            "array");
  EXPECT_EQ(refused(gpu_with_tiles(), loops, "i0/1:thread i1/4:thread i1/7:async"),
            "stage 'copy' holds 7 steps of loop i1/4 of 'out', whose extent is 24");
}

// Without the barriers of the nest, the interpreter finds the race.
TEST(BlockSchedules, LostBarrierIsFound) {
  const TargetDesc target = gpu();
  const Program p = transposed(imm(16), imm(8));
  const std::string problem = problem_of(drafted(p, target, tiles), p, Mutation::LoseBarrier);
  EXPECT_NE(problem.find("touch copy["), problem.npos) << problem;
  EXPECT_NE(problem.find("without a barrier between them"), problem.npos) << problem;
}

TEST(BlockSchedules, Refusals) {
  const Program p = transposed(imm(16), imm(8));
  auto refused = [&](const TargetDesc& target, const std::string& what, const std::string& with) {
    std::string text = tiles;
    const size_t at = text.find(what);
    RELAY_CHECK(at != text.npos, "{}", what);
    return problem_of(drafted(p, target, text.replace(at, what.size(), with)), p);
  };
  const TargetDesc target = gpu();
  EXPECT_EQ(refused(TargetDesc{}, "4", "4"),
            "stage 'out' has loops over blocks or threads, and the target generic has none");
  EXPECT_EQ(refused(gpu(2), "4", "4"),
            "a block of stage 'out' has 4 threads and 128 bytes of shared memory; gpu allows 2 and 49152");
  EXPECT_EQ(refused(gpu(256, 64), "4", "4"),
            "a block of stage 'out' has 4 threads and 128 bytes of shared memory; gpu allows 256 and 64");
  EXPECT_EQ(refused(target, "i0/2:thread", "i0/3:thread"),
            "loop i0/3 of stage 'out' is over threads, and does not divide the extent 4");
  EXPECT_EQ(refused(target, "i1/8:block i0/2:thread", "i0/2:thread i1/8:block"),
            "loop i1 of stage 'out' is over blocks, but other loops are before it");
  EXPECT_EQ(refused(target, "i0/4:block", "i0/4"),
            "loop i1 of stage 'out' is over blocks, but other loops are before it");
  EXPECT_EQ(refused(target, "at out.4 shared\n  loops i0/1:thread i1/1:thread", "at out.4 shared\n  loops i0/1 i1/1"),
            "stage 'copy' is shared, and all threads would store all of it");
  EXPECT_EQ(refused(target, "i0/1:thread i1/1:thread", "i0/1:thread i1/4:thread i1/2:async"),
            "stage 'copy' holds 2 steps of loop i1/4 of 'out', whose extent is 8");
  EXPECT_EQ(refused(target, "at out.4 shared", "at out.1 shared"),
            "stage 'copy' is shared by the threads of a block, and is computed outside of the loops over them");
}

// The tile of a block follows from the sizes and the device.
TEST(SharedTiles, Schedule) {
  const TargetDesc target = gpu();
  const ScheduleDraft draft = drafted(dense(imm(512), imm(512), imm(100)), target, "");
  EXPECT_TRUE(draft.used.count(Rule::SharedTiles));
  EXPECT_EQ(str(draft.schedule, draft.stages()),
            R"(rule out: contraction, blocks of 128 x 128 by 256 threads, each 8 x 8, 16 terms in shared memory
stage out: root
  loops i0/128:block i1/128:block i0/8:thread i1/8:thread i0/1:unroll i1/1:unroll
stage dense: at out.4 registers
  loops k0/16 k0/1 i0/1:unroll i1/1:unroll
stage w_shared: at dense.1 shared
  loops i1/1:thread k0/1:thread
stage x_shared: at dense.1 shared
  loops i0/1:thread k0/1:thread
)");
  auto tile = [](const TargetDesc& on, int64_t m, int64_t n, int64_t k) {
    return drafted(dense(imm(m), imm(n), imm(k)), on, "").schedule.rule;
  };
  TargetDesc large = gpu(1024);
  large.cores = 132;
  EXPECT_EQ(tile(large, 4096, 4096, 4096),
            "out: contraction, blocks of 128 x 128 by 256 threads, each 8 x 8, 16 terms in shared memory");
  EXPECT_EQ(tile(large, 128, 768, 768),
            "out: contraction, blocks of 32 x 32 by 256 threads, each 2 x 2, 16 terms in shared memory");
  EXPECT_EQ(tile(target, 4, 64, 64), "out: inner products, 4 x 4 sums of 1 vectors of 1");
}

// Sizes that tiles divide, sizes that they do not, sums with and without parts, sizes that are known at run time.
TEST(SharedTiles, Results) {
  const TargetDesc target = gpu();
  for (const std::array<int, 3>& sizes : {std::array<int, 3>{16, 16, 20}, {33, 18, 5}, {8, 9, 270}}) {
    SCOPED_TRACE(format("{}", join(sizes, " x ")));
    Program p = dense(imm(sizes[0]), imm(sizes[1]), imm(sizes[2]));
    const ScheduleDraft draft = drafted(p, target, "");
    EXPECT_TRUE(draft.used.count(Rule::SharedTiles));
    EXPECT_EQ(problem_of(draft, p), "") << str(draft.schedule, draft.stages());
    const Expr m = scalar::var("m"), n = scalar::var("n"), k = scalar::var("k");
    p = dense(m, n, k);
    p.symbols = {{m, sizes[0]}, {n, sizes[1]}, {k, sizes[2]}};
    EXPECT_EQ(problem_of(drafted(p, target, ""), p), "");
  }
}

// out[b, m, n] = relu(sum(k) x[b, m, k] * w[b, k, n]) of narrow numbers; w[b, n, k] if `transposed`.
Program narrow_products(DType x_type, DType w_type, Expr m, Expr n, int64_t k, bool transposed) {
  const DType sum_type = x_type.is_float() ? DType::float32() : DType::int32();
  te::Tensor x = te::placeholder("x", {imm(2), m, imm(k)}, x_type),
             w = te::placeholder("w", transposed ? Exprs{imm(2), n, imm(k)} : Exprs{imm(2), imm(k), n}, w_type);
  te::Tensor sum =
      te::reduce("products", {imm(2), m, n}, {imm(k)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
        const Exprs at = transposed ? Exprs{i[0], i[2], r[0]} : Exprs{i[0], r[0], i[2]};
        return scalar::cast(sum_type, (*x)({i[0], i[1], r[0]})) * scalar::cast(sum_type, (*w)(at));
      });
  return {{te::compute("out", sum->shape, [&](const Exprs& i) { return scalar::max((*sum)(i), imm(0, sum_type)); })}};
}

TEST(WarpTiles, Schedule) {
  const TargetDesc target = gpu_with_tiles();
  const ScheduleDraft draft =
      drafted(narrow_products(DType::float16(), DType::float16(), imm(128), imm(64), 96, false), target, "");
  EXPECT_TRUE(draft.used.count(Rule::WarpTiles));
  EXPECT_EQ(
      str(draft.schedule, draft.stages()),
      R"(rule out: products by mma.m16n8k16.f16, blocks of 32 x 64 by 2 warps, each 32 x 32, 32 terms in shared memory, copied through registers
stage out: root
  loops i0/1:block i1/32:block i2/64:block i1/32:thread i2/32:thread i1/16:unroll i2/8:unroll i1/1:tile i2/1:tile
stage products: at out.5 tiles
  loops k0/16 k0/8 i0/1 i1/16:unroll i2/8:unroll i1/1:tile i2/1:tile k0/1:tile
stage w_shared: at products.1 shared
  loops i0/1:thread k0/1:thread i2/1:thread
stage x_shared: at products.1 shared
  loops i0/1:thread i1/1:thread k0/1:thread
)");
  // A sum of 20 terms is not a multiple of the instruction's, and 1 row would leave most of it empty.
  for (const auto& [rows, terms] : {std::pair<int64_t, int64_t>{64, 20}, {1, 96}})
    EXPECT_FALSE(drafted(narrow_products(DType::int8(), DType::int8(), imm(rows), imm(64), terms, true), target, "")
                     .used.count(Rule::WarpTiles));
}

// Rows of both factors are along the terms: they are copied asynchronously, 16 bytes at once.
TEST(WarpTiles, AsyncCopies) {
  const TargetDesc target = gpu_with_tiles();
  const ScheduleDraft draft =
      drafted(narrow_products(DType::float16(), DType::float16(), imm(128), imm(64), 192, true), target, "");
  EXPECT_EQ(
      str(draft.schedule, draft.stages()),
      R"(rule out: products by mma.m16n8k16.f16, blocks of 64 x 64 by 8 warps, each 32 x 16, 32 terms in shared memory, copied asynchronously in 4 stages, 16 and 16 bytes at once
stage out: root
  loops i0/1:block i1/64:block i2/64:block i1/32:thread i2/16:thread i1/16:unroll i2/8:unroll i1/1:tile i2/1:tile
stage products: at out.5 tiles
  loops k0/16 k0/8 i0/1 i1/16:unroll i2/8:unroll i1/1:tile i2/1:tile k0/1:tile
stage w_shared: at products.1 shared
  loops i0/1:thread i2/1:thread k0/8:thread k0/4:async
stage x_shared: at products.1 shared
  loops i0/1:thread i1/1:thread k0/8:thread k0/4:async
)");
  // The generation before has no such copies.
  auto rule = [&](const TargetDesc& on, DType type, int64_t terms) {
    return drafted(narrow_products(type, type, imm(64), imm(64), terms, true), on, "").schedule.rule;
  };
  EXPECT_NE(rule(gpu_with_tiles("+sm_75"), DType::float16(), 192).find("copied through registers"), std::string::npos);
  EXPECT_NE(rule(target, DType::int8(), 96).find("16 and 16 bytes at once"), std::string::npos);
  Program p = narrow_products(DType::float16(), DType::float16(), imm(17), imm(9), 160, true);
  EXPECT_EQ(problem_of(drafted(p, target, ""), p), "");
  const Expr m = scalar::var("m"), n = scalar::var("n");
  p = narrow_products(DType::int8(), DType::uint8(), m, n, 128, true);
  p.symbols = {{m, 17}, {n, 9}};
  EXPECT_EQ(problem_of(drafted(p, target, ""), p), "");
}

// Without the wait or the barrier of a step, the interpreter finds the fault.
TEST(WarpTiles, LostWaitOfAsyncCopies) {
  const TargetDesc target = gpu_with_tiles();
  const Program p = narrow_products(DType::int8(), DType::int8(), imm(16), imm(16), 256, true);
  const ScheduleDraft draft = drafted(p, target, "");
  EXPECT_NE(draft.schedule.rule.find("copied asynchronously"), std::string::npos) << draft.schedule.rule;
  EXPECT_EQ(problem_of(draft, p), "");
  const std::string unwaited = problem_of(draft, p, Mutation::LoseWait),
                    unordered = problem_of(draft, p, Mutation::LoseBarrier);
  EXPECT_NE(unwaited.find("waits for `async 16"), unwaited.npos) << unwaited;
  EXPECT_NE(unordered.find("of a step on tiles"), unordered.npos) << unordered;
}

// relu(conv2d) of images with `channels` channels and a border of zeros, with a window of `taps` x `taps`.
Program convolution(DType x_type, DType w_type, int64_t channels, int64_t taps, int64_t stride) {
  const DType sum_type = x_type.is_float() ? DType::float32() : DType::int32();
  constexpr int64_t rows = 5, columns = 18, results = 24;
  te::Tensor x = te::placeholder("x", {imm(2), imm(channels), imm(rows), imm(columns)}, x_type),
             w = te::placeholder("w", {imm(results), imm(channels), imm(taps), imm(taps)}, w_type);
  const int64_t border = taps / 2;
  te::Tensor padded = te::compute(
      "padded", {imm(2), imm(channels), imm(rows + 2 * border), imm(columns + 2 * border)}, [&](const Exprs& i) {
        const Expr y = i[2] - border, c = i[3] - border;
        const Expr inside =
            scalar::logical_and(scalar::logical_and(scalar::le(imm(0), y), scalar::lt(y, imm(rows))),
                                scalar::logical_and(scalar::le(imm(0), c), scalar::lt(c, imm(columns))));
        return scalar::select(inside, (*x)({i[0], i[1], y, c}), imm(0, x_type));
      });
  const te::Tensor data = border > 0 ? padded : x;
  te::Tensor sum =
      te::reduce("conv", {imm(2), imm(results), imm((rows - 1) / stride + 1), imm((columns - 1) / stride + 1)},
                 {imm(channels), imm(taps), imm(taps)}, te::Combiner::Sum, [&](const Exprs& i, const Exprs& r) {
                   return scalar::cast(sum_type, (*data)({i[0], r[0], i[2] * stride + r[1], i[3] * stride + r[2]})) *
                          scalar::cast(sum_type, (*w)({i[1], r[0], r[1], r[2]}));
                 });
  return {{te::compute("out", sum->shape, [&](const Exprs& i) { return scalar::max((*sum)(i), imm(0, sum_type)); })}};
}

// Convolutions of images that are stored channels-last: a product for each tap of the window.
TEST(WarpTiles, Convolutions) {
  const TargetDesc target = gpu_with_tiles();
  struct Case {
    DType x, w;
    int64_t channels, taps, stride;
  };
  const DType f16 = DType::float16(), bf16 = DType::bfloat16(), s8 = DType::int8(), u8 = DType::uint8();
  for (const Case& c : {Case{f16, f16, 32, 3, 1},
                        {bf16, bf16, 64, 1, 1},
                        {f16, f16, 96, 3, 2},
                        {u8, s8, 64, 3, 1},
                        {s8, s8, 32, 1, 2}}) {
    SCOPED_TRACE(format("{}, {} channels, {} taps, stride {}", c.x.str(), c.channels, c.taps, c.stride));
    const Program p = convolution(c.x, c.w, c.channels, c.taps, c.stride);
    ScheduleDraft draft = empty_draft(p, target);
    draft.layouts["out"] = Layout::channels_last(4), draft.constants = {"w"};
    apply_rules(draft);
    EXPECT_TRUE(draft.used.count(Rule::WarpTiles)) << str(draft.schedule, draft.stages());
    EXPECT_EQ(problem_of(draft, p), "") << str(draft.schedule, draft.stages());
  }
  // An instruction's terms do not divide 3 channels.
  const Program p = convolution(f16, f16, 3, 3, 1);
  ScheduleDraft draft = empty_draft(p, target);
  draft.layouts["out"] = Layout::channels_last(4), draft.constants = {"w"};
  apply_rules(draft);
  EXPECT_FALSE(draft.used.count(Rule::WarpTiles));
}

// Types of both generations, sizes that tiles do not divide, and those that are known at run time.
TEST(WarpTiles, Results) {
  const DType f16 = DType::float16(), bf16 = DType::bfloat16(), s8 = DType::int8(), u8 = DType::uint8();
  struct Case {
    DType x, w;
    const char* generation;
    bool transposed;
  };
  const Expr m = scalar::var("m"), n = scalar::var("n");
  for (const Case& c : {Case{f16, f16, "+sm_75", true}, {bf16, bf16, "+sm_80", false}, {u8, s8, "+sm_80", true}}) {
    SCOPED_TRACE(format("{}, {}, {}", c.x.str(), c.w.str(), c.generation));
    const TargetDesc target = gpu_with_tiles(c.generation);
    for (bool symbolic : {false, true}) {
      Program p = narrow_products(c.x, c.w, symbolic ? m : imm(19), symbolic ? n : imm(9), 32, c.transposed);
      if (symbolic) p.symbols = {{m, 19}, {n, 9}};
      if (symbolic && c.x != u8) continue;
      const ScheduleDraft draft = drafted(p, target, "");
      EXPECT_TRUE(draft.used.count(Rule::WarpTiles));
      EXPECT_EQ(problem_of(draft, p), "") << str(draft.schedule, draft.stages());
    }
  }
}

TEST(WarpTiles, LostBarrierIsFound) {
  const TargetDesc target = gpu_with_tiles();
  const Program p = narrow_products(DType::int8(), DType::int8(), imm(16), imm(16), 32, true);
  const std::string problem = problem_of(drafted(p, target, ""), p, Mutation::LoseBarrier);
  EXPECT_NE(problem.find("of a step on tiles"), problem.npos) << problem;
}

// (x[m, k] - max(k) x) * sum(k) x
Program normalised(Expr m, Expr k) {
  te::Tensor x = te::placeholder("x", {m, k}, DType::float32());
  auto reduced = [&](const char* name, te::Combiner combiner) {
    return te::reduce(name, {m}, {k}, combiner, [&](const Exprs& i, const Exprs& r) { return (*x)({i[0], r[0]}); });
  };
  te::Tensor top = reduced("top", te::Combiner::Max), sum = reduced("sum", te::Combiner::Sum);
  return {{te::compute("out", {m, k}, [&](const Exprs& i) { return ((*x)(i) - (*top)({i[0]})) * (*sum)({i[0]}); })}};
}

// A block for each row, whose threads reduce by a tree in shared memory.
TEST(BlockRows, Results) {
  const TargetDesc target = gpu();
  for (int k : {64, 100, 300}) {
    SCOPED_TRACE(k);
    Program p = normalised(imm(3), imm(k));
    const ScheduleDraft draft = drafted(p, target, "");
    EXPECT_NE(draft.schedule.rule.find("a block for each row"), std::string::npos) << draft.schedule.rule;
    EXPECT_EQ(problem_of(draft, p), "") << str(draft.schedule, draft.stages());
    const Expr rows = scalar::var("m"), columns = scalar::var("k");
    p = normalised(rows, columns);
    p.symbols = {{rows, 3}, {columns, k}};
    EXPECT_EQ(problem_of(drafted(p, target, ""), p), "");
  }
  const Program small = normalised(imm(3), imm(8));  // few elements for a block
  EXPECT_EQ(drafted(small, target, "").schedule.rule.find("a block"), std::string::npos);
}

}  // namespace
}  // namespace relay::lower
