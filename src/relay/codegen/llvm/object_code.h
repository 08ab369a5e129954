// ObjectCode: writes LLVM code that works on objects (runtime/functions/value.h) and calls the runtime's operations
// (runtime/functions/native.h). Internal to codegen/, for llvm_functions.cpp.
//
//   retain(o); release(o);   // counted in place; the last count calls destroy()
//   Value* made = operation(offsetof(relay_operations, tuple), b_.getPtrTy(), {run_, fields, count});
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <vector>

#include "relay/runtime/functions/native.h"
#include "relay/runtime/functions/value.h"

namespace relay::codegen {

// Offsets in objects.
constexpr uint64_t id_at = offsetof(runtime::Object, id), kind_at = offsetof(runtime::Object, kind),
                   tag_at = offsetof(runtime::Object, tag), size_at = offsetof(runtime::Object, size),
                   fields_at = sizeof(runtime::Object),
                   data_at = sizeof(runtime::Object);  // in a tensor: the first member of TensorObject
static_assert(offsetof(runtime::Object, count) == 0 && sizeof(std::atomic<uint32_t>) == 4);
static_assert(sizeof(runtime::TensorObject) == data_at + 2 * sizeof(void*));

// The type of a function of `objects` objects. It has those that are passed in machine registers, besides the run.
constexpr size_t in_registers = 5;
inline llvm::FunctionType* function_type(llvm::LLVMContext& context, size_t objects) {
  llvm::Type* pointer = llvm::PointerType::get(context, 0);
  return llvm::FunctionType::get(pointer, std::vector<llvm::Type*>(1 + std::min(objects, in_registers), pointer),
                                 false);
}

class ObjectCode {
 protected:
  using BasicBlock = llvm::BasicBlock;
  using Type = llvm::Type;
  using Value = llvm::Value;

  explicit ObjectCode(llvm::Function* to) : context_(to->getContext()), b_(context_), to_(to), run_(to->getArg(0)) {
    run_->setName("run");
  }

  BasicBlock* block(const std::string& name) { return BasicBlock::Create(context_, name, to_); }
  Value* at(Value* base, uint64_t offset) {
    return offset ? b_.CreateConstGEP1_64(b_.getInt8Ty(), base, offset) : base;
  }
  Value* load(Type* type, Value* base, uint64_t offset) { return b_.CreateLoad(type, at(base, offset)); }
  // Loads a value that does not change during a run.
  Value* constant_load(Type* type, Value* base, uint64_t offset) {
    llvm::LoadInst* made = b_.CreateLoad(type, at(base, offset));
    made->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(context_, {}));
    return made;
  }

  // Continues in a new block if the condition holds, which is the likely case. Returns the block for the other case.
  BasicBlock* expect(Value* condition) {
    BasicBlock *good = block("good"), *bad = block("bad");
    b_.CreateCondBr(condition, good, bad, llvm::MDBuilder(context_).createLikelyBranchWeights());
    b_.SetInsertPoint(good);
    return bad;
  }

  // Calls one of relay_operations.
  llvm::CallInst* operation(uint64_t offset, Type* result, const std::vector<Value*>& args, bool variadic = false) {
    Value* table = constant_load(b_.getPtrTy(), run_, offsetof(relay_run, operations));
    std::vector<Type*> types;
    for (size_t i = 0; i < (variadic ? 3 : args.size()); ++i) types.push_back(args[i]->getType());
    return b_.CreateCall(llvm::FunctionType::get(result, types, variadic), constant_load(b_.getPtrTy(), table, offset),
                         args);
  }

  void retain(Value* o) {
    b_.CreateAtomicRMW(llvm::AtomicRMWInst::Add, o, b_.getInt32(1), llvm::Align(4), llvm::AtomicOrdering::Monotonic);
  }
  void release(Value* o) {  // like release() in value.h
    BasicBlock *shared = block("shared"), *dead = block("dead"), *done = block("released");
    llvm::LoadInst* count = b_.CreateLoad(b_.getInt32Ty(), o);
    count->setAtomic(llvm::AtomicOrdering::Acquire);
    count->setAlignment(llvm::Align(4));
    b_.CreateCondBr(b_.CreateICmpEQ(count, b_.getInt32(1)), dead, shared);
    b_.SetInsertPoint(shared);
    Value* before = b_.CreateAtomicRMW(llvm::AtomicRMWInst::Sub, o, b_.getInt32(1), llvm::Align(4),
                                       llvm::AtomicOrdering::AcquireRelease);
    b_.CreateCondBr(b_.CreateICmpEQ(before, b_.getInt32(1)), dead, done,
                    llvm::MDBuilder(context_).createUnlikelyBranchWeights());
    b_.SetInsertPoint(dead);
    operation(offsetof(relay_operations, destroy), b_.getVoidTy(), {o});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }
  // The arguments of to_. Must come before any other code.
  std::vector<Value*> arguments(size_t count) {
    std::vector<Value*> objects;
    for (unsigned i = 0; i < std::min(count, in_registers); ++i) objects.push_back(to_->getArg(i + 1));
    for (size_t i = in_registers; i < count; ++i)
      objects.push_back(load(b_.getPtrTy(), more_arguments(), (i - in_registers) * sizeof(void*)));
    return objects;
  }
  // No code may come between storing the arguments and the call.
  llvm::CallInst* call_with(Value* callee, const std::vector<Value*>& objects) {
    std::vector<Value*> args = {run_};
    args.insert(args.end(), objects.begin(),
                objects.begin() + static_cast<ptrdiff_t>(std::min(objects.size(), in_registers)));
    for (size_t i = in_registers; i < objects.size(); ++i)
      b_.CreateStore(objects[i], at(more_arguments(), (i - in_registers) * sizeof(void*)));
    llvm::CallInst* made = b_.CreateCall(function_type(context_, objects.size()), callee, args);
    made->setCallingConv(llvm::CallingConv::Tail);
    return made;
  }
  Value* more_arguments() { return constant_load(b_.getPtrTy(), run_, offsetof(relay_run, arguments)); }
  Value* is_kind(Value* o, runtime::ObjectKind kind) {
    return b_.CreateICmpEQ(load(b_.getInt8Ty(), o, kind_at), b_.getInt8(static_cast<uint8_t>(kind)));
  }

  llvm::LLVMContext& context_;
  llvm::IRBuilder<> b_;
  llvm::Function* to_;
  Value* run_;
};

}  // namespace relay::codegen
