// The entry of a kernel on a device (ptx.h): each thread runs every N-th task, where N is the number of threads; if the
// kernel has blocks of threads, each block runs every N-th task, where N is the number of blocks.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <numeric>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/llvm/nvptx/ptx.h"
#include "relay/loop/blocks.h"
#include "relay/loop/tiles.h"

namespace relay::codegen {

using llvm::BasicBlock;
using llvm::Type;
using scalar::Expr;
using scalar::Interval;

// Address spaces of NVPTX.
constexpr unsigned global_space = 1, shared_space = 3;

// The blocks that should fit on a multiprocessor at once. Left to itself, ptxas may spill the numbers of a thread's
// tile to run more, and with one it may take all registers for code that it reorders.
static int64_t blocks_at_once(const loop::Kernel& kernel, int64_t threads) {
  constexpr int64_t all_registers = 64 << 10;  // of a multiprocessor: on all processors from sm_75 on
  constexpr int64_t of_addresses = 80;         // of a thread, for all but its tile: ptxas uses 75 to 95 more
  int64_t numbers = 0;
  loop::visit(
      kernel.body,
      [&](const loop::Stmt& s) {
        if (s->kind != loop::StmtKind::Alloc || s->buffer->scope == loop::Scope::Shared) return;
        if (s->buffer->scope == loop::Scope::Tile)
          numbers += constant_elements(*s->buffer) * s->buffer->dtype.bytes() / 4 / loop::warp_lanes;
        else
          numbers += constant_elements(*s->buffer) * std::max(1, s->buffer->dtype.bytes() / 4);
      },
      [](const Expr&) {});
  return std::max<int64_t>(1, all_registers / threads / (numbers + of_addresses));
}

void KernelEmitter::barrier() {
  b_.CreateIntrinsic(llvm::Intrinsic::nvvm_barrier_cta_sync_aligned_all, {b_.getInt32(0)});
}

llvm::Value* KernelEmitter::shared_array(const loop::Buffer& b) {
  llvm::Type* type = llvm::ArrayType::get(values_.memory_type(b.dtype), static_cast<uint64_t>(constant_elements(b)));
  llvm::GlobalVariable* array =
      new llvm::GlobalVariable(module_, type, false, llvm::GlobalValue::InternalLinkage, llvm::UndefValue::get(type),
                               kernel_.name + "_" + b.name, nullptr, llvm::GlobalValue::NotThreadLocal, shared_space);
  array->setAlignment(llvm::Align(64));
  return llvm::ConstantExpr::getAddrSpaceCast(array, b_.getPtrTy());
}

llvm::Align KernelEmitter::shared_alignment(const loop::Buffer& b, const scalar::Exprs& indices) const {
  constexpr int64_t most = 16;  // bytes
  const int64_t bytes = b.dtype.bytes();
  Expr flat = scalar::imm(0);
  for (size_t d = 0; d < indices.size(); ++d) flat = flat * b.shape[d] + indices[d];
  flat = scalar::simplify(flat, bounds_);
  const std::optional<scalar::Affine> affine = scalar::as_affine(flat, scalar::free_vars(flat));
  if (!affine || !scalar::is_int(affine->rest)) return llvm::Align(static_cast<uint64_t>(bytes));
  int64_t elements = std::gcd(std::max<int64_t>(1, most / bytes), affine->rest->ivalue);
  for (const int64_t c : affine->coefficients) elements = std::gcd(elements, c);
  return llvm::Align(static_cast<uint64_t>(bytes * elements));
}

void KernelEmitter::run_on_device(const DeviceForm& form) {
  Type *index = b_.getInt64Ty(), *global = llvm::PointerType::get(context_, global_space);
  const unsigned arrays = static_cast<unsigned>(kernel_.params.size()),
                 sizes = static_cast<unsigned>(kernel_.shape_vars.size());
  std::vector<Type*> types(arrays, global);
  types.insert(types.end(), sizes + 1, index);
  types.insert(types.end(), {global, index});
  create_function(types, "kernel_" + kernel_.name);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  if (form.thread) {
    function_->addFnAttr("nvvm.reqntid", std::to_string(form.threads));
    function_->addFnAttr("nvvm.minctasm", std::to_string(blocks_at_once(kernel_, form.threads)));
  } else {
    function_->addFnAttr("nvvm.maxntid", std::to_string(ptx_block));
  }

  BasicBlock* entry = BasicBlock::Create(context_, "entry", function_);
  BasicBlock* start = BasicBlock::Create(context_, "start", function_);
  b_.SetInsertPoint(entry);
  b_.SetInsertPoint(b_.CreateBr(start));
  scopes_.push_back({});
  auto special = [&](llvm::Intrinsic::ID id) { return b_.CreateZExt(b_.CreateIntrinsic(id, {}), index); };
  llvm::Value *block = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ctaid_x),
              *width = special(llvm::Intrinsic::nvvm_read_ptx_sreg_ntid_x),
              *lane = special(llvm::Intrinsic::nvvm_read_ptx_sreg_tid_x),
              *blocks = special(llvm::Intrinsic::nvvm_read_ptx_sreg_nctaid_x);
  // The runner of tasks, a thread or a block, and the number of all runners.
  const Expr runner = scalar::var("runner"), runners = scalar::var("runners"), turn = scalar::var("turn"),
             asked = scalar::var("tasks");
  llvm::Value* number = b_.CreateAdd(b_.CreateMul(block, width, "", true, true), lane, "number", true, true);
  define(runner, form.thread ? block : number);
  define(runners, form.thread ? blocks : b_.CreateMul(blocks, width, "threads", true, true));
  if (form.thread) {
    define(form.thread, lane);
    bounds_.set(form.thread, 0, form.threads);
  }
  if (loop::has_tiles(kernel_)) {
    lane_ = {scalar::var("lane_row"), scalar::var("lane_column")};
    roles_ = loop::tile_roles(kernel_);
    define(lane_.row, b_.CreateLShr(b_.CreateAnd(lane, loop::warp_lanes - 1), 2, "lane_row"));
    define(lane_.column, b_.CreateAnd(lane, 3, "lane_column"));
    bounds_.set(lane_.row, 0, 8), bounds_.set(lane_.column, 0, 4);
    matrix_row_ = scalar::var("row"), matrix_low_ = scalar::var("low"), matrix_high_ = scalar::var("high");
    define(matrix_row_, b_.CreateAnd(lane, 7));
    define(matrix_low_, b_.CreateAnd(b_.CreateLShr(lane, 3), 1));
    define(matrix_high_, b_.CreateAnd(b_.CreateLShr(lane, 4), 1));
    bounds_.set(matrix_row_, 0, 8), bounds_.set(matrix_low_, 0, 2), bounds_.set(matrix_high_, 0, 2);
  }
  std::vector<Value*> bases;
  for (unsigned i = 0; i < arrays; ++i)
    bases.push_back(b_.CreateAddrSpaceCast(function_->getArg(i), b_.getPtrTy(), kernel_.params[i]->name));
  llvm::Value* mine = b_.CreateMul(number, function_->getArg(arrays + sizes + 2), "", true, true);
  setup_buffers(
      bases, b_.CreateGEP(b_.getInt8Ty(), b_.CreateAddrSpaceCast(function_->getArg(arrays + sizes + 1), b_.getPtrTy()),
                          mine, "scratch"));
  for (unsigned i = 0; i < sizes; ++i) define(kernel_.shape_vars[i], function_->getArg(arrays + i));
  define(asked, function_->getArg(arrays + sizes));
  b_.SetInsertPoint(start);

  bounds_.set(runner, Interval{0, std::nullopt});
  bounds_.set(runners, Interval{1, std::nullopt});
  const Expr all = form.per_task ? scalar::simplify(asked * form.per_task) : asked;
  const Expr turns = scalar::floordiv(all - runner + runners - 1, runners);
  Value* end = emit(turns);
  loop::Stmt body = loop::let(kernel_.task, runner + turn * runners, kernel_.body);
  // Blocks that run after one another share memory: one begins when all threads have left the one before.
  if (loop::shared_bytes(kernel_) > 0) body = loop::block({body, loop::barrier()});
  for_stmt(turn, b_.getInt64(0), end, {}, {0, std::nullopt}, body);
  b_.CreateRetVoid();
}

}  // namespace relay::codegen
