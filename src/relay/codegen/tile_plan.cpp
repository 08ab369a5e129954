#include "relay/codegen/tile_plan.h"

#include <algorithm>

#include "relay/machine/instruction.h"

namespace relay::codegen {

using loop::Stmt;

namespace {

TileShape shape_of(const loop::Buffer& tile) {
  return {static_cast<int>(tile.shape[0]->ivalue), loop::row_bytes(tile)};
}

class Planner {
 public:
  Result<TilePlan> run(const loop::Kernel& kernel) {
    stmt(kernel.body);
    if (failed_)
      return Diagnostic{.kind = DiagnosticKind::illegal_schedule,
                        .message = format("kernel {} needs tiles of more shapes than the {} tiles of the machine",
                                          kernel.name, loop::TileLimits{}.tiles),
                        .help = "give all tiles of rows and of columns one length, or sum fewer tiles at once"};
    return std::move(plan_);
  }

 private:
  void stmt(const Stmt& s) {
    if (s->kind == loop::StmtKind::Alloc && s->buffer->scope == loop::Scope::Tile) return outermost(s);
    for (const Stmt& b : s->body) stmt(b);
  }

  // In the kernel's configuration if its free tiles suffice.
  void outermost(const Stmt& s) {
    shapes_ = plan_.first.value_or(TileConfiguration{});
    if (place(s)) {
      plan_.first = shapes_;
      return;
    }
    shapes_ = {};
    if (place(s))
      plan_.configurations[s.get()] = shapes_;
    else
      failed_ = true;
  }

  // Numbers the tiles of a scope; false if there are too few.
  bool place(const Stmt& s) {
    if (s->kind != loop::StmtKind::Alloc || s->buffer->scope != loop::Scope::Tile)
      return std::ranges::all_of(s->body, [&](const Stmt& b) { return place(b); });
    const TileShape shape = shape_of(*s->buffer);
    size_t number = 0;
    while (number < shapes_.size() &&
           ((alive_ >> number & 1) != 0 || (shapes_[number].rows != 0 && shapes_[number] != shape)))
      ++number;
    if (number == shapes_.size()) return false;
    shapes_[number] = shape, plan_.numbers[s->buffer.get()] = static_cast<int>(number);
    alive_ |= 1U << number;
    const bool fits = place(s->body[0]);
    alive_ &= ~(1U << number);
    return fits;
  }

  TilePlan plan_;
  TileConfiguration shapes_{};
  unsigned alive_ = 0;  // a bit for each number
  bool failed_ = false;
};

}  // namespace

loop::TileLimits tile_limits(const TargetDesc& target) {
  if (!machine::has_tiles_in_vectors(target)) return {};
  loop::TileLimits limits{target.vector_registers, 0, target.vector_bytes};
  for (const machine::Instruction& i : machine::instructions())
    if (i.in_vectors) limits.rows = std::max(limits.rows, i.rows);
  return limits;
}

Result<TilePlan> plan_tiles(const loop::Kernel& kernel, const TargetDesc& target) {
  if (machine::has_tiles_in_vectors(target)) return TilePlan{};
  return Planner().run(kernel);
}

}  // namespace relay::codegen
