// relay_fuzz_schedules: random tensor expressions x random legal schedules, compiled, against the reference evaluator.
//
//   relay_fuzz_schedules --cases 2000             2,000 cases from seed 1; exit status 1 and the case's seed on a difference
//   relay_fuzz_schedules --seed 77 --cases 1 -v   that case, with its te, schedule and loops
//   relay_fuzz_schedules --batched --cases 500    several calls at once (lower/plan/batch.h), against one by one
//   relay_fuzz_schedules --blocks --cases 500     blocks of threads (loop/blocks.h), in the interpreter, which finds races,
//   and one case in four as PTX; one in five is a product with asynchronous copies (loop/async_copies.h)
//   relay_fuzz_schedules --power                  plants each of ten bugs in the loop builder and checks that it is
//   caught
//
// This one test covers placing, rings, tails, masks, halos, vectors and parallel splits together. Values are small
// integers, so results must be bit-identical (except for attention, which has exponentials). Tasks run in reverse order
// in uneven ranges: a race shows at one thread. One case in eight also runs in the loop interpreter, which checks every
// index; with --power all cases run only there: the machine code of a planted bug may write anywhere.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "../cuda/mock/ptx_machine.h"
#include "random_schedule.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/eval/te.h"
#include "relay/lower/nest/halo.h"
#include "relay/lower/nest/nest.h"
#include "relay/lower/plan/batch.h"
#include "relay/machine/instruction.h"
#include "relay/target/x86/x86.h"

using namespace relay;
using namespace relay::fuzz;

namespace {

struct Outcome {
  enum { Equal, Refused, Different } kind = Equal;
  std::string detail;
};

Tensor random_values(Random& random, const te::TensorNode& t, const Program& program) {
  Shape shape;
  for (const Expr& e : t.shape) shape.push_back(scalar::evaluate(e, program.symbols).value());
  Tensor v = Tensor::empty(shape, t.dtype);
  for (int64_t i = 0; i < v.elements(); ++i) v.set(i, static_cast<double>(random.in(-3, 3)));
  return v;
}

// An array of a case in its physical form.
struct Physical {
  Tensor data;
  Shape logical;
};

// The most steps of a case that is interpreted: a few seconds. Schedules that compute a stage again for each of its
// uses can take hours.
constexpr double most_steps = 5e6;

// About the number of statements that the interpreter runs, as if each loop were in the middle of its range.
double steps(const loop::Stmt& s, std::vector<std::pair<Expr, int64_t>> values) {
  double times = 1, inside = 0;
  if (s->kind == loop::StmtKind::For) {
    const int64_t extent = scalar::evaluate(s->extent, values).value_or(1);
    values.emplace_back(s->var, scalar::evaluate(s->min, values).value_or(0) + extent / 2);
    times = static_cast<double>(extent);
  }
  for (const loop::Stmt& inner : s->body) inside += steps(inner, values);
  return times * (1 + inside);
}

class Case {
 public:
  Case(uint64_t seed, const std::vector<TargetDesc>& targets, bool batched, bool verbose, lower::Mutation planted)
      : random_(seed * 0x9E3779B97F4A7C15ull + 1), verbose_(verbose), planted_(planted) {
    is_pipeline_ = !batched && !targets[0].instructions.empty() && targets[0].blocks.threads > 0 &&
                   (planted == lower::Mutation::LoseWait || random_.aside(0, 99) < 20);
    program_ = is_pipeline_ ? ProgramGenerator(random_).product_of_copies() : ProgramGenerator(random_).generate();
    program_.outputs = lower::unique_names(program_.outputs);
    if (batched) batch();
    target_ = targets[static_cast<size_t>(random_.in(0, static_cast<int64_t>(targets.size()) - 1))];
  }

  // Draws schedules until one is accepted; refused if none of many is.
  Outcome run() {
    for (const te::Tensor& t : te::topological(program_.outputs))
      if (t->is_placeholder()) values_.push_back({t, random_values(random_, *t, program_)});
    constexpr int most_draws = 50;
    Outcome last = run_drawn();
    for (draws_ = 1; last.kind == Outcome::Refused && draws_ < most_draws; ++draws_) last = run_drawn();
    return last;
  }
  int draws() const { return draws_; }

 private:
  Outcome run_drawn() {
    seen_anew_.clear();
    ScheduleDraft plan;
    plan.target = &target_;
    plan.set_outputs(program_.outputs);
    bool by_rules = !is_pipeline_ && random_.chance(50);
    if (program_.is_close) {
      std::vector<lower::Variant> variants;
      for (const lower::Algorithm* a : lower::algorithms())
        for (lower::Variant& variant : a->variants(plan.outputs(), {}, target_)) variants.push_back(std::move(variant));
      by_rules |= !variants.empty();
      if (const lower::Variant* variant = variants.empty() ? nullptr : &random_.of(variants))
        plan.set_outputs(variant->outputs), plan.form = variant->form;
    }
    schedule(plan, by_rules);
    std::string text = lower::str(plan.schedule, plan.stages());
    if (verbose_) std::printf("%s\n%s\n", te::str(plan.stages()).c_str(), text.c_str());
    Result<Schedule> again = lower::parse_schedule(text, plan.stages());
    if (!again) return {Outcome::Different, "the schedule's text cannot be read again:\n" + render(again.errors())};
    if (lower::str(*again, plan.stages()) != text)
      return {Outcome::Different, "the schedule's text changes when it is read again"};

    Result<std::vector<lower::BuiltKernel>> kernels =
        lower::build_kernels(plan.stages(), *again, plan.layouts, target_, "case", planted_);
    if (!kernels) return {Outcome::Refused, render(kernels.errors())};
    if (verbose_)
      for (const lower::BuiltKernel& k : *kernels) std::printf("%s\n", loop::str(k.kernel).c_str());
    std::vector<loop::Kernel> code;
    for (const lower::BuiltKernel& k : *kernels) code.push_back(k.kernel);
    for (const te::Tensor& t : plan.stages())
      if (!t->is_placeholder() && plan.layouts.count(t->name) && plan.layouts.at(t->name).has_halo()) {
        code.push_back(lower::halo_kernel(t->shape, t->dtype, plan.layouts.at(t->name), target_, planted_));
        code.back().name = "halo_" + t->name;
      }
    const double steps = steps_of(code);
    const bool is_short = steps < most_steps;
    if (!is_short && (planted_ != lower::Mutation::None || target_.blocks.threads > 0))
      return {Outcome::Refused, format("the interpreter needs about {:.0f} steps", steps)};
    if (planted_ != lower::Mutation::None) return compare(plan, *kernels, code, nullptr);
    if (target_.blocks.threads > 0) {
      Outcome o = compare(plan, *kernels, code, nullptr);
      as_ptx_ = true;
      return o.kind == Outcome::Equal && random_.chance(25) ? compare(plan, *kernels, code, nullptr) : o;
    }
    Result<std::shared_ptr<codegen::KernelLibrary>> library = codegen::jit(code, target_);
    if (!library) return {Outcome::Refused, render(library.errors())};
    if (random_.chance(12) && is_short)
      if (Outcome o = compare(plan, *kernels, code, nullptr); o.kind == Outcome::Different) return o;
    return compare(plan, *kernels, code, library->get());
  }

  // The steps of the interpreter for all kernels.
  double steps_of(const std::vector<loop::Kernel>& code) const {
    double sum = 0;
    for (const loop::Kernel& k : code) {
      const int64_t tasks = scalar::evaluate(k.tasks, program_.symbols).value();
      std::vector<std::pair<Expr, int64_t>> values = program_.symbols;
      values.emplace_back(k.task, tasks / 2);
      sum += static_cast<double>(tasks) * steps(k.body, values);
    }
    return sum;
  }

  // Batches the program for several calls, in which most inputs vary and most weights do not.
  void batch() {
    calls_ = random_.in(1, 20);
    Expr count = scalar::imm(calls_);
    if (random_.chance(60)) {
      count = scalar::var("calls");
      program_.symbols.push_back({count, calls_});
    }
    lower::GroupTe group;
    group.outputs = program_.outputs;
    std::vector<bool> varies;
    for (const te::Tensor& t : te::topological(program_.outputs)) {
      if (!t->is_placeholder()) continue;
      group.params.push_back(t);
      bool is_weight = std::find(program_.weights.begin(), program_.weights.end(), t) != program_.weights.end();
      varies.push_back(random_.chance(is_weight ? 20 : 85));
      if (varies.back()) std::erase(program_.weights, t), varying_.insert(t->name);
    }
    single_ = group.outputs;
    output_varies_ = lower::batch(group, varies, count);
    program_.outputs = lower::unique_names(group.outputs);
  }

  // The expected results; for several calls, those of each call one after the other.
  Result<std::vector<Tensor>> expected() {
    if (calls_ == 0) return eval::evaluate(program_.outputs, values_, program_.symbols);
    std::vector<Tensor> all;
    for (const te::Tensor& o : program_.outputs) all.push_back(Tensor::empty(concrete(o->shape), o->dtype));
    for (int64_t call = 0; call < calls_; ++call) {
      eval::TensorBindings own;
      for (const te::Tensor& t : te::topological(single_)) {
        if (!t->is_placeholder()) continue;
        for (const auto& [batched, value] : values_) {
          if (batched->name != t->name) continue;
          Tensor one = Tensor::empty(concrete(t->shape), t->dtype);
          size_t skip = varying_.count(t->name) ? static_cast<size_t>(call) * one.bytes() : 0;
          if (one.bytes() > 0)
            std::memcpy(one.mutable_data(), static_cast<const char*>(value.data()) + skip, one.bytes());
          own.push_back({t, one});
        }
      }
      RELAY_ASSIGN(std::vector<Tensor> results, eval::evaluate(single_, own, program_.symbols));
      for (size_t o = 0; o < results.size(); ++o) {
        if (!output_varies_[o] && call > 0) continue;
        size_t bytes = results[o].bytes();
        if (bytes > 0)
          std::memcpy(static_cast<char*>(all[o].mutable_data()) + static_cast<size_t>(call) * bytes, results[o].data(),
                      bytes);
      }
    }
    return all;
  }

  void schedule(ScheduleDraft& plan, bool by_rules) {
    for (const te::Tensor& w : program_.weights) {
      bool plain = true;
      for (const Expr& e : w->shape) plain &= scalar::is_int(e);
      if (plain && random_.chance(70)) plan.constants.insert(w->name);
    }
    ScheduleGenerator generator(random_, plan, planted_);
    for (const te::Tensor& t : plan.stages())
      if (t->is_placeholder()) plan.layouts[t->name] = generator.random_layout(t);
    if (by_rules) {
      for (const te::Tensor& o : plan.outputs())
        if (!o->is_placeholder() && random_.chance(40))
          plan.layouts[o->name] = Layout::channels_last(static_cast<int>(o->shape.size()));
      const std::map<std::string, Layout> given = plan.layouts;
      lower::apply_rules(plan);
      for (const te::Tensor& t : plan.stages())
        for (const auto& [as_given, value] : values_)
          if (t->name == as_given->name && t->shape.size() != as_given->shape.size())
            seen_anew_[t->name] = given.at(t->name);
      if (random_.chance(60)) mutate_steps(random_, plan);
    } else {
      te::Tensors outputs = plan.outputs();
      for (te::Tensor& o : outputs)
        if (o->is_placeholder()) o = lower::copy_stage(o, "copy_" + o->name);
      plan.set_outputs(std::move(outputs));
      generator.generate();
    }
    lower::give_roots_layouts(plan);
  }

  Shape concrete(const Exprs& shape) const {
    Shape out;
    for (const Expr& e : shape) out.push_back(scalar::evaluate(e, program_.symbols).value());
    return out;
  }

  Outcome compare(const ScheduleDraft& plan, const std::vector<lower::BuiltKernel>& kernels,
                  const std::vector<loop::Kernel>& code, const codegen::KernelLibrary* library) {
    // 64 bytes of a known pattern around every array, to detect stores outside.
    constexpr size_t guard = 64;
    constexpr unsigned char pattern = 0xA5;
    std::map<std::string, std::vector<unsigned char>> memory;
    std::string complaint;  // reported by the interpreter
    auto call = [&](const loop::Kernel& k, const te::Tensors& tensors) {
      std::vector<void*> params;
      std::vector<int64_t> bytes;
      for (const te::Tensor& t : tensors) {
        params.push_back(memory[t->name].data() + guard);
        bytes.push_back(static_cast<int64_t>(memory[t->name].size() - 2 * guard));
      }
      if (complaint.empty()) complaint = this->call(k, params, bytes, library);
    };
    auto allocate = [&](const te::Tensor& t, const Tensor* value) {
      const Layout& layout = seen_anew_.count(t->name) ? seen_anew_.at(t->name) : plan.layouts.at(t->name);
      Shape physical = concrete(layout.physical_shape(t->shape));
      size_t bytes = static_cast<size_t>(element_count(physical).value()) * t->dtype.bytes();
      std::vector<unsigned char>& m = memory[t->name];
      m.assign(bytes + 2 * guard, pattern);
      if (value) {
        Tensor packed = lower::pack(*value, layout);
        std::memcpy(m.data() + guard, packed.data(), bytes);
      }
    };
    for (const auto& [t, value] : values_) allocate(t, &value);
    auto results = [](const lower::BuiltKernel& k) {
      te::Tensors all = k.secondary_roots;
      all.push_back(k.root);
      return all;
    };
    for (const lower::BuiltKernel& k : kernels)
      for (const te::Tensor& t : results(k)) allocate(t, nullptr);
    for (const lower::BuiltKernel& k : kernels) {
      for (const te::Tensor& t : results(k))
        if (plan.layouts.at(t->name).has_halo())
          for (const loop::Kernel& halo : code)
            if (halo.name == "halo_" + t->name) call(halo, {t});
      call(k.kernel, k.params);
    }
    if (!complaint.empty()) return {Outcome::Different, complaint};
    for (const auto& [name, m] : memory)
      for (size_t i = 0; i < guard; ++i)
        if (m[i] != pattern || m[m.size() - 1 - i] != pattern)
          return {Outcome::Different, format("a store outside of '{}'", name)};

    Result<std::vector<Tensor>> expected = this->expected();
    if (!expected) return {Outcome::Different, "the evaluator refuses:\n" + render(expected.errors())};
    for (size_t o = 0; o < plan.outputs().size(); ++o) {
      const te::Tensor& t = plan.outputs()[o];
      const Layout& layout = plan.layouts.at(t->name);
      Tensor physical =
          Tensor::view(memory[t->name].data() + guard, concrete(layout.physical_shape(t->shape)), t->dtype, nullptr);
      Tensor got = lower::unpack(physical, layout, (*expected)[o].shape());
      for (int64_t i = 0; i < got.elements(); ++i)
        if (!is_right(got.at(i), (*expected)[o].at(i)))
          return {Outcome::Different,
                  format("output {} differs at element {}: {} instead of {}", o, i, got.at(i), (*expected)[o].at(i))};
    }
    return {};
  }

  bool is_right(double got, double expected) const {
    if (!program_.is_close || std::isnan(expected)) return got == expected || (std::isnan(got) && std::isnan(expected));
    // Sums of a thousand terms in another order: a hundred float32 rounding errors, relative above 1.
    return std::abs(got - expected) < 1e-5 * std::max(1.0, std::abs(expected));
  }

  // Runs the kernel as PTX, in a few blocks. Returns "", or the error that the PTX machine found.
  static std::string call_ptx(const loop::Kernel& k, const std::vector<void*>& params,
                              const std::vector<int64_t>& bytes, const std::vector<int64_t>& shape, int64_t tasks) {
    constexpr uint64_t spacing = uint64_t{1} << 32;  // of the arrays' addresses on the device
    constexpr unsigned blocks = 2, usual_threads = 3;
    const Result<std::string> text = codegen::ptx_text({&k, 1}, codegen::ptx_target("sm_80"));
    if (!text) return render(text.errors());
    try {
      const mock::PtxModule module(*text);
      const mock::Entry* entry = module.find("kernel_" + k.name);
      if (!entry) return "the module has no entry for the kernel";
      const mock::Grid grid{blocks, entry->takes_most ? entry->most_threads : usual_threads};
      const uint64_t scratch = static_cast<uint64_t>(codegen::scratch_bytes(k));
      std::vector<uint8_t> of_scratch(scratch * grid.blocks * grid.threads);
      std::vector<uint64_t> arguments;
      for (size_t i = 0; i < params.size(); ++i) arguments.push_back((i + 1) * spacing);
      for (int64_t size : shape) arguments.push_back(static_cast<uint64_t>(size));
      arguments.insert(arguments.end(), {static_cast<uint64_t>(tasks), (params.size() + 1) * spacing, scratch});
      std::vector<uint8_t> passed(arguments.size() * 8);
      std::memcpy(passed.data(), arguments.data(), passed.size());
      module.run(*entry, passed, grid, [&](uint64_t address, size_t size) -> void* {
        const uint64_t which = address / spacing, offset = address % spacing;
        if (which == 0 || which > params.size() + 1) return nullptr;
        const bool is_scratch = which == params.size() + 1;
        const uint64_t most = is_scratch ? of_scratch.size() : static_cast<uint64_t>(bytes[which - 1]);
        if (offset + size > most) return nullptr;
        return (is_scratch ? of_scratch.data() : static_cast<uint8_t*>(params[which - 1])) + offset;
      });
    } catch (const mock::PtxError& e) {
      return e.what();
    }
    return "";
  }

  // Returns "", or the error that the interpreter found. `library` is null for the interpreter.
  std::string call(const loop::Kernel& k, const std::vector<void*>& params, const std::vector<int64_t>& bytes,
                   const codegen::KernelLibrary* library) {
    std::vector<int64_t> shape;
    for (const Expr& v : k.shape_vars) shape.push_back(scalar::evaluate(v, program_.symbols).value());
    std::vector<unsigned char> scratch(static_cast<size_t>(codegen::scratch_bytes(codegen::prepare(k, target_))) + 64,
                                       0xC3);
    void* aligned = scratch.data() + (64 - reinterpret_cast<uintptr_t>(scratch.data()) % 64) % 64;
    int64_t tasks = scalar::evaluate(k.tasks, program_.symbols).value();
    if (as_ptx_) return call_ptx(k, params, bytes, shape, tasks);
    for (int64_t end = tasks; end > 0;) {
      int64_t begin = std::max<int64_t>(0, end - random_.in(1, 7));
      if (library)
        library->find(k.name)(params.data(), shape.data(), begin, end, aligned);
      else if (Status s = loop::interpret(k, params, bytes, shape, begin, end); !s)
        return render(s.errors());
      end = begin;
    }
    return "";
  }

  Random random_;
  bool verbose_;
  lower::Mutation planted_;
  int draws_ = 0;        // of schedules
  bool as_ptx_ = false;  // kernels are run as PTX
  bool is_pipeline_ = false;
  Program program_;
  TargetDesc target_;
  std::vector<std::pair<te::Tensor, Tensor>> values_;
  std::map<std::string, Layout> seen_anew_;  // inputs that the rules see with fewer dimensions, as they are stored
  // For a program for several calls (else calls_ is 0): the program of one call, and the inputs that vary from call to
  // call.
  int64_t calls_ = 0;
  te::Tensors single_;
  std::set<std::string> varying_;
  std::vector<bool> output_varies_;
};

struct Tally {
  int64_t equal = 0;     // cases
  int64_t untested = 0;  // cases without a schedule that is accepted
  int64_t refusals = 0;  // of schedules
};

// True if all cases agree; prints the first one that does not.
bool run_cases(uint64_t seed, int64_t cases, const std::vector<TargetDesc>& targets, bool batched, bool verbose,
               bool quiet, Tally& tally, uint64_t* found = nullptr, lower::Mutation planted = lower::Mutation::None) {
  std::chrono::steady_clock::time_point last = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < cases; ++i) {
    Outcome outcome;
    try {
      Case drawn(seed + i, targets, batched, verbose, planted);
      outcome = drawn.run();
      tally.refusals += drawn.draws() - (outcome.kind != Outcome::Refused);
    } catch (const std::exception& e) {
      outcome = {Outcome::Different, e.what()};
    }
    if (outcome.kind == Outcome::Different) {
      if (found) *found = seed + i;
      if (!quiet)
        std::printf("seed %llu: %s\nagain: relay_fuzz_schedules%s --seed %llu --cases 1 -v\n",
                    static_cast<unsigned long long>(seed + i), outcome.detail.c_str(),
                    batched                         ? " --batched"
                    : targets[0].blocks.threads > 0 ? " --blocks"
                                                    : "",
                    static_cast<unsigned long long>(seed + i));
      return false;
    }
    if (outcome.kind == Outcome::Refused && verbose) std::printf("refused: %s\n", outcome.detail.c_str());
    ++(outcome.kind == Outcome::Refused ? tally.untested : tally.equal);
    if (!quiet && std::chrono::steady_clock::now() - last > std::chrono::seconds(10)) {
      last = std::chrono::steady_clock::now();
      std::printf("%lld of %lld cases\n", static_cast<long long>(i + 1), static_cast<long long>(cases));
      std::fflush(stdout);
    }
  }
  return true;
}

int power(const std::vector<TargetDesc>& targets, const std::vector<TargetDesc>& blocks, int64_t cases) {
  struct Bug {
    lower::Mutation mutation;
    const char* text;
  };
  const Bug bugs[] = {{lower::Mutation::LoseTailMask, "a lost tail mask"},
                      {lower::Mutation::RegionShort, "a region short by one"},
                      {lower::Mutation::RingShort, "a ring too short"},
                      {lower::Mutation::Race, "a race on a reduction"},
                      {lower::Mutation::WrongKTail, "a dropped tail of K"},
                      {lower::Mutation::UnwrittenHalo, "an unwritten halo"},
                      {lower::Mutation::AliasBuffers, "two buffers in one place"},
                      {lower::Mutation::SkipPaddingShort, "a tap left out"},
                      {lower::Mutation::LoseBarrier, "a lost barrier"},
                      {lower::Mutation::LoseWait, "a lost wait"}};
  int caught = 0;
  for (const Bug& bug : bugs) {
    Tally tally;
    uint64_t seed = 0;
    const bool in_blocks = bug.mutation == lower::Mutation::LoseBarrier || bug.mutation == lower::Mutation::LoseWait;
    const std::vector<TargetDesc>& on = in_blocks ? blocks : targets;
    bool missed = run_cases(1, cases, on, false, false, true, tally, &seed, bug.mutation);
    if (missed)
      std::printf("MISSED %s in %lld cases\n", bug.text, static_cast<long long>(cases));
    else
      std::printf("caught %s at seed %llu\n", bug.text, static_cast<unsigned long long>(seed));
    caught += !missed;
  }
  const int planted = static_cast<int>(std::size(bugs));
  std::printf("%d passed, %d failed\n", caught, planted - caught);
  return caught == planted ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  int64_t cases = 2000;
  uint64_t seed = 1;
  bool verbose = false, planting = false, batched = false, in_blocks = false;
  for (int i = 1; i < argc; ++i) {
    std::string arg = argv[i];
    if (arg == "--cases" && i + 1 < argc)
      cases = std::atoll(argv[++i]);
    else if (arg == "--seed" && i + 1 < argc)
      seed = std::strtoull(argv[++i], nullptr, 10);
    else if (arg == "--power")
      planting = true;
    else if (arg == "--batched")
      batched = true;
    else if (arg == "--blocks")
      in_blocks = true;
    else if (arg == "-v")
      verbose = true;
    else
      return std::printf(
                 "usage: relay_fuzz_schedules [--batched | --blocks] [--cases N] [--seed S] [-v] | --power [--cases "
                 "N]\n"),
             2;
  }
  // The machine's own features, and reduced ones: other widths, other register counts.
  std::vector<TargetDesc> targets, blocks;
  for (const char* name : {"native", "native,-avx512f", "native,-avx512f,-avx2"})
    if (Result<TargetDesc> t = target::x86().describe(name)) targets.push_back(*t);
  if (targets.empty()) return std::printf("no target\n"), 2;
  // A device: scalars, few threads, little shared memory.
  blocks.push_back(targets.back());
  blocks.back().vector_bytes = 4, blocks.back().has_masks = false, blocks.back().instructions.clear();
  blocks.back().blocks = {8, 256, 1024, 64 << 10, 32 << 10, 64 << 10};
  for (const machine::CopyInstruction& copy : machine::copy_instructions())
    blocks.back().instructions.push_back({copy.name, 1});
  if (planting) return power(targets, blocks, cases);
  if (in_blocks) targets = blocks;
  Tally tally;
  bool good = run_cases(seed, cases, targets, batched, verbose, false, tally);
  std::printf("%lld cases: %lld equal, %lld without a legal schedule; %lld schedules refused as illegal\n",
              static_cast<long long>(tally.equal + tally.untested + !good), static_cast<long long>(tally.equal),
              static_cast<long long>(tally.untested), static_cast<long long>(tally.refusals));
  if (good && tally.untested * 20 > cases)
    return std::printf("more than a twentieth of the cases have no legal schedule: the fuzzer tests too little\n"), 1;
  std::printf("%lld passed, %d failed\n", static_cast<long long>(tally.equal), good ? 0 : 1);
  return good ? 0 : 1;
}
