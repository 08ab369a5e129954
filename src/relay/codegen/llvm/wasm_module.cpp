#include "relay/codegen/llvm/wasm_module.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Target/TargetMachine.h>

#include <algorithm>
#include <map>

#include "relay/base/bytes.h"
#include "relay/codegen/llvm/link.h"
#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/wasm_library.h"
#include "relay/codegen/llvm/wasm_threads.h"

namespace relay::codegen {

namespace {

using llvm::BasicBlock;
using llvm::Constant;
using llvm::ConstantInt;
using llvm::Function;
using llvm::FunctionType;
using llvm::GlobalValue;
using llvm::GlobalVariable;
using llvm::Type;
using llvm::Value;

constexpr uint64_t block_alignment = 64;  // bytes, as the runtime aligns arrays
constexpr int64_t addressable_bytes = int64_t{1} << 32;
constexpr int64_t page_bytes = 1 << 16;

// Writes the functions that run the steps.
class StepsWriter {
 public:
  StepsWriter(const WasmProgram& program, const TargetDesc& target, llvm::Module& module)
      : program_(program), target_(target), module_(module), b_(module.getContext()) {}

  void write() {
    add_wasm_library(module_, [&](Function& f) { set_attributes(f); });
    if (has_wasm_threads(target_)) on_threads_ = add_wasm_threads(module_, [&](Function& f) { set_attributes(f); });
    for (const WasmBlock& block : program_.blocks) blocks_.push_back(global(block));
    function_of(wasm_prepare, program_.preparations, {});
    function_of(wasm_run, program_.steps, program_.repeats);
  }

 private:
  void function_of(const char* name, std::span<const WasmStep> steps, std::span<const WasmRepeat> repeats) {
    run_ = function(name, b_.getInt32Ty(), {}, GlobalValue::ExternalLinkage);
    b_.SetInsertPoint(BasicBlock::Create(module_.getContext(), "entry", run_));
    uint32_t next = 0;
    for (const WasmRepeat& repeat : repeats) {
      for (; next < repeat.first; ++next) step(steps[next], nullptr);
      BasicBlock *before = b_.GetInsertBlock(), *loop = block("repeat"), *after = block("repeated");
      b_.CreateCondBr(b_.getInt1(repeat.times > 0), loop, after);
      b_.SetInsertPoint(loop);
      llvm::PHINode* number = b_.CreatePHI(b_.getInt64Ty(), 2);
      number->addIncoming(b_.getInt64(0), before);
      for (; next < repeat.first + repeat.count; ++next) step(steps[next], number);
      Value* following = b_.CreateAdd(number, b_.getInt64(1));
      number->addIncoming(following, b_.GetInsertBlock());
      b_.CreateCondBr(b_.CreateICmpSLT(following, b_.getInt64(static_cast<uint64_t>(repeat.times))), loop, after);
      b_.SetInsertPoint(after);
    }
    for (; next < steps.size(); ++next) step(steps[next], nullptr);
    b_.CreateRet(b_.getInt32(0));
  }

  BasicBlock* block(const char* name) { return BasicBlock::Create(module_.getContext(), name, run_); }

  Function* function(const std::string& name, Type* result, std::vector<Type*> args,
                     GlobalValue::LinkageTypes linkage) {
    Function* made = Function::Create(FunctionType::get(result, args, false), linkage, name, module_);
    set_attributes(*made);
    return made;
  }

  void set_attributes(Function& f) {
    std::string features;
    for (const std::string& name : target_.features) features += (features.empty() ? "" : ",") + name;
    f.addFnAttr("target-cpu", target_.cpu);
    f.addFnAttr("target-features", features);
  }

  GlobalVariable* global(const WasmBlock& block) {
    Constant* contents = nullptr;
    if (block.contents.empty())
      contents = Constant::getNullValue(
          llvm::ArrayType::get(b_.getInt8Ty(), static_cast<uint64_t>(std::max<int64_t>(block.bytes, 1))));
    else
      contents = llvm::ConstantDataArray::getRaw({block.contents.data(), block.contents.size()}, block.contents.size(),
                                                 b_.getInt8Ty());
    GlobalVariable* made =
        new GlobalVariable(module_, contents->getType(), false,
                           block.name.empty() ? GlobalValue::InternalLinkage : GlobalValue::ExternalLinkage, contents,
                           block.name.empty() ? "block" : block.name);
    made->setAlignment(llvm::Align(block_alignment));
    return made;
  }

  Constant* address(const WasmPlace& place) {
    return llvm::ConstantExpr::getGetElementPtr(b_.getInt8Ty(), blocks_[place.block],
                                                b_.getInt32(static_cast<uint32_t>(place.offset)));
  }

  // A table of constants, to be passed by its address.
  Constant* table(Type* element, const std::vector<Constant*>& entries) {
    if (entries.empty()) return llvm::ConstantPointerNull::get(b_.getPtrTy());
    llvm::ArrayType* type = llvm::ArrayType::get(element, entries.size());
    return new GlobalVariable(module_, type, true, GlobalValue::PrivateLinkage, llvm::ConstantArray::get(type, entries),
                              "table");
  }

  void step(const WasmStep& s, Value* repetition) {
    switch (s.kind) {
      case WasmStep::Kind::Call: return call(s, s.arrays, repetition);
      case WasmStep::Kind::CallWhen: {
        Value* found =
            b_.CreateCall(any_set(), {address(s.arrays.back()), b_.getInt64(static_cast<uint64_t>(s.bytes))});
        BasicBlock *then = block("then"), *after = block("after");
        b_.CreateCondBr(found, then, after);
        b_.SetInsertPoint(then);
        call(s, std::span(s.arrays).first(s.arrays.size() - 1), repetition);
        b_.CreateBr(after);
        return b_.SetInsertPoint(after);
      }
      case WasmStep::Kind::Copy:
        b_.CreateMemCpy(address(s.arrays[1]), llvm::Align(1), address(s.arrays[0]), llvm::Align(1),
                        b_.getInt32(static_cast<uint32_t>(s.bytes)));
        return;
      case WasmStep::Kind::Check: return check(s);
    }
  }

  void call(const WasmStep& s, std::span<const WasmPlace> arrays, Value* repetition) {
    Type* index = b_.getInt64Ty();
    std::vector<Constant*> params, sizes;
    for (const WasmPlace& place : arrays) params.push_back(address(place));
    for (int64_t size : s.sizes) sizes.push_back(b_.getInt64(static_cast<uint64_t>(size)));
    Value* shape = table(index, sizes);
    if (repetition && !sizes.empty()) {
      BasicBlock& entry = run_->getEntryBlock();
      llvm::IRBuilder<> at_entry(&entry, entry.getFirstInsertionPt());
      Value* changed = at_entry.CreateAlloca(llvm::ArrayType::get(index, sizes.size()));
      b_.CreateMemCpy(changed, llvm::Align(8), shape, llvm::Align(8), 8 * sizes.size());
      b_.CreateStore(repetition, changed);
      shape = changed;
    }
    Function* kernel = module_.getFunction(s.kernel);
    if (!kernel)
      kernel = function(s.kernel, b_.getVoidTy(), {b_.getPtrTy(), b_.getPtrTy(), index, index, b_.getPtrTy()},
                        GlobalValue::ExternalLinkage);
    Value *array_table = table(b_.getPtrTy(), params), *tasks = b_.getInt64(static_cast<uint64_t>(s.tasks));
    if (!on_threads_ || s.tasks <= 1) {
      b_.CreateCall(kernel, {array_table, shape, b_.getInt64(0), tasks, address(s.scratch)});
      return;
    }
    Value* done = b_.CreateCall(on_threads_, {kernel, array_table, shape, tasks, address(s.scratch)});
    BasicBlock *good = block("done"), *bad = block("failed");
    b_.CreateCondBr(done, good, bad);
    b_.SetInsertPoint(bad);
    b_.CreateRet(b_.getInt32(UINT32_MAX));
    b_.SetInsertPoint(good);
  }

  void check(const WasmStep& s) {
    Value* fits = b_.CreateCall(
        all_fit(s.dtype), {address(s.arrays[0]), b_.getInt64(static_cast<uint64_t>(s.count)),
                           b_.getInt64(static_cast<uint64_t>(s.least)), b_.getInt64(static_cast<uint64_t>(s.end))});
    BasicBlock *good = block("fits"), *bad = block("fails");
    b_.CreateCondBr(fits, good, bad);
    b_.SetInsertPoint(bad);
    b_.CreateRet(b_.getInt32(1 + s.failure));
    b_.SetInsertPoint(good);
  }

  // A function (array, count, more...) -> i1 whose result is `found` if an element satisfies a condition.
  Function* search(const std::string& name, Type* element, size_t more, bool found,
                   llvm::function_ref<Value*(llvm::IRBuilder<>&, Value*, Function*)> condition) {
    if (Function* known = module_.getFunction(name)) return known;
    std::vector<Type*> args = {b_.getPtrTy(), b_.getInt64Ty()};
    args.insert(args.end(), more, b_.getInt64Ty());
    Function* f = function(name, b_.getInt1Ty(), args, GlobalValue::InternalLinkage);
    llvm::LLVMContext& context = module_.getContext();
    BasicBlock *entry = BasicBlock::Create(context, "entry", f), *loop = BasicBlock::Create(context, "loop", f),
               *next = BasicBlock::Create(context, "next", f), *yes = BasicBlock::Create(context, "yes", f),
               *no = BasicBlock::Create(context, "no", f);
    llvm::IRBuilder<> b(entry);
    b.CreateCondBr(b.CreateICmpSGT(f->getArg(1), b.getInt64(0)), loop, no);
    b.SetInsertPoint(loop);
    llvm::PHINode* i = b.CreatePHI(b.getInt64Ty(), 2);
    i->addIncoming(b.getInt64(0), entry);
    Value* value = b.CreateLoad(element, b.CreateGEP(element, f->getArg(0), i));
    b.CreateCondBr(condition(b, value, f), yes, next);
    b.SetInsertPoint(next);
    Value* following = b.CreateAdd(i, b.getInt64(1));
    i->addIncoming(following, next);
    b.CreateCondBr(b.CreateICmpSLT(following, f->getArg(1)), loop, no);
    b.SetInsertPoint(yes);
    b.CreateRet(b.getInt1(found));
    b.SetInsertPoint(no);
    b.CreateRet(b.getInt1(!found));
    return f;
  }

  // (flags, bytes): true if a byte is not zero.
  Function* any_set() {
    return search("any_set", b_.getInt8Ty(), 0, true,
                  [](llvm::IRBuilder<>& b, Value* value, Function*) { return b.CreateICmpNE(value, b.getInt8(0)); });
  }

  // (indices, count, least, end): true if all are in [least, end). A uint64 that no int64 holds becomes a negative
  // number, which is below `least`.
  Function* all_fit(DType dtype) {
    const bool is_signed = dtype.code == DType::Code::Int;
    return search(format("all_fit_{}", dtype.str()), b_.getIntNTy(dtype.bits), 2, false,
                  [&](llvm::IRBuilder<>& b, Value* value, Function* f) {
                    Value* wide = b.CreateIntCast(value, b.getInt64Ty(), is_signed);
                    return b.CreateOr(b.CreateICmpSLT(wide, f->getArg(2)), b.CreateICmpSGE(wide, f->getArg(3)));
                  });
  }

  const WasmProgram& program_;
  const TargetDesc& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  std::vector<GlobalVariable*> blocks_;
  Function *run_ = nullptr, *on_threads_ = nullptr;
};

}  // namespace

static int64_t block_bytes(const WasmProgram& program) {
  int64_t bytes = 0;
  for (const WasmBlock& block : program.blocks) bytes += std::min(block.bytes, addressable_bytes) + block_alignment;
  return bytes;
}

static Status check_size(int64_t bytes) {
  if (bytes < addressable_bytes - (int64_t{64} << 20)) return ok();  // code has constants, and there is a stack
  return Diagnostic{DiagnosticKind::limit_exceeded,
                    format("arrays and weights take {}, but a WebAssembly module addresses 4 GiB", bytes_text(bytes)),
                    {},
                    {},
                    {},
                    "make the inputs smaller, or keep weights in 16 or 8 bits"};
}

// The memory that a linked module imports, which is its only import.
static WasmMemory imported_memory(std::string_view module) {
  constexpr size_t header = 8;
  constexpr uint64_t imports = 2;
  size_t at = header;
  auto number = [&] {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const unsigned char byte = static_cast<unsigned char>(module.at(at++));
      value |= static_cast<uint64_t>(byte & 127) << shift;
      if (byte < 128) return value;
    }
  };
  for (uint64_t section = number();; section = number()) {
    const uint64_t bytes = number();
    if (section == imports) break;
    at += bytes;
  }
  RELAY_CHECK(number() == 1, "a module for threads must import memory only");
  for (int names = 0; names < 2; ++names) at += number();
  RELAY_CHECK(number() == 2, "a module for threads must import memory");
  WasmMemory memory{.flags_at = at};
  RELAY_CHECK(number() == 3, "a module for threads must import shared memory");
  memory.initial = static_cast<int64_t>(number());
  memory.maximum = static_cast<int64_t>(number());
  return memory;
}

bool has_wasm_threads(const TargetDesc& target) {
  return std::ranges::find(target.features, "+atomics") != target.features.end();
}

static std::vector<std::string> link_arguments(const WasmProgram& program, int64_t bytes, bool threads) {
  std::vector<std::string> out = {
      "--no-entry", "--gc-sections", "--strip-all", "--stack-first", "-z", format("stack-size={}", wasm_stack_bytes)};
  std::vector<std::string> exports = {wasm_prepare, wasm_run};
  if (threads) {
    const int64_t of_threads = wasm_most_workers * (wasm_stack_bytes + program.scratch_bytes + block_alignment);
    const int64_t most = std::min(bytes + (int64_t{64} << 20) + of_threads, addressable_bytes);
    out.insert(out.end(), {"--shared-memory", "--import-memory",
                           format("--max-memory={}", (most + page_bytes - 1) / page_bytes * page_bytes)});
    exports.insert(exports.end(), {wasm_worker, wasm_serve, wasm_stop, wasm_fail, "__stack_pointer"});
  }
  for (const std::string& name : exports) out.push_back("--export=" + name);
  for (const WasmBlock& block : program.blocks)
    if (!block.name.empty()) out.push_back("--export=" + block.name);
  return out;
}

Result<WasmModule> wasm_module(std::string_view kernels, const WasmProgram& program, const TargetDesc& target) {
  const int64_t bytes = block_bytes(program);
  RELAY_RETURN_IF_ERROR(check_size(bytes));
  llvm::LLVMContext context;
  RELAY_ASSIGN(const std::unique_ptr<llvm::TargetMachine> machine, target_machine(target));
  RELAY_ASSIGN(const std::unique_ptr<llvm::Module> module, build_module({}, nullptr, target, context, machine.get()));
  StepsWriter(program, target, *module).write();
  std::string message;
  llvm::raw_string_ostream stream(message);
  RELAY_CHECK(!llvm::verifyModule(*module, &stream), "the steps of a module are malformed: {}", message);
  const std::string steps = object_of(*module, *machine);
  const std::string_view objects[] = {steps, kernels};
  const bool threads = has_wasm_threads(target);
  WasmModule out;
  RELAY_ASSIGN(out.bytes, link(Linker::Wasm, objects, link_arguments(program, bytes, threads)));
  if (threads) out.memory = imported_memory(out.bytes);
  return out;
}

}  // namespace relay::codegen
