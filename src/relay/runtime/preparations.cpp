#include "relay/runtime/preparations.h"

#include <algorithm>
#include <cstring>
#include <memory>

#include "relay/base/bytes.h"
#include "relay/runtime/call_kernel.h"
#include "relay/tensor/memory.h"

namespace relay::runtime {

namespace {

// Copies a constant that is not aligned to 64 bytes, as kernels may require.
void align(Tensor& t) {
  if (reinterpret_cast<uintptr_t>(t.data()) % 64 == 0) return;
  Tensor copy = Tensor::empty(t.shape(), t.dtype());
  if (t.bytes() > 0) std::memcpy(copy.mutable_data(), t.data(), t.bytes());
  drop_pages(t.data(), t.bytes());
  t = std::move(copy);
}

// Runs preparations, grouping those that do not read each other's results.
//
// Most of the time is spent on first touches of memory, which the system clears. So all results are in one array, of
// huge pages, and each thread takes several megabytes of it at a time: no two threads clear the same page.
class Preparer {
 public:
  Preparer(Program& program, std::vector<KernelFn> kernels)
      : program_(program), kernels_(std::move(kernels)), readers_(program.constants.size()) {
    for (const Preparation& p : program.preparations)
      for (uint32_t arg : p.args) ++readers_[arg];
    for (size_t c = 0; c < readers_.size(); ++c)
      if (readers_[c] == 0) ++readers_[c];  // read by no preparation
    auto keep = [&](uint32_t constant) { ++readers_[constant]; };
    for (const Segment& s : program.segments)
      for (const Array& a : s.arrays)
        if (a.kind == Array::Kind::Constant) keep(a.index);
    for (const ExternalEntry& e : program.externals)
      for (uint32_t c : e.constants) keep(c);
    for (const Function& f : program.functions)
      for (const Instruction& in : f.code)
        if (in.op == Op::Constant) keep(in.index);
  }

  Status run() {
    const std::vector<Preparation>& all = program_.preparations;
    for (size_t begin = 0, end; begin < all.size(); begin = end) {
      std::vector<bool> made(program_.constants.size());
      for (end = begin; end < all.size(); ++end) {
        const Preparation& p = all[end];
        if (std::any_of(p.args.begin(), p.args.end(), [&](uint32_t arg) { return made[arg]; })) break;
        made[result(p)] = true;
      }
      RELAY_RETURN_IF_ERROR(run(begin, end));
    }
    for (size_t c = 0; c < readers_.size(); ++c)
      if (readers_[c] == 0) program_.constants[c] = Tensor::empty({0}, program_.constants[c].dtype());
    return ok();
  }

 private:
  // The bytes of results per thread: a few huge pages.
  static constexpr size_t share = 8 << 20;

  // Tasks [begin, end) of a preparation.
  struct Piece {
    size_t preparation;
    int64_t begin, end;
  };

  static uint32_t result(const Preparation& p) { return p.args[p.result]; }

  Status allocate(size_t begin, size_t end) {
    constexpr size_t page = 4096;
    std::vector<size_t> at;
    size_t all = 0;
    for (size_t i = begin; i < end; ++i) {
      at.push_back(all);
      all += (program_.constants[result(program_.preparations[i])].bytes() + page - 1) / page * page;
    }
    // Elements that kernels do not write are padding, which is zero.
    std::shared_ptr<const void> memory = zeroed_array(all);
    if (!memory)
      return Diagnostic{DiagnosticKind::out_of_memory,
                        format("there is no memory for {} of constants that are computed when a program is loaded",
                               bytes_text(static_cast<int64_t>(all))),
                        {},
                        {},
                        {},
                        "free memory, or use a smaller model"};
    char* from = static_cast<char*>(const_cast<void*>(memory.get()));
    for (size_t i = begin; i < end; ++i) {
      Tensor& made = program_.constants[result(program_.preparations[i])];
      made = Tensor::view(from + at[i - begin], made.shape(), made.dtype(), memory);
    }
    return ok();
  }

  // In the order of memory; each share is a list of pieces.
  std::vector<std::vector<Piece>> shares(size_t begin, size_t end) const {
    std::vector<std::vector<Piece>> out(1);
    size_t filled = 0;
    for (size_t i = begin; i < end; ++i) {
      const Preparation& p = program_.preparations[i];
      const size_t bytes = program_.constants[result(p)].bytes();
      const int64_t pieces = std::clamp<int64_t>(static_cast<int64_t>(bytes / share), 1, std::max<int64_t>(p.tasks, 1));
      for (int64_t k = 0; k < pieces; ++k) {
        if (filled >= share) out.emplace_back(), filled = 0;
        const int64_t each = p.tasks / pieces, rest = p.tasks % pieces, from = k * each + std::min(k, rest);
        out.back().push_back({i, from, from + each + (k < rest)});
        filled += bytes / static_cast<size_t>(pieces);
      }
    }
    return out;
  }

  Status run(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i)
      for (uint32_t arg : program_.preparations[i].args)
        if (arg != result(program_.preparations[i])) align(program_.constants[arg]);
    RELAY_RETURN_IF_ERROR(allocate(begin, end));
    const std::vector<std::vector<Piece>> work = shares(begin, end);
    std::vector<std::atomic<int64_t>> left(end - begin);
    for (const std::vector<Piece>& pieces : work)
      for (const Piece& piece : pieces) ++left[piece.preparation - begin];
    std::atomic<size_t> next = 0;
    std::atomic<bool> failed = false;
    auto take = [&](int64_t, int64_t, int) {
      for (size_t i; (i = next++) < work.size();)
        for (const Piece& piece : work[i]) {
          if (!run(piece)) failed.store(true, std::memory_order_relaxed);
          if (--left[piece.preparation - begin] == 0) release(program_.preparations[piece.preparation]);
        }
    };
    ThreadPool::Session session(ThreadPool::global());
    const FloatScope scope(kernel_control(program_.keeps_subnormals));
    session.parallel(std::min<int64_t>(session.threads(), static_cast<int64_t>(work.size())), take);
    return failed ? out_of_scratch() : ok();
  }

  // Returns false if there was no scratch memory.
  bool run(const Piece& piece) const {
    const Preparation& p = program_.preparations[piece.preparation];
    std::vector<void*> params;
    for (uint32_t arg : p.args) params.push_back(const_cast<void*>(program_.constants[arg].data()));
    const int64_t bytes = program_.kernels[p.kernel].scratch_bytes;
    void* scratch = bytes > 0 ? thread_scratch(static_cast<size_t>(bytes)) : nullptr;
    if (bytes > 0 && scratch == nullptr) return false;
    kernels_[piece.preparation](params.data(), p.sizes.data(), piece.begin, piece.end, scratch);
    return true;
  }

  void release(const Preparation& p) {
    for (uint32_t arg : p.args)
      if (--readers_[arg] == 0) drop_pages(program_.constants[arg].data(), program_.constants[arg].bytes());
  }

  Program& program_;
  std::vector<KernelFn> kernels_;              // by preparation
  std::vector<std::atomic<int64_t>> readers_;  // by constant: the number of remaining readers
};

}  // namespace

Result<std::shared_ptr<const Program>> with_constants(std::shared_ptr<const Program> program,
                                                      const KernelLibrary* library) {
  auto ready = [](const Tensor& t) { return !is_prepared(t) && reinterpret_cast<uintptr_t>(t.data()) % 64 == 0; };
  if (std::all_of(program->constants.begin(), program->constants.end(), ready)) return program;
  std::shared_ptr<Program> made = std::make_shared<Program>(*program);
  std::vector<KernelFn> kernels;
  for (const Preparation& p : made->preparations) {
    KernelFn kernel = library ? library->find(made->kernels[p.kernel].name) : nullptr;
    if (kernel == nullptr)
      return Diagnostic{
          DiagnosticKind::corrupt_file, format("the code has no kernel `{}`", made->kernels[p.kernel].name), {}, {}, {},
          "compile the model again"};
    kernels.push_back(kernel);
  }
  if (!kernels.empty()) RELAY_RETURN_IF_ERROR(Preparer(*made, std::move(kernels)).run());
  for (Tensor& t : made->constants) align(t);
  made->preparations.clear();
  return std::shared_ptr<const Program>(std::move(made));
}

}  // namespace relay::runtime
