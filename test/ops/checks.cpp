#include "checks.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "relay/codegen/c/c_source.h"
#include "relay/eval/eval.h"
#include "relay/ir/rewrite.h"
#include "relay/runtime/artifacts/artifact.h"
#include "relay/transform/pass.h"
#include "relay/typing/typing.h"

namespace relay::proofs {

using ir::as;

namespace {

std::string file_text(const std::string& path) {
  std::ostringstream out;
  out << std::ifstream(path).rdbuf();
  return out.str();
}

std::string temporary() {
  return (std::filesystem::temp_directory_path() / format("relay_op_proofs_{}", getpid())).string();
}

class CLibrary : public runtime::KernelLibrary {
 public:
  explicit CLibrary(void* handle) : handle_(handle) {}
  ~CLibrary() override { dlclose(handle_); }
  runtime::KernelFn find(const std::string& name) const override {
    return reinterpret_cast<runtime::KernelFn>(dlsym(handle_, codegen::c_name(name).c_str()));
  }

 private:
  void* handle_;
};

ir::Module module_of(const ir::FunctionRef& function) {
  ir::Module module;
  module.functions["main"] = function;
  return module;
}

}  // namespace

Result<exec::Built> build_call(const ExampleCase& c, const TargetDesc& target) {
  RELAY_ASSIGN(ir::Module typed, typing::infer(module_of(eval::function(c))));
  if (c.def->shape) {  // value-dependent sizes: no single kernel
    driver::Options options;
    options.lower.target = target, options.passes.opt_level = 0;
    RELAY_ASSIGN(driver::Compiled compiled, driver::compile(typed, options));
    return compiled.built;
  }
  lower::LowerOptions options;
  options.target = target;
  RELAY_ASSIGN(lower::LoweredFunction lowered, lower::lower(typed.functions.at("main"), "main", options));
  return exec::build_program(lowered, {.target = target});
}

Result<Tensors> evaluated(const ir::FunctionRef& function, const Tensors& inputs) {
  RELAY_ASSIGN(const ir::Module typed, typing::infer(module_of(function)));
  eval::Values args;
  for (const Tensor& t : inputs) args.emplace_back(t);
  RELAY_ASSIGN(const eval::Value result, eval::run(typed, "main", args));
  Tensors out;
  if (const eval::TupleValue* tuple = eval::as_tuple(result))
    for (const eval::Value& field : tuple->fields) out.push_back(field.tensor);
  else
    out.push_back(result.tensor);
  return out;
}

Problem check_c(const exec::Built& built, const char* compiler, const Tensors& inputs, const Tensors& want,
                double ulps) {
  const std::string base = temporary();
  std::ofstream(base + ".c") << codegen::c_source(built.kernels);
  // Without optimisation: the test checks only the correctness of the source, and takes a third of the time.
  const std::string command = format(
      "{0} -std=c99 -Wall -Wextra -Werror -pedantic -O0 -shared -fPIC {1}.c -o {1}.so -lm 2> {1}.txt", compiler, base);
  void* handle = std::system(command.c_str()) == 0 ? dlopen((base + ".so").c_str(), RTLD_NOW | RTLD_LOCAL) : nullptr;
  const std::string said = file_text(base + ".txt");
  for (const char* end : {".c", ".so", ".txt"}) std::filesystem::remove(base + end);
  if (!handle) return format("{} refuses the source: {}", compiler, said);
  Result<Executable> executable =
      runtime::Executable::create(built.program, std::make_shared<CLibrary>(handle), {.threads = 1});
  if (!executable) return render(executable.errors());
  Result<Tensors> got = (*executable)->run(inputs);
  // The C library's exp and similar functions have an error of one unit more than Relay's.
  return got ? difference(*got, want, ulps + 1) : render(got.errors());
}

Problem check_artifact(const exec::Built& built, const TargetDesc& target, const Tensors& inputs, const Tensors& want) {
  const std::string path = temporary() + ".rart";
  Status saved = exec::save(built, {.target = target}, {}, path);
  if (!saved) return render(saved.errors());
  Result<Executable> loaded = runtime::load_executable(path);
  std::filesystem::remove(path);
  if (!loaded) return render(loaded.errors());
  Result<Tensors> got = (*loaded)->run(inputs);
  if (!got) return render(got.errors());
  for (size_t k = 0; k < want.size(); ++k)
    if (!equal((*got)[k], want[k])) return format("result {} from a file has other bits", k);
  return {};
}

namespace {

// An operator that preserves a value, before an input.
ir::Expr kept(const ir::Expr& value, DType dtype) {
  if (dtype == DType::boolean()) return op::make("logical_or", {value, ir::constant(0, dtype)}, {});
  if (dtype.is_float()) return op::make("clip", {value}, {{"a_min", -60000.0}, {"a_max", 60000.0}});
  if (dtype.is_storage()) return op::make("copy", {value});
  return op::make("bitwise_or", {value, ir::constant(0, dtype)}, {});
}

// An operator that changes a value, after a result.
ir::Expr changed(const ir::Expr& value, DType dtype) {
  if (dtype.is_float()) return op::make("negative", {value}, {});
  if (dtype == DType::boolean() || dtype.is_storage()) return op::make("cast", {value}, {{"dtype", DType::float32()}});
  return op::make("bitwise_not", {value}, {});
}

}  // namespace

std::optional<ir::FunctionRef> with_neighbours(const ExampleCase& c, Side side) {
  const ir::FunctionRef plain = eval::function(c);
  if (side == Side::After) {
    const ir::TupleType* tuple = as<ir::TupleType>(c.output);
    if (!tuple) return ir::function(plain->params, changed(plain->body, as<ir::TensorType>(c.output)->dtype), nullptr);
    ir::Exprs fields;
    for (size_t k = 0; k < tuple->fields.size(); ++k)
      fields.push_back(
          changed(ir::get(plain->body, static_cast<int64_t>(k)), as<ir::TensorType>(tuple->fields[k])->dtype));
    return ir::function(plain->params, ir::tuple(fields), nullptr);
  }
  if (plain->params.empty()) return {};
  const ir::Types types = flat(c.inputs);
  size_t next = 0;
  const ir::Call* call = as<ir::Call>(plain->body);
  ir::Exprs args;
  for (const ir::Expr& arg : call->args) {
    if (const ir::Tuple* tuple = as<ir::Tuple>(arg)) {
      ir::Exprs fields;
      for (const ir::Expr& field : tuple->elements)
        fields.push_back(kept(field, as<ir::TensorType>(types[next++])->dtype));
      args.push_back(ir::tuple(fields));
    } else {
      args.push_back(kept(arg, as<ir::TensorType>(types[next++])->dtype));
    }
  }
  return ir::function(plain->params, ir::call(call->callee, args, call->attrs), nullptr);
}

bool shares_kernel(const ir::Module& module) {
  static const std::set<std::string> neighbours = {"logical_or",  "clip", "bitwise_or", "negative",
                                                   "bitwise_not", "copy", "cast"};
  bool shared = false;
  for (const auto& [name, function] : module.functions)
    ir::visit(function, [&](const ir::Expr& e) {
      const ir::Function* primitive = as<ir::Function>(e);
      if (!primitive || !primitive->is_primitive()) return;
      size_t calls = 0, known = 0;
      ir::visit(primitive->body, [&](const ir::Expr& inner) {
        const ir::Call* call = as<ir::Call>(inner);
        const ir::Op* op = call ? as<ir::Op>(call->callee) : nullptr;
        calls += op != nullptr, known += op && neighbours.count(op->name);
      });
      shared |= known > 0 && calls > 1;
    });
  return shared;
}

}  // namespace relay::proofs
