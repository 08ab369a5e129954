#include "relay/codegen/llvm/wasm_library.h"

#include <llvm/IR/IRBuilder.h>

namespace relay::codegen {

// __multi3: the low 128 bits of a product of 128-bit integers, each passed as two halves. LLVM needs the high half of
// products of 64-bit integers for quotients by constants.
void add_wasm_library(llvm::Module& module, llvm::function_ref<void(llvm::Function&)> made) {
  llvm::LLVMContext& context = module.getContext();
  llvm::IRBuilder<> b(context);
  llvm::Type *word = b.getInt64Ty(), *pointer = b.getPtrTy();
  llvm::Function* f =
      llvm::Function::Create(llvm::FunctionType::get(b.getVoidTy(), {pointer, word, word, word, word}, false),
                             llvm::GlobalValue::ExternalLinkage, "__multi3", module);
  made(*f);
  b.SetInsertPoint(llvm::BasicBlock::Create(context, "entry", f));
  llvm::Value *x = f->getArg(1), *x_high = f->getArg(2), *y = f->getArg(3), *y_high = f->getArg(4);
  auto low = [&](llvm::Value* v) { return b.CreateAnd(v, b.getInt64(0xffffffff)); };
  auto high = [&](llvm::Value* v) { return b.CreateLShr(v, 32); };
  llvm::Value *p00 = b.CreateMul(low(x), low(y)), *p01 = b.CreateMul(low(x), high(y)),
              *p10 = b.CreateMul(high(x), low(y)), *p11 = b.CreateMul(high(x), high(y));
  llvm::Value* middle = b.CreateAdd(high(p00), b.CreateAdd(low(p01), low(p10)));
  llvm::Value* carried = b.CreateAdd(p11, b.CreateAdd(high(middle), b.CreateAdd(high(p01), high(p10))));
  llvm::Value* crossed = b.CreateAdd(b.CreateMul(x, y_high), b.CreateMul(x_high, y));
  b.CreateStore(b.CreateOr(low(p00), b.CreateShl(middle, 32)), f->getArg(0));
  b.CreateStore(b.CreateAdd(carried, crossed), b.CreateConstGEP1_64(word, f->getArg(0), 1));
  b.CreateRetVoid();
}

}  // namespace relay::codegen
