// Interprets kernels statement by statement, lane by lane, and checks every index. Local arrays start with garbage, so
// that reads of elements that were never stored are noticed.
//
// The threads of a block are run together: a statement with a barrier or a shared array inside is run for all threads
// at once, after a check that all of them take it in the same way; any other by one thread after the other. A step on
// tiles is run once for each warp.
#include <cstring>
#include <memory>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "relay/base/diagnostics.h"
#include "relay/loop/async_copies.h"
#include "relay/loop/blocks.h"
#include "relay/loop/race_check.h"
#include "relay/loop/tile_nest.h"
#include "relay/loop/warp_tiles.h"
#include "relay/scalar/eval.h"

namespace relay::loop {
namespace {

using scalar::Value;

struct Array {
  char* data = nullptr;
  std::vector<int64_t> shape;
  std::vector<char> own;

  int64_t elements() const {
    int64_t all = 1;
    for (int64_t extent : shape) all *= extent;
    return all;
  }
};

// The variables and arrays of a thread. Copies share the arrays.
struct State {
  std::unordered_map<const scalar::Node*, std::vector<Value>> vars;
  std::unordered_map<const scalar::Source*, std::shared_ptr<Array>> arrays;
};

DType bits_type(DType t) { return DType{DType::Code::UInt, t.bits}; }

class Interpreter {
 public:
  explicit Interpreter(const Kernel& k) : kernel_(k), has_blocks_(has_blocks(k)) {
    const bool has_tiles = has_blocks_ && has_tile(k.body);
    visit(
        k.body,
        [&](const Stmt& s) {
          if (has_blocks_ && (is_for_all_threads(s) || has_thread_loop(s) || (has_tiles && has_tile(s))))
            together_.insert(s.get());
          if (s->kind == StmtKind::For && s->for_kind == ForKind::Block) blocks_ = s.get();
        },
        [](const Expr&) {});
  }

  Status run(const std::vector<void*>& params, const std::vector<int64_t>& param_bytes,
             const std::vector<int64_t>& shape, int64_t begin, int64_t end) {
    if (params.size() != kernel_.params.size() || param_bytes.size() != params.size() ||
        shape.size() != kernel_.shape_vars.size())
      return Diagnostic{.kind = DiagnosticKind::wrong_input,
                        .message = format("kernel {} takes {} arrays and {} sizes", kernel_.name, kernel_.params.size(),
                                          kernel_.shape_vars.size())};
    for (size_t i = 0; i < shape.size(); ++i) set(kernel_.shape_vars[i], scalar::int_value(shape[i]));
    for (size_t i = 0; i < params.size(); ++i) {
      std::shared_ptr<Array> made = std::make_shared<Array>();
      Array& a = *made;
      a.data = static_cast<char*>(params[i]);
      int64_t bytes = kernel_.params[i]->dtype.bytes();
      for (const Expr& e : kernel_.params[i]->shape) a.shape.push_back(integer(e)), bytes *= a.shape.back();
      if (bytes > param_bytes[i])
        return Diagnostic{
            .kind = DiagnosticKind::wrong_input,
            .message = format("{} needs {} bytes and has {}", kernel_.params[i]->name, bytes, param_bytes[i])};
      now_->arrays[kernel_.params[i].get()] = std::move(made);
    }
    for (int64_t t = begin; t < end && !failed_; ++t) {
      set(kernel_.task, scalar::int_value(t));
      if (!blocks_) begin_block();
      stmt(kernel_.body);
    }
    check_all_copied();
    if (failed_) return *failed_;
    return ok();
  }

 private:
  void fail(std::string message) {
    if (!failed_)
      failed_ = Diagnostic{.kind = DiagnosticKind::illegal_schedule,
                           .message = format("kernel {}: {}", kernel_.name, message)};
  }

  static bool has_thread_loop(const Stmt& s) {
    bool found = false;
    visit(
        s, [&](const Stmt& n) { found |= n->kind == StmtKind::For && n->for_kind == ForKind::Thread; },
        [](const Expr&) {});
    return found;
  }
  static bool has_tile(const Stmt& s) {
    bool found = false;
    visit(
        s,
        [&](const Stmt& n) {
          found |= is_tile_loop(n) || (n->kind == StmtKind::Alloc && n->buffer->scope == Scope::Tile);
        },
        [](const Expr&) {});
    return found;
  }
  void set(const Expr& var, Value value) { now_->vars[var.get()] = {value}; }
  void begin_block() {
    if (!has_blocks_) return;
    check_all_copied();
    copies_.clear();
    races_.begin_block();
    shared_.clear();
  }

  void check_all_copied() {
    if (const CopiesUnderWay::Element* copy = copies_.any())
      fail(format("a block ends before `{}` of thread {} is waited for", RaceCheck::text(copy->statement),
                  copy->thread));
  }

  // The address of an element; reports an error and returns null if there is none.
  char* element(const scalar::Source& source, std::span<const int64_t> indices, bool writes) {
    auto it = now_->arrays.find(&source);
    if (it == now_->arrays.end()) return fail(format("array {} is not in scope", source.name)), nullptr;
    const Array& a = *it->second;
    int64_t offset = 0;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      if (indices[d] < 0 || indices[d] >= a.shape[d])
        return fail(format("{}[{}] is outside of {}", source.name,
                           join(std::vector<int64_t>(indices.begin(), indices.end()), ", "), join(a.shape, " x "))),
               nullptr;
      offset = offset * a.shape[d] + indices[d];
    }
    if (has_blocks_) {
      const Buffer& buffer = static_cast<const Buffer&>(source);
      if (const CopiesUnderWay::Element* copy = copies_.find(buffer, offset))
        return fail(format("`{}` of thread {} touches {}[{}] before thread {} waits for `{}`",
                           RaceCheck::text(current_), thread_, source.name,
                           join(std::vector<int64_t>(indices.begin(), indices.end()), ", "), copy->thread,
                           RaceCheck::text(copy->statement))),
               nullptr;
      const bool is_for_several = buffer.scope == Scope::Shared || (buffer.scope == Scope::Param && !buffer.read_only);
      if (is_for_several)
        if (std::string race = races_.touch(buffer, offset, a.elements(), toucher(), writes, current_); !race.empty())
          return fail(std::move(race)), nullptr;
    }
    return a.data + offset * source.dtype.bytes();
  }

  Value eval(const Expr& e, int lane = 0) {
    auto var = [&](const Expr& v, int l) -> Value {
      auto it = now_->vars.find(v.get());
      if (it == now_->vars.end())
        return fail(format("variable {} is not in scope", v->name)), Value{v->dtype.element(), 0, 0};
      return it->second[std::min<size_t>(static_cast<size_t>(l), it->second.size() - 1)];
    };
    auto load = [&](const scalar::Source& source, std::span<const int64_t> indices) -> Value {
      DType t = source.dtype;
      const char* at = element(source, indices, false);
      uint64_t bits = 0;
      if (at) std::memcpy(&bits, at, static_cast<size_t>(t.bytes()));
      if (t.is_bool()) return {t, (bits & 255) != 0, 0};
      return scalar::reinterpret(t, scalar::int_value(static_cast<int64_t>(bits), bits_type(t)));
    };
    return scalar::eval(e, {var, load, false}, lane);
  }
  int64_t integer(const Expr& e, int lane = 0) { return eval(e, lane).i; }
  std::vector<Value> lanes_of(const Expr& e) {
    std::vector<Value> values;
    for (int l = 0; l < e->dtype.lanes; ++l) values.push_back(eval(e, l));
    return values;
  }

  // An array for the thread; for a shared one, that of the block.
  std::shared_ptr<Array> allocated(const Buffer& buffer) {
    const bool is_shared = buffer.scope == Scope::Shared;
    if (is_shared)
      if (const auto known = shared_.find(&buffer); known != shared_.end()) return known->second;
    std::shared_ptr<Array> a = std::make_shared<Array>();
    int64_t bytes = buffer.dtype.bytes();
    for (const Expr& e : buffer.shape) a->shape.push_back(integer(e)), bytes *= a->shape.back();
    a->own.assign(static_cast<size_t>(bytes), static_cast<char>(0xA5));
    a->data = a->own.data();
    if (is_shared) shared_[&buffer] = a;
    return a;
  }

  // --- all threads of a block, in the order of their numbers
  using Threads = std::vector<State>;
  void each(Threads& threads, function_ref<void()> run) {
    State* const outside = now_;
    for (thread_ = 0; thread_ < std::ssize(threads) && !failed_; ++thread_) {
      now_ = &threads[static_cast<size_t>(thread_)];
      run();
    }
    now_ = outside, thread_ = 0;
  }
  // The value of an integer, which must be the same for all threads; 0 after fail().
  int64_t same_for_all(const Expr& e, Threads& threads) {
    std::optional<int64_t> first;
    each(threads, [&] {
      const int64_t mine = integer(e);
      if (first.value_or(mine) != mine)
        fail(format("threads 0 and {} part at `{}`, which has a barrier or a shared array inside: {} is {} and {}",
                    thread_, RaceCheck::text(current_), scalar::str(e), *first, mine));
      if (!first) first = mine;
    });
    return failed_ ? 0 : first.value_or(0);
  }
  // The number of the thread in the race check. A step on tiles counts as a thread of its own.
  int64_t toucher() const { return step_ > 0 ? RaceCheck::first_step + step_ : thread_; }
  // The variables that a nest of tile loops takes from around it.
  const Exprs& outer_vars(const Stmt& s) {
    const auto [found, is_new] = outer_vars_.try_emplace(s.get());
    if (!is_new) return found->second;
    std::unordered_set<const scalar::Node*> own;
    visit(
        s,
        [&](const Stmt& n) {
          if (n->var) own.insert(n->var.get());
        },
        [](const Expr&) {});
    std::unordered_set<const scalar::Node*> seen;
    visit(
        s, [](const Stmt&) {},
        [&](const Expr& e) {
          for (const Expr& v : scalar::free_vars(e))
            if (!own.count(v.get()) && seen.insert(v.get()).second) found->second.push_back(v);
        });
    return found->second;
  }
  // A step on tiles, by each warp.
  void by_warps(const Stmt& s, Threads& threads) {
    if (std::ssize(threads) % warp_lanes != 0)
      return fail(format("a block of {} threads has a step on tiles, and warps have {}", threads.size(), warp_lanes));
    State* const outside = now_;
    for (size_t first = 0; first < threads.size() && !failed_; first += warp_lanes) {
      for (const Expr& v : outer_vars(s))
        for (size_t lane = 1; lane < warp_lanes; ++lane) {
          const auto a = threads[first].vars.find(v.get()), b = threads[first + lane].vars.find(v.get());
          if (a == threads[first].vars.end() || b == threads[first + lane].vars.end()) continue;  // reported by eval()
          if (a->second[0].i != b->second[0].i)
            return fail(format("{} differs in a warp, which runs a step on tiles as one: `{}`", v->name,
                               RaceCheck::text(s.get())));
        }
      now_ = &threads[first], thread_ = static_cast<int64_t>(first), step_ = ++steps_;
      stmt(s);
      step_ = 0;
    }
    now_ = outside, thread_ = 0;
  }
  Threads divided(const Stmt& loop, const Threads& threads) {
    const int64_t extent = integer(loop->extent);
    Threads all;
    if (extent < 1 || extent * std::ssize(threads) > most_threads)
      return fail(format("a block has no threads, or more than {}", most_threads)), all;
    for (const State& s : threads)
      for (int64_t i = 0; i < extent; ++i) {
        all.push_back(s);
        all.back().vars[loop->var.get()] = {scalar::int_value(i)};
      }
    return all;
  }

  void together(const Stmt& s, Threads& threads) {
    if (failed_) return;
    if (!together_.count(s.get())) return each(threads, [&] { stmt(s); });
    if (is_tile_loop(s)) return by_warps(s, threads);
    current_ = s.get();
    switch (s->kind) {
      case StmtKind::For: {
        if (s->for_kind == ForKind::Thread) {
          Threads all = divided(s, threads);
          return together(s->body[0], all);
        }
        const int64_t begin = same_for_all(s->min, threads), end = begin + same_for_all(s->extent, threads);
        for (int64_t i = begin; i < end && !failed_; ++i) {
          each(threads, [&] { set(s->var, scalar::int_value(i)); });
          together(s->body[0], threads);
        }
        break;
      }
      case StmtKind::Let:
        each(threads, [&] { now_->vars[s->var.get()] = lanes_of(s->value); });
        together(s->body[0], threads);
        break;
      case StmtKind::If: {
        const int64_t condition = same_for_all(s->condition, threads);
        if (condition)
          together(s->body[0], threads);
        else if (s->body.size() > 1)
          together(s->body[1], threads);
        break;
      }
      case StmtKind::Alloc:
        each(threads, [&] {
          const bool is_of_warp = s->buffer->scope == Scope::Tile && thread_ % warp_lanes != 0;
          now_->arrays[s->buffer.get()] =
              is_of_warp ? threads[static_cast<size_t>(thread_ / warp_lanes * warp_lanes)].arrays[s->buffer.get()]
                         : allocated(*s->buffer);
        });
        together(s->body[0], threads);
        break;
      case StmtKind::Block:
        for (const Stmt& b : s->body) together(b, threads);
        break;
      case StmtKind::Barrier: races_.pass_barrier(); break;
      case StmtKind::Store:
      case StmtKind::Prefetch:
      case StmtKind::AsyncCopy:
      case StmtKind::Commit:
      case StmtKind::Wait: break;  // these have no statements inside
    }
  }

  void stmt(const Stmt& s) {
    if (failed_) return;
    current_ = s.get();
    switch (s->kind) {
      case StmtKind::For: {
        if (s->for_kind == ForKind::Thread) {
          Threads one{*now_};
          return together(s, one);
        }
        int64_t begin = integer(s->min), end = begin + integer(s->extent);
        for (int64_t i = begin; i < end && !failed_; ++i) {
          set(s->var, scalar::int_value(i));
          if (s.get() == blocks_) begin_block();
          stmt(s->body[0]);
        }
        break;
      }
      case StmtKind::Store: {
        int lanes = s->value->dtype.lanes;
        for (const Expr& e : s->indices) lanes = std::max<int>(lanes, e->dtype.lanes);
        std::vector<std::pair<std::vector<int64_t>, Value>> writes;  // all lanes read before the first writes
        for (int l = 0; l < lanes; ++l) {
          if (s->condition && !eval(s->condition, l).i) continue;
          std::vector<int64_t> indices;
          for (const Expr& e : s->indices) indices.push_back(integer(e, l));
          writes.push_back({std::move(indices), eval(s->value, l)});
        }
        for (const auto& [indices, value] : writes) {
          char* at = element(*s->buffer, indices, true);
          if (!at) return;
          DType t = s->buffer->dtype;
          int64_t bits = t.is_bool() ? value.i : scalar::reinterpret(bits_type(t), value).i;
          std::memcpy(at, &bits, static_cast<size_t>(t.bytes()));
        }
        break;
      }
      case StmtKind::Let:
        now_->vars[s->var.get()] = lanes_of(s->value);
        stmt(s->body[0]);
        break;
      case StmtKind::If:
        if (integer(s->condition))
          stmt(s->body[0]);
        else if (s->body.size() > 1)
          stmt(s->body[1]);
        break;
      case StmtKind::Alloc:
        now_->arrays[s->buffer.get()] = allocated(*s->buffer);
        stmt(s->body[0]);
        break;
      case StmtKind::Block:
        for (const Stmt& b : s->body) stmt(b);
        break;
      case StmtKind::AsyncCopy: start_copy(s); break;
      case StmtKind::Commit: copies_.commit(thread_); break;
      case StmtKind::Wait: finish_copies(s); break;
      case StmtKind::Prefetch:
      case StmtKind::Barrier: break;  // of a single thread
    }
  }

  // The first of the elements of a copy; null after fail().
  char* first_of_copy(const scalar::Source& source, const std::vector<int64_t>& indices, int64_t bytes, bool writes) {
    char* first = element(source, indices, writes);
    if (first && (first - now_->arrays.at(&source)->data) % bytes != 0)
      return fail(format("`{}` begins at {}[{}], which is not at a multiple of its {} bytes", RaceCheck::text(current_),
                         source.name, join(indices, ", "), bytes)),
             nullptr;
    return first;
  }
  void start_copy(const Stmt& s) {
    const scalar::Source& source = *s->value->source;
    std::vector<int64_t> to, from;
    for (const Expr& e : s->indices) to.push_back(integer(e));
    for (const Expr& e : s->value->args) from.push_back(integer(e));
    const int64_t bytes = s->buffer->dtype.bytes(), elements = s->extent->ivalue;
    std::vector<CopiesUnderWay::Element> all;
    for (int64_t e = 0; e < elements; ++e, ++to.back(), ++from.back()) {
      const int64_t multiple = e == 0 ? elements * bytes : bytes;
      const char* read = first_of_copy(source, from, multiple, false);
      char* written = read ? first_of_copy(*s->buffer, to, multiple, true) : nullptr;
      if (!written) return;
      const Array& target = *now_->arrays.at(s->buffer.get());
      std::memset(written, 0xA5, static_cast<size_t>(bytes));
      all.push_back(
          {s->buffer.get(), (written - target.data) / bytes, target.elements(), written, read, s.get(), thread_});
    }
    for (const CopiesUnderWay::Element& e : all) copies_.start(e);
  }
  // The copies are written here: other threads are ordered with them by the next barrier.
  void finish_copies(const Stmt& s) {
    for (const CopiesUnderWay::Element& e : copies_.wait(thread_, s->extent->ivalue)) {
      std::memcpy(e.to, e.from, static_cast<size_t>(e.buffer->dtype.bytes()));
      if (std::string race = races_.touch(*e.buffer, e.number, e.elements, thread_, true, e.statement); !race.empty())
        return fail(std::move(race));
    }
  }

  const Kernel& kernel_;
  const bool has_blocks_;
  const StmtNode* blocks_ = nullptr;  // the innermost loop over blocks; null if each task is one
  std::optional<Diagnostic> failed_;
  State of_task_;
  State* now_ = &of_task_;             // of the thread that runs
  int64_t thread_ = 0;                 // its number in the block
  int64_t step_ = 0, steps_ = 0;       // the number of the step on tiles that is run, 0 if none is; of all so far
  const StmtNode* current_ = nullptr;  // the statement that is run
  RaceCheck races_;
  CopiesUnderWay copies_;
  std::unordered_map<const Buffer*, std::shared_ptr<Array>> shared_;  // of the block
  std::unordered_set<const StmtNode*> together_;                      // statements that all threads run together
  std::unordered_map<const StmtNode*, Exprs> outer_vars_;             // by nest of tile loops
};

}  // namespace

Status interpret(const Kernel& kernel, const std::vector<void*>& params, const std::vector<int64_t>& param_bytes,
                 const std::vector<int64_t>& shape, int64_t begin, int64_t end) {
  return Interpreter(kernel).run(params, param_bytes, shape, begin, end);
}

}  // namespace relay::loop
