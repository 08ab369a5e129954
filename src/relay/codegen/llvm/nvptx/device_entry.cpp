// The entry of a kernel on a device (ptx.h): each thread runs every N-th task, where N is the number of threads.
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/Module.h>

#include "relay/codegen/llvm/kernel_emitter.h"
#include "relay/codegen/llvm/nvptx/ptx.h"

namespace relay::codegen {

using llvm::BasicBlock;
using llvm::Type;
using scalar::Expr;
using scalar::Interval;

void KernelEmitter::run_on_device(const Expr& per_task) {
  Type *index = b_.getInt64Ty(), *global = llvm::PointerType::get(context_, 1);
  const unsigned arrays = static_cast<unsigned>(kernel_.params.size()),
                 sizes = static_cast<unsigned>(kernel_.shape_vars.size());
  std::vector<Type*> types(arrays, global);
  types.insert(types.end(), sizes + 1, index);
  types.insert(types.end(), {global, index});
  create_function(types, "kernel_" + kernel_.name);
  function_->setCallingConv(llvm::CallingConv::PTX_Kernel);
  function_->addFnAttr("nvvm.maxntid", std::to_string(ptx_block));

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
  const Expr thread = scalar::var("thread"), threads = scalar::var("threads"), turn = scalar::var("turn"),
             asked = scalar::var("tasks");
  llvm::Value* number = b_.CreateAdd(b_.CreateMul(block, width, "", true, true), lane, "thread", true, true);
  define(thread, number);
  define(threads, b_.CreateMul(blocks, width, "threads", true, true));
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

  bounds_.set(thread, Interval{0, std::nullopt});
  bounds_.set(threads, Interval{1, std::nullopt});
  const Expr all = per_task ? scalar::simplify(asked * per_task) : asked;
  const Expr turns = scalar::floordiv(all - thread + threads - 1, threads);
  Value* end = emit(turns);
  for_stmt(turn, b_.getInt64(0), end, {}, {0, std::nullopt},
           loop::let(kernel_.task, thread + turn * threads, kernel_.body));
  b_.CreateRetVoid();
}

}  // namespace relay::codegen
