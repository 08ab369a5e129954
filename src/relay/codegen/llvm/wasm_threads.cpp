#include "relay/codegen/llvm/wasm_threads.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsWebAssembly.h>

namespace relay::codegen {

namespace {

using llvm::AtomicOrdering;
using llvm::AtomicRMWInst;
using llvm::BasicBlock;
using llvm::Function;
using llvm::FunctionType;
using llvm::GlobalValue;
using llvm::GlobalVariable;
using llvm::Type;
using llvm::Value;

// Reads of the call's number before a thread sleeps: some tens of microseconds, in which the next kernel mostly comes.
constexpr uint32_t reads_before_sleep = 20000;
// Parts of the tasks for each thread: a thread that is slower takes fewer of them.
constexpr uint64_t parts_each = 4;
constexpr uint64_t line_bytes = 64;

class ThreadsWriter {
 public:
  ThreadsWriter(llvm::Module& module, llvm::function_ref<void(Function&)> made)
      : module_(module), made_(made), b_(module.getContext()) {
    word_ = b_.getInt32Ty(), wide_ = b_.getInt64Ty(), pointer_ = b_.getPtrTy();
    number_ = global("call_number", word_), done_ = global("call_done", word_), next_ = global("call_next", wide_);
    kernel_ = global("call_kernel", pointer_), params_ = global("call_params", pointer_);
    shape_ = global("call_shape", pointer_), tasks_ = global("call_tasks", wide_), part_ = global("call_part", wide_);
    threads_ = global("threads", word_), failed_ = global("threads_failed", word_), end_ = global("threads_end", word_);
  }

  Function* write() {
    add_share();
    add_worker();
    add_controls();
    return add_call();
  }

 private:
  GlobalVariable* global(const char* name, Type* type) {
    GlobalVariable* made = new GlobalVariable(module_, type, false, GlobalValue::InternalLinkage,
                                              llvm::Constant::getNullValue(type), name);
    made->setAlignment(llvm::Align(line_bytes));
    return made;
  }

  Function* function(const char* name, Type* result, std::vector<Type*> args, bool exported) {
    const GlobalValue::LinkageTypes linkage = exported ? GlobalValue::ExternalLinkage : GlobalValue::InternalLinkage;
    Function* f = Function::Create(FunctionType::get(result, args, false), linkage, name, module_);
    made_(*f);
    f->addFnAttr(llvm::Attribute::NoInline);
    current_ = f;
    b_.SetInsertPoint(block("entry"));
    return f;
  }
  BasicBlock* block(const char* name) { return BasicBlock::Create(module_.getContext(), name, current_); }

  Value* read(GlobalVariable* from) {
    llvm::LoadInst* value = b_.CreateLoad(from->getValueType(), from);
    value->setAtomic(AtomicOrdering::SequentiallyConsistent);
    return value;
  }
  void write(Value* value, GlobalVariable* to) {
    b_.CreateStore(value, to)->setAtomic(AtomicOrdering::SequentiallyConsistent);
  }
  Value* add(GlobalVariable* to, Value* by) {
    return b_.CreateAtomicRMW(AtomicRMWInst::Add, to, by, llvm::MaybeAlign(), AtomicOrdering::SequentiallyConsistent);
  }
  void wake() {
    b_.CreateIntrinsic(llvm::Intrinsic::wasm_memory_atomic_notify, {}, {number_, b_.getInt32(UINT32_MAX)});
  }

  // (scratch): runs parts of the current call until none are left.
  void add_share() {
    share_ = function("share_call", b_.getVoidTy(), {pointer_}, false);
    BasicBlock *loop = block("loop"), *run = block("run"), *none = block("none");
    Value *part = read(part_), *tasks = read(tasks_), *kernel = read(kernel_), *params = read(params_),
          *shape = read(shape_);
    b_.CreateBr(loop);
    b_.SetInsertPoint(loop);
    Value* first = add(next_, part);
    b_.CreateCondBr(b_.CreateICmpSLT(first, tasks), run, none);
    b_.SetInsertPoint(run);
    Value* last = b_.CreateAdd(first, part);
    Value* end = b_.CreateSelect(b_.CreateICmpSLT(last, tasks), last, tasks);
    b_.CreateCall(kernel_type(), kernel, {params, shape, first, end, share_->getArg(0)});
    b_.CreateBr(loop);
    b_.SetInsertPoint(none);
    b_.CreateRetVoid();
  }

  FunctionType* kernel_type() {
    return FunctionType::get(b_.getVoidTy(), {pointer_, pointer_, wide_, wide_, pointer_}, false);
  }

  void add_worker() {
    Function* f = function(wasm_worker, b_.getVoidTy(), {pointer_}, true);
    BasicBlock *before = b_.GetInsertBlock(), *serve = block("serve"), *look = block("look"), *again = block("again"),
               *sleep = block("sleep"), *called = block("called"), *share = block("share"), *out = block("out");
    b_.CreateBr(serve);
    b_.SetInsertPoint(serve);
    llvm::PHINode* seen = b_.CreatePHI(word_, 2);
    seen->addIncoming(b_.getInt32(0), before);
    b_.CreateBr(look);
    b_.SetInsertPoint(look);
    llvm::PHINode* reads = b_.CreatePHI(word_, 3);
    reads->addIncoming(b_.getInt32(0), serve);
    Value* now = read(number_);
    b_.CreateCondBr(b_.CreateICmpNE(now, seen), called, again);
    b_.SetInsertPoint(again);
    Value* more = b_.CreateAdd(reads, b_.getInt32(1));
    reads->addIncoming(more, again);
    b_.CreateCondBr(b_.CreateICmpULT(more, b_.getInt32(reads_before_sleep)), look, sleep);
    b_.SetInsertPoint(sleep);
    b_.CreateIntrinsic(llvm::Intrinsic::wasm_memory_atomic_wait32, {}, {number_, seen, b_.getInt64(UINT64_MAX)});
    reads->addIncoming(b_.getInt32(0), sleep);
    b_.CreateBr(look);
    b_.SetInsertPoint(called);
    b_.CreateCondBr(b_.CreateICmpNE(read(end_), b_.getInt32(0)), out, share);
    b_.SetInsertPoint(share);
    b_.CreateCall(share_, {f->getArg(0)});
    add(done_, b_.getInt32(1));
    seen->addIncoming(now, share);
    b_.CreateBr(serve);
    b_.SetInsertPoint(out);
    b_.CreateRetVoid();
  }

  void add_controls() {
    Function* serve = function(wasm_serve, b_.getVoidTy(), {word_}, true);
    write(serve->getArg(0), threads_);
    b_.CreateRetVoid();
    function(wasm_fail, b_.getVoidTy(), {}, true);
    add(failed_, b_.getInt32(1));
    b_.CreateRetVoid();
    function(wasm_stop, b_.getVoidTy(), {}, true);
    write(b_.getInt32(0), threads_);
    write(b_.getInt32(1), end_);
    add(number_, b_.getInt32(1));
    wake();
    b_.CreateRetVoid();
  }

  // Waits by reading: pages must not sleep. A failed thread never leaves a call.
  Function* add_call() {
    Function* f = function("call_on_threads", b_.getInt1Ty(), {pointer_, pointer_, pointer_, wide_, pointer_}, false);
    BasicBlock *alone = block("alone"), *together = block("together"), *wait = block("wait"), *out = block("out");
    Value *tasks = f->getArg(3), *threads = read(threads_);
    b_.CreateCondBr(b_.CreateOr(b_.CreateICmpEQ(threads, b_.getInt32(0)), b_.CreateICmpSLE(tasks, b_.getInt64(1))),
                    alone, together);
    b_.SetInsertPoint(alone);
    b_.CreateCall(kernel_type(), f->getArg(0), {f->getArg(1), f->getArg(2), b_.getInt64(0), tasks, f->getArg(4)});
    b_.CreateRet(b_.getInt1(true));
    b_.SetInsertPoint(together);
    write(f->getArg(0), kernel_), write(f->getArg(1), params_), write(f->getArg(2), shape_), write(tasks, tasks_);
    Value* parts = b_.CreateMul(b_.CreateZExt(b_.CreateAdd(threads, b_.getInt32(1)), wide_), b_.getInt64(parts_each));
    write(b_.CreateUDiv(b_.CreateAdd(tasks, b_.CreateSub(parts, b_.getInt64(1))), parts), part_);
    write(b_.getInt64(0), next_), write(b_.getInt32(0), done_);
    add(number_, b_.getInt32(1));
    wake();
    b_.CreateCall(share_, {f->getArg(4)});
    b_.CreateBr(wait);
    b_.SetInsertPoint(wait);
    Value* failed = read(failed_);
    b_.CreateCondBr(b_.CreateICmpUGE(b_.CreateAdd(read(done_), failed), threads), out, wait);
    b_.SetInsertPoint(out);
    b_.CreateRet(b_.CreateICmpEQ(failed, b_.getInt32(0)));
    return f;
  }

  llvm::Module& module_;
  llvm::function_ref<void(Function&)> made_;
  llvm::IRBuilder<> b_;
  Type *word_, *wide_, *pointer_;
  GlobalVariable *number_, *done_, *next_, *kernel_, *params_, *shape_, *tasks_, *part_, *threads_, *failed_, *end_;
  Function *share_ = nullptr, *current_ = nullptr;
};

}  // namespace

Function* add_wasm_threads(llvm::Module& module, llvm::function_ref<void(Function&)> made) {
  return ThreadsWriter(module, made).write();
}

}  // namespace relay::codegen
