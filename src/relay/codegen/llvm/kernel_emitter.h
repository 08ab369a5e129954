// KernelEmitter: turns a prepared kernel into an LLVM function. Internal to codegen/; the statements and expressions
// are in llvm_kernel.cpp, loads and stores in llvm_memory.cpp.
//
// Placement of values. Statements nest in *scopes*: the body of a loop, of a branch, or the straight line after a let.
// An integer expression without loads is placed at the outermost loop level that defines its variables (at the end of
// the block before the next loop), and remembered there, so that index arithmetic leaves loops and is never repeated.
// An address is a chain of such steps, one per loop level, and then a constant, which becomes the instruction's
// displacement. The step of an innermost loop is a pointer that the loop increments. Loads of arrays that the kernel
// never stores are remembered in their scope. Everything else is
// remembered within its statement only.
//
// Guards. If an expression is evaluated for some lanes only (under a select or a masked store), loads are masked: a
// vector load by the lanes, a scalar load by reading zeros from a safe place instead.
#pragma once

#include <map>
#include <span>
#include <unordered_map>
#include <vector>

#include "relay/codegen/llvm/values.h"
#include "relay/codegen/registers.h"
#include "relay/codegen/scalar_form.h"
#include "relay/codegen/tile_plan.h"
#include "relay/loop/lanes.h"
#include "relay/loop/warp_tiles.h"

namespace relay::codegen {

// The number of an array's elements; -1 if it is not a constant.
int64_t constant_elements(const loop::Buffer& b);

class KernelEmitter {
 public:
  KernelEmitter(const loop::Kernel& kernel, const TargetDesc& target, const RegisterPlan& registers,
                const TilePlan& tiles, llvm::Module& module);
  void run();
  // Emits an entry of a device (nvptx/ptx.h). `form`: of this kernel, which has no vectors and no register buffers.
  void run_on_device(const DeviceForm& form);

 private:
  using Value = llvm::Value;

  struct Remembered {
    scalar::Expr expr;
    Value* tag;  // the other dependency of the value: a base pointer, a guard
    Value* value;
  };
  // A register buffer's rows (groups) from `offset` on, `stride` apart, transposed: values[j] holds element j of each.
  struct Columns {
    const loop::Buffer* buffer;
    int64_t offset, stride;
    int lanes;
    std::vector<Value*> values;
  };
  // A pointer that a loop increments by `steps` elements; its value is `origin` where the loop's index is 0.
  struct SteppedPointer {
    llvm::PHINode* phi;
    Value* origin;
    llvm::Type* element;
    Value* steps;
  };
  struct Frame {
    enum Kind : uint8_t { Straight, Branch, Loop } kind = Straight;
    llvm::Instruction* before = nullptr;  // Loop: the jump into it
    llvm::PHINode* index = nullptr;       // Loop without loops in it: its variable, as a value
    scalar::Expr var{};                   // ... and as an expression
    std::unordered_multimap<uint64_t, Remembered> memo{}, runs{};
    std::vector<Columns> columns{};
    std::vector<SteppedPointer> pointers{};
  };
  struct Local {  // a value of this statement, and its guard
    scalar::Expr expr;
    Value* guard;
    Value* value;
  };

  void create_function(std::span<llvm::Type* const> params, const std::string& name);

  // --- statements (llvm_kernel.cpp)
  void stmt(const loop::Stmt& s);
  void for_stmt(const scalar::Expr& var, Value* begin, Value* end, scalar::Interval extent, scalar::Interval range,
                const loop::Stmt& body);
  void if_stmt(const loop::Stmt& s);
  void alloc_stmt(const loop::Stmt& s);
  void barrier();                              // of a block's threads, on devices that have them
  Value* shared_array(const loop::Buffer& b);  // one for all threads of a block
  // The known alignment of an element of a shared array, for vectors of up to 16 bytes.
  llvm::Align shared_alignment(const loop::Buffer& b, const scalar::Exprs& indices) const;
  void branch(Value* condition, function_ref<void()> then, function_ref<void()> otherwise);
  void define(const scalar::Expr& var, Value* value);

  // --- expressions
  Value* emit(const scalar::Expr& e);
  Value* compute(const scalar::Expr& e);
  Value* binary(const scalar::Expr& e);
  Value* contracted(const scalar::Expr& e);
  // --- tiles (llvm_tiles.cpp)
  void alloc_tile(const loop::Stmt& s);
  void tile_stmt(const loop::Stmt& s);
  void configure(const TileConfiguration& configuration);
  Value* tile_number(const loop::Buffer* tile);
  // --- tiles of warps (nvptx/mma.cpp)
  void alloc_fragment(const loop::Stmt& s);
  void warp_tile_stmt(const loop::Stmt& s);
  void fill_fragment(const loop::WarpStep& step);
  // Loads an operand from shared memory by ldmatrix; false if its rows are not aligned.
  bool load_matrices(const loop::WarpStep& step, loop::TileRole role);
  void store_fragment(const loop::WarpStep& step);
  void multiply_fragments(const loop::WarpStep& step);
  // --- asynchronous copies to shared memory (nvptx/async_copy.cpp)
  void async_copy(const loop::Stmt& s);
  void commit_copies();
  void wait_for_copies(const loop::Stmt& s);
  // --- tiles in vector registers (llvm_vector_tiles.cpp)
  void alloc_vector_tile(const loop::Stmt& s);
  void vector_tile_step(const loop::TileStep& step);
  Value* row_pointer(const loop::TileStep& step, int64_t row);
  Value* loaded_rows(const loop::TileStep& step);
  void store_rows(const loop::TileStep& step);
  // --- dot products of narrow numbers (llvm_dot.cpp)
  Value* dot(const scalar::Expr& e, const scalar::Expr& sum);
  Value* side_by_side(std::span<const scalar::Expr> of);
  Value* bits_side_by_side(scalar::BinaryOp op, std::span<const scalar::Expr> left,
                           std::span<const scalar::Expr> right);
  Value* load_run(std::span<const scalar::Expr> of);
  Value* opaque_copies(Value* numbers, unsigned lanes);
  bool is_run(std::span<const scalar::Expr> of);
  Value* known_in_lanes(const scalar::Expr& e);
  Value* lane_comparison(const scalar::Expr& e);
  Value* lane_division(const scalar::Expr& e);
  Value* select(const scalar::Expr& e);
  bool loads_memory(const scalar::Expr& e);  // somewhere below
  Value* both(Value* guard, Value* condition);
  bool holds_under(Value* tag) const;
  Value* any_lane(Value* mask);

  // --- placing
  int depth(const scalar::Expr& e);  // of the innermost scope that defines one of its variables
  Value* place(const scalar::Expr& e, Value* tag, int depth, function_ref<Value*()> make);
  bool is_index(const scalar::Expr& e);

  // --- addresses (llvm_address.cpp)
  struct Address {
    Value* pointer = nullptr;      // of lane 0
    int64_t stride = 0;            // between lanes, in elements; 0: one element for all
    Value* pointers = nullptr;     // of each lane, if there is no stride
    std::vector<int64_t> offsets;  // constant offsets of the lanes from `pointer`, if near_lanes takes them
  };
  std::optional<loop::LaneTable> table_of(const scalar::Exprs& indices, const scalar::Exprs& steps, int lanes) const;
  Address address(const loop::Buffer* buffer, const scalar::Exprs& indices, int lanes, bool loads = false);
  Value* pointer_to(const loop::Buffer* buffer, const scalar::Expr& flat);
  Value* stepped_pointer(const scalar::Expr& sum, Value* pointer, llvm::Type* element, int level);
  void complete_steps(const Frame& loop);

  // --- memory (llvm_memory.cpp)
  // `bases`: the addresses of the kernel's arrays.
  void setup_buffers(std::span<Value* const> bases, Value* scratch);
  Value* base_of(const loop::Buffer* buffer);
  Value* opaque(Value* base);
  std::vector<int64_t> near_lanes(std::vector<int64_t> offsets, int bytes) const;
  Value* load_near(llvm::Type* type, Value* pointer, const std::vector<int64_t>& offsets, llvm::Align align);
  Value* load_runs(llvm::Type* type, Value* pointer, const std::vector<int64_t>& offsets, llvm::Align align);
  bool is_free_of_guards(const scalar::Expr& e) const;
  Value* load(const scalar::Expr& e);
  Value* load_memory(const loop::Buffer* buffer, const scalar::Exprs& indices, DType t);
  Value* guarded(Value* pointer);
  void store(const loop::Stmt& s);
  void store_memory(const loop::Buffer* buffer, const Address& at, Value* value, Value* mask, DType t);
  void store_first(const loop::Buffer* buffer, Value* v, Value* pointer, llvm::Align align, unsigned count);
  Value* mask_of(int lanes);
  bool has_masked_access(int bytes) const;
  Value* lane_by_lane(llvm::Type* type, Value* pointer, Value* mask, Value* stored);
  void prefetch(const loop::Stmt& s);
  Value* load_register(const loop::Buffer* buffer, const scalar::Exprs& indices, DType t);
  Value* load_across(const loop::Buffer* buffer, const RegisterAccess& access);
  const std::vector<Value*>& columns(const loop::Buffer* buffer, const RegisterAccess& rows, int width);
  void store_register(const loop::Buffer* buffer, const scalar::Exprs& indices, Value* value, Value* mask);
  // The group that holds an element, and its value; null if no group does.
  std::pair<const RegisterGroup*, llvm::AllocaInst*> register_of(const loop::Buffer* buffer, int64_t element);
  void annotate(Value* access, const loop::Buffer* buffer);

  const loop::Kernel& kernel_;
  const TargetDesc& target_;
  const RegisterPlan& registers_;
  const TilePlan& tiles_;
  const bool tiles_in_vectors_;
  std::unordered_map<const loop::Buffer*, llvm::AllocaInst*> vector_tiles_{};
  llvm::Module& module_;
  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  Values values_;
  llvm::Function* function_ = nullptr;

  std::vector<Frame> scopes_;
  std::vector<Local> locals_;
  std::unordered_multimap<const scalar::Node*, size_t> local_index_;
  std::unordered_map<const scalar::Node*, std::pair<Value*, int>> vars_;  // value and depth
  std::unordered_map<const scalar::Node*, std::pair<scalar::Expr, bool>> is_index_, loads_memory_;
  scalar::Bounds bounds_;
  Value* guard_ = nullptr;  // the lanes for which the expression is evaluated: an i1 or one per lane; null if always
  scalar::Expr guard_expr_;
  // True if the expression is one of two that read arrays, and most vectors use only one of the two. The address of the
  // other is then far from its array, where a masked load costs hundreds of cycles although it reads nothing.
  bool one_of_two_ = false;
  std::unordered_map<Value*, Value*> outer_guard_;   // by guard: the guard around it
  std::unordered_map<Value*, Value*> loaded_under_;  // by value read from memory: its guard

  std::unordered_map<const loop::Buffer*, Value*> bases_;
  std::unordered_map<Value*, Value*> opaque_;  // of bases, and of numbers that are copied to all lanes
  bool forces_own_load_ = false;               // the load that is emitted must not reuse the value of another load
  std::unordered_map<const loop::Buffer*, llvm::MDNode*> scopes_of_, others_of_;  // alias scopes
  std::unordered_map<const scalar::Source*, bool> stored_;
  std::unordered_map<const loop::Buffer*, std::vector<llvm::AllocaInst*>> register_values_;
  std::vector<llvm::AllocaInst*>
      register_slots_;  // all register values in the order of creation, which determines the order
                        // of phi nodes
  std::map<std::pair<llvm::Type*, bool>, llvm::AllocaInst*> lane_copies_;  // of lane_by_lane: data, flags
  llvm::GlobalVariable* zeros_ = nullptr;                                  // read by a load whose guard is false
  std::unordered_map<Value*, Value*> any_;                                 // by mask: a flag that is true if any lane
                                                                           // is set
  Value* scratch_ = nullptr;
  int64_t scratch_used_ = 0;

  loop::Lane lane_;                                     // of the thread in its warp; null without tiles of warps
  scalar::Expr matrix_row_, matrix_low_, matrix_high_;  // of the lane: its last three bits, and the next two
  std::unordered_map<const loop::Buffer*, loop::TileRole> roles_;
  std::unordered_map<const loop::Buffer*, std::vector<llvm::AllocaInst*>> fragments_;  // registers of this lane
};

// LLVM's product of tiles for a step that multiplies.
llvm::Intrinsic::ID product_of(const TargetDesc& target, const loop::TileStep& step);

}  // namespace relay::codegen
