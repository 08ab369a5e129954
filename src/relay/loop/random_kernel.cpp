#include "relay/loop/random_kernel.h"

#include <algorithm>
#include <random>

#include "relay/base/diagnostics.h"

namespace relay::loop {
namespace {

using scalar::cast;
using scalar::fimm;
using scalar::imm;
using scalar::load;
using scalar::select;

class Generator {
 public:
  explicit Generator(uint64_t seed) : random_(seed) {}

  Kernel run() {
    Kernel k;
    k.name = "random_kernel";
    Expr n = scalar::var("n");
    k.shape_vars = {n};
    x_ = param("x", DType::float32(), {n, imm(columns)}, true),
    index_ = param("index", DType::int32(), {imm(columns)}, true);
    y_ = param("y", DType::float32(), {n, imm(columns)}, false),
    z_ = param("z", DType::int32(), {n, imm(columns)}, false);
    k.params = {x_, index_, y_, z_};
    k.task = row_ = scalar::var("i"), k.tasks = n, rows_ = n;
    Stmts parts;
    for (int64_t count = pick(1, 3); count > 0; --count) parts.push_back(pick(0, 2) == 0 ? with_local() : nest());
    k.body = block(std::move(parts));
    return k;
  }

 private:
  static constexpr int64_t columns = 24;

  int64_t pick(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(random_() % static_cast<uint64_t>(high - low + 1));
  }
  bool chance(int64_t percent) { return pick(1, 100) <= percent; }

  static BufferRef param(const char* name, DType t, Exprs shape, bool read_only) {
    Buffer b;
    b.name = name, b.dtype = t, b.shape = std::move(shape), b.scope = Scope::Param, b.read_only = read_only;
    return make<Buffer>(std::move(b));
  }
  static Expr inside(const Expr& e) { return scalar::logical_and(scalar::le(imm(0), e), scalar::lt(e, imm(columns))); }
  ForKind kind(bool vector) {
    int64_t k = pick(0, 2);
    return k == 0 ? ForKind::Serial : k == 1 && vector ? ForKind::Vectorised : ForKind::Unrolled;
  }

  // A column that depends on the lane and may be out of range; `lane_only`: different in each lane.
  Expr column(bool lane_only) {
    Expr e = lane_ * (chance(70) ? 1 : pick(1, 3)) + outer_ * pick(-2, 8) + pick(-3, 3);
    if (!lane_only && chance(15)) e = scalar::floordiv(lane_ + pick(0, 4), pick(1, 5)) + pick(0, 3);
    if (!lane_only && chance(15)) e = scalar::floormod(lane_ * pick(1, 3) + outer_, pick(2, 9));
    if (!lane_only && chance(10)) e = outer_ + pick(0, 3);
    if (!lane_only && chance(10)) e = imm(pick(10, 20)) - lane_;
    return e;
  }

  Expr guarded(Expr condition, Expr value) {
    return select(std::move(condition), value, fimm(static_cast<double>(pick(-1, 1))));
  }

  Expr leaf() {
    switch (pick(0, 6)) {
      case 0: return fimm(static_cast<double>(pick(-2, 2)));
      case 1: return load(y_, {row_, store_column_});  // the place this iteration stores to
      case 2: {
        Expr c = column(false);
        Expr gathered = cast(DType::int64(), load(index_, {c}));
        return guarded(inside(c), load(x_, {row_, gathered}));
      }
      case 3: {
        Expr c = column(false), r = row_ + pick(-1, 1);
        return guarded(scalar::logical_and(inside(c), scalar::logical_and(scalar::le(imm(0), r), scalar::lt(r, rows_))),
                       load(x_, {r, c}));
      }
      case 4: return cast(DType::float32(), lane_);
      case 5:
        if (local_) return load(local_, {outer_, lane_});
        [[fallthrough]];
      default: {
        Expr c = column(false);
        return guarded(inside(c), load(x_, {row_, c}));
      }
    }
  }

  Expr value(int depth) {
    if (depth == 0) return leaf();
    Expr a = value(depth - 1), b = value(pick(0, depth - 1));
    switch (pick(0, 6)) {
      case 0: return a + b;
      case 1: return a - b;
      case 2: return a * b;
      case 3: return scalar::max(a, b);
      case 4: return scalar::min(a, b);
      case 5: return select(scalar::lt(a, b), a, b + fimm(1));
      default: return select(scalar::lt(lane_, imm(pick(0, 8))), a, b);
    }
  }

  Stmt inner() {
    store_column_ = column(true);
    Expr v = value(static_cast<int>(pick(0, 3)));
    Stmt s;
    if (chance(30)) {
      Expr t = scalar::var("t", DType::float32());
      s = let(t, v, store(y_, {row_, store_column_}, t + fimm(1)));
    } else if (chance(30)) {
      s = store(z_, {row_, store_column_}, cast(DType::int32(), v) + load(z_, {row_, store_column_}));
    } else {
      s = store(y_, {row_, store_column_}, v);
    }
    if (chance(25))
      s = if_(scalar::lt(imm(pick(0, 4)), lane_ + outer_), s,
              chance(50) ? store(y_, {row_, store_column_}, fimm(2)) : Stmt{});
    return if_(inside(store_column_), s);
  }

  Stmt loops(function_ref<Stmt()> body, ForKind outer, ForKind inner_kind, int64_t rows, int64_t lanes) {
    outer_ = scalar::var("a"), lane_ = scalar::var("l");
    Stmt s = body();
    return for_(outer_, imm(0), imm(rows), outer, for_(lane_, imm(0), imm(lanes), inner_kind, s));
  }

  Stmt nest() {
    Expr outer = outer_, lane = lane_;
    Stmt s = loops([&] { return inner(); }, kind(false), kind(true), pick(1, 3), chance(50) ? 8 : pick(2, 9));
    outer_ = outer, lane_ = lane;
    return s;
  }

  // A local array that loops of one kind fill, change and read.
  Stmt with_local() {
    int64_t rows = pick(1, 3), lanes = chance(50) ? 8 : pick(2, 9);
    Scope scope = static_cast<Scope>(pick(1, 3));
    ForKind outer = scope == Scope::Register ? ForKind::Unrolled : kind(false);
    ForKind inner_kind = scope == Scope::Register && chance(60) ? ForKind::Vectorised
                         : scope == Scope::Register             ? ForKind::Unrolled
                                                                : kind(true);
    if (inner_kind == ForKind::Unrolled)
      rows = std::min<int64_t>(rows, 2), lanes = std::min<int64_t>(lanes, 6);  // they must fit
    BufferRef t = buffer("t", DType::float32(), {imm(rows), imm(lanes)}, scope);
    Stmts parts;
    auto set = [&] {
      store_column_ = imm(pick(0, columns - 1));
      return store(t, {outer_, lane_}, value(1));
    };
    parts.push_back(loops(set, outer, inner_kind, rows, lanes));
    local_ = t;
    auto change = [&] {
      store_column_ = imm(pick(0, columns - 1));
      Stmt s = store(t, {outer_, lane_}, load(t, {outer_, lane_}) + value(1));
      return chance(40) ? if_(scalar::lt(lane_, imm(pick(1, 6))), s) : s;
    };
    Expr again = scalar::var("p");
    Stmt changes = loops(change, outer, inner_kind, rows, lanes);
    parts.push_back(for_(again, imm(0), chance(50) ? rows_ - 2 : imm(pick(0, 3)), ForKind::Serial, changes));
    parts.push_back(loops([&] { return inner(); }, outer, inner_kind, rows, lanes));
    local_ = {};
    return alloc(t, block(std::move(parts)));
  }

  std::mt19937_64 random_;
  BufferRef x_, index_, y_, z_, local_;
  Expr row_, rows_, outer_, lane_, store_column_;
};

}  // namespace

Kernel random_kernel(uint64_t seed) { return Generator(seed).run(); }

}  // namespace relay::loop
