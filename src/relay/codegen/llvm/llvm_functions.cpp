// Functions of a program as LLVM functions, on the operations of runtime/functions/native.h.
//
//   fn length(2 parameters, 4 registers)      ->      tailcc ptr @"1 length"(ptr %run, ptr %0, ptr %1)
//
// Registers are SSA values. The possible contents of a register are known at every instruction (Contents), so registers
// are only tested if necessary. A function owns its arguments; if an operation fails, it passes all objects that it
// holds to unwind(), which is one call in a separate block, and returns null; its caller then does the same.
//
// Tail calls run in constant stack: one of the function itself is a jump to its beginning, all others are `musttail`
// calls with the calling convention tailcc. Arguments are in machine registers, those beyond `in_registers` in the
// run's `arguments`, from where the callee takes them immediately, and never on the stack: LLVM 22.1 drops stack
// arguments of musttail calls on x86 (llvm/llvm-project issue 199224). Other calls nest on the stack; a function that
// makes such calls compares the stack's address with the run's stack_end first.
//
// A call of a closure passes `k` arguments and knows nothing else. It does not call the function but an opener for
// closures with n captures, tailcc ptr (ptr %run, ptr %closure, k arguments), which calls the function with the
// captures. It is found in a table for this k, by the function's index: its address and n, which the closure must have.
#include <llvm/IR/Dominators.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/PromoteMemToReg.h>

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "relay/codegen/llvm/llvm_kernel.h"
#include "relay/codegen/llvm/object_code.h"
#include "relay/runtime/program/program.h"

namespace relay::codegen {

using llvm::BasicBlock;
using llvm::Type;
using llvm::Value;
using runtime::Function;
using runtime::Instruction;
using runtime::ObjectKind;
using runtime::Op;
using runtime::Operand;
using runtime::Program;

namespace {

// The possible contents of registers at a place in the code.
enum Content : uint8_t { Nothing = 1, AnObject = 2, Either = 3 };
using Contents = std::vector<uint8_t>;

// The contents at the beginning of each block, by the block's first instruction.
std::map<uint32_t, Contents> find_contents(const Function& f) {
  std::set<uint32_t> begins = {0};
  for (uint32_t at = 0; at < f.code.size(); ++at) {
    const Instruction& in = f.code[at];
    if (in.op == Op::Jump || in.op == Op::BranchIfFalse) begins.insert(in.index);
    if (in.op == Op::BranchIfFalse) begins.insert(at + 1);
    for (uint32_t i = 0; in.op == Op::SwitchTag && i < in.list.count; ++i) begins.insert(f.lists[in.list.begin + i]);
  }
  std::map<uint32_t, Contents> known;
  std::deque<uint32_t> work = {0};
  Contents now(f.registers, Nothing);
  std::fill_n(now.begin(), f.parameters, AnObject);
  known[0] = now;
  auto reach = [&](uint32_t begin) {
    auto [it, fresh] = known.try_emplace(begin, now);
    bool changed = fresh;
    for (size_t r = 0; !fresh && r < now.size(); ++r) {
      uint8_t both = it->second[r] | now[r];
      changed |= both != it->second[r];
      it->second[r] = both;
    }
    if (changed) work.push_back(begin);
  };
  while (!work.empty()) {
    uint32_t at = work.front();
    work.pop_front();
    now = known[at];
    while (true) {
      const Instruction& in = f.code[at++];
      for (uint32_t i = 0; i < in.args.count; ++i)
        if (Operand o = f.operands[in.args.begin + i]; o.last) now[o.reg] = Nothing;
      if (has_result(in.op)) now[in.to] = AnObject;
      for (uint32_t i = 0; in.op == Op::RunSegment && i < in.list.count; ++i)
        now[f.lists[in.list.begin + i]] = AnObject;
      if (in.op == Op::Jump || in.op == Op::BranchIfFalse) reach(in.index);
      for (uint32_t i = 0; in.op == Op::SwitchTag && i < in.list.count; ++i) reach(f.lists[in.list.begin + i]);
      if (ends_flow(in.op)) break;
      if (begins.count(at)) {
        reach(at);
        break;
      }
    }
  }
  return known;
}

// Data shared by all functions of a module.
struct Shared {
  const Program& program;
  const TargetDesc& target;
  llvm::Module& module;
  std::vector<uint32_t> first_site;  // by function
  std::vector<llvm::Function*> functions;
  std::map<std::pair<uint32_t, uint32_t>, llvm::Function*> openers;  // by function and captures
  std::map<uint32_t, llvm::GlobalVariable*> tables;                  // of openers, by arguments
};

// Marks an empty entry of a table of openers: more captures than any closure has.
constexpr uint32_t no_captures = UINT32_MAX;
llvm::StructType* opener_type(llvm::LLVMContext& context) {
  return llvm::StructType::get(llvm::PointerType::get(context, 0), Type::getInt32Ty(context));
}

llvm::Function* declare(const Shared& shared, const std::string& name, llvm::FunctionType* type,
                        llvm::CallingConv::ID convention) {
  llvm::Function* f = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, shared.module);
  f->setCallingConv(convention);
  f->addFnAttr(llvm::Attribute::NoUnwind);
  f->addFnAttr("target-cpu", shared.target.cpu);
  f->addFnAttr("target-features", format("{}", join(shared.target.features, ",")));
  return f;
}

// --- one function ----------------------------------------------------------------------------------------------------

class FunctionCode : ObjectCode {
 public:
  FunctionCode(Shared& shared, uint32_t index)
      : ObjectCode(shared.functions[index]),
        shared_(shared),
        f_(shared.program.functions[index]),
        index_(index),
        site_(shared.first_site[index]) {}

  void write() {
    std::map<uint32_t, Contents> contents = find_contents(f_);
    begin();
    for (const auto& [at, unused] : contents) blocks_[at] = block(format("at {}", at));
    b_.CreateBr(blocks_[0]);
    std::vector<uint32_t> sites(f_.code.size());
    for (size_t at = 0; at < f_.code.size(); ++at) {
      sites[at] = site_;
      site_ += f_.code[at].op == Op::RunSegment;
    }
    for (const auto& [first, here] : contents) {
      b_.SetInsertPoint(blocks_[first]);
      contents_ = here;
      uint32_t at = first;
      do {
        site_ = sites[at];
        instruction(f_.code[at]);
      } while (!ends_flow(f_.code[at++].op) && !blocks_.count(at));
      if (!b_.GetInsertBlock()->getTerminator()) b_.CreateBr(blocks_[at]);
    }
    llvm::DominatorTree tree(*to_);
    llvm::PromoteMemToReg(registers_, tree);
  }

 private:
  void begin() {
    b_.SetInsertPoint(block("entry"));
    uint32_t given = 0, results = 0;
    bool calls = false;
    for (const Instruction& in : f_.code) {
      bool array = in.op == Op::RunSegment || in.op == Op::MakeTuple || in.op == Op::MakeData ||
                   in.op == Op::MakeClosure || in.op == Op::MakeTensor;
      if (array) given = std::max(given, in.args.count);
      if (in.op == Op::RunSegment) results = std::max(results, in.list.count);
      calls |= in.op == Op::Call || in.op == Op::CallClosure;
    }
    for (uint32_t r = 0; r < f_.registers; ++r) registers_.push_back(b_.CreateAlloca(b_.getPtrTy()));
    if (given) given_ = b_.CreateAlloca(b_.getPtrTy(), b_.getInt32(given));
    if (results) results_ = b_.CreateAlloca(b_.getPtrTy(), b_.getInt32(results));
    contents_.assign(f_.registers, Nothing);
    std::vector<Value*> given_values = arguments(f_.parameters);
    for (uint32_t r = 0; r < f_.registers; ++r) {
      bool parameter = r < f_.parameters;
      b_.CreateStore(parameter ? given_values[r] : null(), registers_[r]);
      if (parameter) contents_[r] = AnObject;
    }
    if (!calls) return;
    Value* stack = b_.CreateIntrinsic(llvm::Intrinsic::stackaddress, {b_.getPtrTy()}, {});
    BasicBlock* low = expect(b_.CreateICmpUGE(stack, load(b_.getPtrTy(), run_, offsetof(relay_run, stack_end))));
    BasicBlock* good = b_.GetInsertBlock();
    b_.SetInsertPoint(low);
    Value* more = operation(offsetof(relay_operations, more_stack), b_.getInt32Ty(), {run_, b_.getInt32(index_)});
    BasicBlock* full = block("full");
    b_.CreateCondBr(is_not_zero(more), good, full);
    b_.SetInsertPoint(full);
    unwind({}, UINT32_MAX);  // the function was not entered
    b_.SetInsertPoint(good);
  }

  Value* null() { return llvm::ConstantPointerNull::get(b_.getPtrTy()); }
  Value* is_not_zero(Value* v) { return b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())); }

  // --- registers ---

  Operand operand(const Instruction& in, uint32_t i) const { return f_.operands[in.args.begin + i]; }
  Value* read(uint32_t reg) { return b_.CreateLoad(b_.getPtrTy(), registers_[reg]); }
  void empty(uint32_t reg) {
    b_.CreateStore(null(), registers_[reg]);
    contents_[reg] = Nothing;
  }
  // A value with its own reference.
  Value* take(Operand o) {
    Value* v = read(o.reg);
    if (o.last)
      empty(o.reg);
    else
      retain(v);
    return v;
  }
  std::vector<Value*> take_all(const Instruction& in, uint32_t from = 0) {
    std::vector<Value*> taken;
    for (uint32_t i = from; i < in.args.count; ++i) taken.push_back(take(operand(in, i)));
    return taken;
  }
  void release_register(uint32_t reg) {
    if (contents_[reg] == Nothing) return;
    Value* old = read(reg);
    if (contents_[reg] == AnObject) return release(old);
    BasicBlock *full = block("full"), *done = block("empty");
    b_.CreateCondBr(is_not_zero(old), full, done);
    b_.SetInsertPoint(full);
    release(old);
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }
  void set(uint32_t reg, Value* value) {
    release_register(reg);
    b_.CreateStore(value, registers_[reg]);
    contents_[reg] = AnObject;
  }
  void done_with(Operand o) {
    if (!o.last) return;
    release_register(o.reg);
    empty(o.reg);
  }
  void release_all() {
    for (uint32_t r = 0; r < f_.registers; ++r) {
      release_register(r);
      contents_[r] = Nothing;
    }
  }

  // --- failure ---

  // Ends the function, which holds the registers and `held`.
  void unwind(const std::vector<Value*>& held, uint32_t function) {
    std::vector<Value*> args = {run_, b_.getInt32(function), nullptr};
    args.insert(args.end(), held.begin(), held.end());
    for (uint32_t r = 0; r < f_.registers; ++r)
      if (contents_[r] != Nothing) args.push_back(read(r));
    args[2] = b_.getInt32(static_cast<uint32_t>(args.size()) - 3);
    operation(offsetof(relay_operations, unwind), b_.getPtrTy(), args, true);
    b_.CreateRet(null());
  }
  void fail_unless(Value* condition, const std::vector<Value*>& held = {}) {
    BasicBlock* bad = expect(condition);
    BasicBlock* good = b_.GetInsertBlock();
    b_.SetInsertPoint(bad);
    unwind(held, index_);
    b_.SetInsertPoint(good);
  }
  // Calls an operation that repeats the failing test, reports the error, and fails.
  void fail_by(BasicBlock* bad, uint64_t offset, Type* result, const std::vector<Value*>& args) {
    BasicBlock* good = b_.GetInsertBlock();
    b_.SetInsertPoint(bad);
    operation(offset, result, args);
    unwind({}, index_);
    b_.SetInsertPoint(good);
  }

  // --- instructions ---

  Value* stored(const std::vector<Value*>& values) {
    for (size_t i = 0; i < values.size(); ++i) b_.CreateStore(values[i], at(given_, i * sizeof(void*)));
    return values.empty() ? null() : given_;
  }
  Value* count(const Instruction& in) { return b_.getInt32(in.args.count); }

  void make(const Instruction& in, uint64_t offset, const std::vector<Value*>& first) {
    std::vector<Value*> fields = take_all(in), args = {run_};
    args.insert(args.end(), first.begin(), first.end());
    args.push_back(stored(fields));
    args.push_back(count(in));
    Value* made = operation(offset, b_.getPtrTy(), args);
    fail_unless(is_not_zero(made), fields);
    set(in.to, made);
  }

  uint32_t number(const Instruction& in) const { return static_cast<uint32_t>(&in - f_.code.data()); }
  Value* stored_arguments(const Instruction& in) {
    for (uint32_t i = 0; i < in.args.count; ++i)
      b_.CreateStore(read(operand(in, i).reg), at(given_, i * sizeof(void*)));
    return in.args.count > 0 ? given_ : null();
  }
  void tensor_of_shape(const Instruction& in) {
    Value* made = operation(offsetof(relay_operations, tensor_of_shape), b_.getPtrTy(),
                            {run_, b_.getInt32(index_), b_.getInt32(number(in)), stored_arguments(in)});
    fail_unless(is_not_zero(made));
    for (uint32_t i = 0; i < in.args.count; ++i) done_with(operand(in, i));
    set(in.to, made);
  }

  void run_segment(const Instruction& in) {
    Value* ran = operation(offsetof(relay_operations, segment), b_.getInt32Ty(),
                           {run_, b_.getInt32(site_), stored_arguments(in), in.list.count ? results_ : null()});
    fail_unless(is_not_zero(ran));
    for (uint32_t i = 0; i < in.args.count; ++i) done_with(operand(in, i));
    for (uint32_t i = 0; i < in.list.count; ++i)
      set(f_.lists[in.list.begin + i], load(b_.getPtrTy(), results_, i * sizeof(void*)));
  }

  void get_field(const Instruction& in) {
    Operand from = operand(in, 0);
    Value* o = read(from.reg);
    Value* kind = b_.CreateSub(load(b_.getInt8Ty(), o, kind_at), b_.getInt8(static_cast<uint8_t>(ObjectKind::Tuple)));
    static_assert(static_cast<int>(ObjectKind::Data) == static_cast<int>(ObjectKind::Tuple) + 1);
    Value* there = b_.CreateICmpUGT(load(b_.getInt32Ty(), o, size_at), b_.getInt32(in.index));
    BasicBlock* bad = expect(b_.CreateAnd(b_.CreateICmpULE(kind, b_.getInt8(1)), there));
    fail_by(bad, offsetof(relay_operations, field), b_.getPtrTy(), {run_, o, b_.getInt32(in.index), b_.getInt32(0)});
    uint64_t offset = fields_at + uint64_t{in.index} * sizeof(void*);
    Value* field = nullptr;
    if (from.last) {
      // The last owner of an object destroys it, so its field is ours.
      BasicBlock *mine = block("mine"), *others = block("others"), *done = block("got");
      llvm::LoadInst* uses = b_.CreateLoad(b_.getInt32Ty(), o);
      uses->setAtomic(llvm::AtomicOrdering::Acquire);
      uses->setAlignment(llvm::Align(4));
      field = load(b_.getPtrTy(), o, offset);
      b_.CreateCondBr(b_.CreateICmpEQ(uses, b_.getInt32(1)), mine, others);
      b_.SetInsertPoint(mine);
      b_.CreateStore(null(), at(o, offset));
      operation(offsetof(relay_operations, destroy), b_.getVoidTy(), {o});
      b_.CreateBr(done);
      b_.SetInsertPoint(others);
      retain(field);
      release(o);
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
      empty(from.reg);
    } else {
      field = load(b_.getPtrTy(), o, offset);
      retain(field);
    }
    set(in.to, field);
  }

  void switch_tag(const Instruction& in) {
    Value* o = read(operand(in, 0).reg);
    Value* types = constant_load(b_.getPtrTy(), run_, offsetof(relay_run, types));
    Value* type = constant_load(b_.getInt32Ty(), types, uint64_t{in.index} * sizeof(uint32_t));
    Value* same = b_.CreateICmpEQ(load(b_.getInt32Ty(), o, id_at), type);
    BasicBlock* bad = expect(b_.CreateAnd(is_kind(o, ObjectKind::Data), same));
    fail_by(bad, offsetof(relay_operations, tag), b_.getInt64Ty(), {run_, o, b_.getInt32(in.index)});
    Value* tag = load(b_.getInt16Ty(), o, tag_at);
    done_with(operand(in, 0));
    auto target = [&](uint32_t i) { return blocks_.at(f_.lists[in.list.begin + i]); };
    if (in.list.count == 0) {  // no value has such a type
      b_.CreateUnreachable();
      return;
    }
    llvm::SwitchInst* made = b_.CreateSwitch(tag, target(in.list.count - 1), in.list.count - 1);
    for (uint32_t i = 0; i + 1 < in.list.count; ++i) made->addCase(b_.getInt16(static_cast<uint16_t>(i)), target(i));
  }

  void branch_if_false(const Instruction& in, BasicBlock* next) {
    Value* o = read(operand(in, 0).reg);
    Value* is_bool = b_.CreateICmpEQ(load(b_.getInt32Ty(), o, id_at), b_.getInt32(runtime::dtype_id(DType::boolean())));
    Value* is_one = b_.CreateICmpEQ(load(b_.getInt32Ty(), o, size_at), b_.getInt32(0));
    BasicBlock* bad = expect(b_.CreateAnd(is_kind(o, ObjectKind::Tensor), b_.CreateAnd(is_bool, is_one)));
    fail_by(bad, offsetof(relay_operations, is_true), b_.getInt32Ty(), {run_, o});
    Value* truth = is_not_zero(load(b_.getInt8Ty(), load(b_.getPtrTy(), o, data_at), 0));
    done_with(operand(in, 0));
    b_.CreateCondBr(truth, next, blocks_.at(in.index));
  }

  void count_call() {
    Value* calls = at(run_, offsetof(relay_run, calls));
    b_.CreateStore(b_.CreateAdd(b_.CreateLoad(b_.getInt64Ty(), calls), b_.getInt64(1)), calls);
  }

  // Calls `callee` with the run and `args`, whose ownership passes on.
  void call(const Instruction& in, Value* callee, const std::vector<Value*>& args) {
    bool tail = in.op == Op::TailCall || in.op == Op::TailCallClosure;
    if (tail) release_all();
    count_call();
    llvm::CallInst* made = call_with(callee, args);
    if (tail) {
      made->setTailCallKind(llvm::CallInst::TCK_MustTail);
      b_.CreateRet(made);
      return;
    }
    fail_unless(is_not_zero(made));
    set(in.to, made);
  }

  void call_itself(const Instruction& in) {
    std::vector<Value*> args = take_all(in);
    release_all();
    count_call();
    for (uint32_t r = 0; r < f_.registers; ++r) b_.CreateStore(r < f_.parameters ? args[r] : null(), registers_[r]);
    b_.CreateBr(blocks_[0]);
  }

  // Checks that the closure takes the arguments, and finds its opener.
  void call_closure(const Instruction& in) {
    uint32_t arguments = in.args.count - 1;
    Value* closure = read(operand(in, 0).reg);
    Value* first = constant_load(b_.getInt32Ty(), run_, offsetof(relay_run, first_function));
    Value* function = b_.CreateSub(load(b_.getInt32Ty(), closure, id_at), first);
    Value* functions = b_.getInt32(static_cast<uint32_t>(shared_.functions.size()));
    BasicBlock* stranger =
        expect(b_.CreateAnd(is_kind(closure, ObjectKind::Closure), b_.CreateICmpULT(function, functions)));
    Value* opener =
        b_.CreateGEP(opener_type(context_), shared_.tables.at(arguments), b_.CreateZExt(function, b_.getInt64Ty()));
    Value* captures = load(b_.getInt32Ty(), opener, sizeof(void*));
    BasicBlock* misfit = expect(b_.CreateICmpEQ(captures, load(b_.getInt32Ty(), closure, size_at)));
    BasicBlock* good = b_.GetInsertBlock();
    b_.SetInsertPoint(misfit);
    b_.CreateBr(stranger);
    b_.SetInsertPoint(good);
    fail_by(stranger, offsetof(relay_operations, closure_function), b_.getInt64Ty(),
            {run_, closure, b_.getInt64(arguments)});
    Value* code = load(b_.getPtrTy(), opener, 0);
    call(in, code, take_all(in));
  }

  void read_reference(const Instruction& in) {
    Value* content = operation(offsetof(relay_operations, read), b_.getPtrTy(), {run_, read(operand(in, 0).reg)});
    fail_unless(is_not_zero(content));
    done_with(operand(in, 0));
    set(in.to, content);
  }

  void write_reference(const Instruction& in) {
    Value* reference = read(operand(in, 0).reg);
    Value* content = take(operand(in, 1));
    Value* written = operation(offsetof(relay_operations, write), b_.getInt32Ty(), {run_, reference, content});
    fail_unless(is_not_zero(written), {content});
    done_with(operand(in, 0));
  }

  void instruction(const Instruction& in) {
    switch (in.op) {
      case Op::Constant: {
        Value* constants = constant_load(b_.getPtrTy(), run_, offsetof(relay_run, constants));
        Value* v = constant_load(b_.getPtrTy(), constants, uint64_t{in.index} * sizeof(void*));
        retain(v);
        return set(in.to, v);
      }
      case Op::Move: return set(in.to, take(operand(in, 0)));
      case Op::RunSegment: return run_segment(in);
      case Op::MakeTuple: return make(in, offsetof(relay_operations, tuple), {});
      case Op::MakeData:
        return make(in, offsetof(relay_operations, data), {b_.getInt32(in.index), b_.getInt16(in.tag)});
      case Op::MakeClosure: return make(in, offsetof(relay_operations, closure), {b_.getInt32(in.index)});
      case Op::GetField: return get_field(in);
      case Op::SwitchTag: return switch_tag(in);
      case Op::Jump: b_.CreateBr(blocks_.at(in.index)); return;
      case Op::BranchIfFalse: return branch_if_false(in, blocks_.at(number(in) + 1));
      case Op::TailCall:
        if (in.index == index_) return call_itself(in);
        [[fallthrough]];
      case Op::Call: return call(in, shared_.functions[in.index], take_all(in));
      case Op::CallClosure:
      case Op::TailCallClosure: return call_closure(in);
      case Op::MakeTensor: return tensor_of_shape(in);
      case Op::MakeReference: {
        Value* content = take(operand(in, 0));
        Value* made = operation(offsetof(relay_operations, reference), b_.getPtrTy(), {run_, content});
        fail_unless(is_not_zero(made), {content});
        return set(in.to, made);
      }
      case Op::ReadReference: return read_reference(in);
      case Op::WriteReference: return write_reference(in);
      case Op::Drop: return done_with(operand(in, 0));
      case Op::Return: {
        Value* v = take(operand(in, 0));
        release_all();
        b_.CreateRet(v);
        return;
      }
      case Op::Fail:
        operation(offsetof(relay_operations, fail), b_.getVoidTy(), {run_, b_.getInt32(index_), b_.getInt32(in.index)});
        return unwind({}, index_);
    }
  }

  Shared& shared_;
  const Function& f_;
  uint32_t index_, site_;
  std::vector<llvm::AllocaInst*> registers_;
  Value *given_ = nullptr, *results_ = nullptr;  // arrays of objects that are passed to operations
  std::map<uint32_t, BasicBlock*> blocks_;       // by their first instruction
  Contents contents_;
};

// --- entries of functions --------------------------------------------------------------------------------------------

class WayIn : ObjectCode {
 public:
  WayIn(Shared& shared, llvm::Function* to, uint32_t index)
      : ObjectCode(to), f_(shared.program.functions[index]), function_(shared.functions[index]) {
    b_.SetInsertPoint(block("entry"));
  }
  // Has the C type relay_function.
  void from_outside() {
    std::vector<Value*> args;
    for (uint32_t i = 0; i < f_.parameters; ++i) args.push_back(load(b_.getPtrTy(), to_->getArg(1), i * sizeof(void*)));
    b_.CreateRet(call_with(function_, args));
  }
  void from_closure(uint32_t captures) {
    std::vector<Value*> given = arguments(f_.parameters - captures - f_.takes_self + 1), args;
    Value* closure = given[0];
    for (uint32_t i = 0; i < captures; ++i) {
      args.push_back(load(b_.getPtrTy(), closure, fields_at + i * sizeof(void*)));
      retain(args.back());
    }
    if (f_.takes_self)
      args.push_back(closure);
    else
      release(closure);
    args.insert(args.end(), given.begin() + 1, given.end());
    llvm::CallInst* made = call_with(function_, args);
    made->setTailCallKind(llvm::CallInst::TCK_MustTail);
    b_.CreateRet(made);
  }

 private:
  const Function& f_;
  llvm::Function* function_;
};

}  // namespace

void emit_functions(const Program& program, const TargetDesc& target, llvm::Module& module) {
  llvm::LLVMContext& context = module.getContext();
  llvm::PointerType* pointer = llvm::PointerType::get(context, 0);
  Type* word = Type::getInt32Ty(context);
  Shared shared{program, target, module, {}, {}, {}, {}};
  const std::vector<Function>& functions = program.functions;
  uint32_t sites = 0;
  for (size_t i = 0; i < functions.size(); ++i) {
    shared.first_site.push_back(sites);
    for (const Instruction& in : functions[i].code) sites += in.op == Op::RunSegment;
    shared.functions.push_back(declare(shared, format("{} {}", i, functions[i].name),
                                       function_type(context, functions[i].parameters), llvm::CallingConv::Tail));
  }

  // Openers, and the tables of those that calls look up.
  std::set<uint32_t> arguments;  // of calls of closures
  for (const Function& f : functions)
    for (const Instruction& in : f.code) {
      if (in.op == Op::CallClosure || in.op == Op::TailCallClosure) arguments.insert(in.args.count - 1);
      llvm::Function** opener =
          in.op == Op::MakeClosure ? &shared.openers.try_emplace({in.index, in.args.count}).first->second : nullptr;
      if (!opener || *opener) continue;
      const Function& made = functions[in.index];
      uint32_t takes = made.parameters - in.args.count - made.takes_self;
      *opener = declare(shared, format("{} {} from a closure of {}", in.index, made.name, in.args.count),
                        function_type(context, takes + 1), llvm::CallingConv::Tail);
      WayIn(shared, *opener, in.index).from_closure(in.args.count);
    }
  llvm::StructType* entry = opener_type(context);
  for (uint32_t count : arguments) {
    std::vector<llvm::Constant*> entries(functions.size(),
                                         llvm::ConstantStruct::get(entry, {llvm::ConstantPointerNull::get(pointer),
                                                                           llvm::ConstantInt::get(word, no_captures)}));
    for (const auto& [key, opener] : shared.openers)
      if (functions[key.first].parameters == count + key.second + functions[key.first].takes_self)
        entries[key.first] = llvm::ConstantStruct::get(entry, {opener, llvm::ConstantInt::get(word, key.second)});
    llvm::ArrayType* type = llvm::ArrayType::get(entry, entries.size());
    shared.tables[count] =
        new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::InternalLinkage,
                                 llvm::ConstantArray::get(type, entries), format("closures of {}", count));
  }
  for (uint32_t i = 0; i < functions.size(); ++i) FunctionCode(shared, i).write();

  // The table that the runtime uses.
  std::set<uint32_t> called = {0};
  for (const auto& [key, opener] : shared.openers) called.insert(key.first);
  std::vector<llvm::Constant*> entries(functions.size(), llvm::ConstantPointerNull::get(pointer));
  for (uint32_t i : called) {
    llvm::Function* f = declare(shared, format("{} {} from outside", i, functions[i].name),
                                llvm::FunctionType::get(pointer, {pointer, pointer}, false), llvm::CallingConv::C);
    WayIn(shared, f, i).from_outside();
    entries[i] = f;
  }
  llvm::ArrayType* type = llvm::ArrayType::get(pointer, entries.size());
  llvm::GlobalVariable* list = new llvm::GlobalVariable(module, type, true, llvm::GlobalValue::InternalLinkage,
                                                        llvm::ConstantArray::get(type, entries), "functions");
  llvm::Constant* head = llvm::ConstantStruct::getAnon(
      {llvm::ConstantInt::get(word, RELAY_NATIVE_VERSION), llvm::ConstantInt::get(word, functions.size()), list});
  new llvm::GlobalVariable(module, head->getType(), true, llvm::GlobalValue::ExternalLinkage, head, RELAY_FUNCTIONS);
}

}  // namespace relay::codegen
