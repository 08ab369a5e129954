// Interprets kernels statement by statement, lane by lane, and checks every index. Local arrays start with garbage, so
// that reads of elements that were never stored are noticed.
#include <cstring>
#include <unordered_map>

#include "relay/base/diagnostics.h"
#include "relay/loop/loop.h"
#include "relay/scalar/eval.h"

namespace relay::loop {
namespace {

using scalar::Value;

struct Array {
  char* data = nullptr;
  std::vector<int64_t> shape;
  std::vector<char> own;
};

DType bits_type(DType t) { return DType{DType::Code::UInt, t.bits}; }

class Interpreter {
 public:
  explicit Interpreter(const Kernel& k) : kernel_(k) {}

  Status run(const std::vector<void*>& params, const std::vector<int64_t>& param_bytes,
             const std::vector<int64_t>& shape, int64_t begin, int64_t end) {
    if (params.size() != kernel_.params.size() || param_bytes.size() != params.size() ||
        shape.size() != kernel_.shape_vars.size())
      return Diagnostic{.kind = DiagnosticKind::wrong_input,
                        .message = format("kernel {} takes {} arrays and {} sizes", kernel_.name, kernel_.params.size(),
                                          kernel_.shape_vars.size())};
    for (size_t i = 0; i < shape.size(); ++i) vars_[kernel_.shape_vars[i].get()] = {scalar::int_value(shape[i])};
    for (size_t i = 0; i < params.size(); ++i) {
      Array a;
      a.data = static_cast<char*>(params[i]);
      int64_t bytes = kernel_.params[i]->dtype.bytes();
      for (const Expr& e : kernel_.params[i]->shape) a.shape.push_back(integer(e)), bytes *= a.shape.back();
      if (bytes > param_bytes[i])
        return Diagnostic{
            .kind = DiagnosticKind::wrong_input,
            .message = format("{} needs {} bytes and has {}", kernel_.params[i]->name, bytes, param_bytes[i])};
      arrays_[kernel_.params[i].get()] = std::move(a);
    }
    for (int64_t t = begin; t < end && !failed_; ++t) {
      vars_[kernel_.task.get()] = {scalar::int_value(t)};
      stmt(kernel_.body);
    }
    if (failed_) return *failed_;
    return ok();
  }

 private:
  void fail(std::string message) {
    if (!failed_)
      failed_ = Diagnostic{.kind = DiagnosticKind::illegal_schedule,
                           .message = format("kernel {}: {}", kernel_.name, message)};
  }

  // The address of an element; reports an error and returns null if there is none.
  char* element(const scalar::Source& source, std::span<const int64_t> indices) {
    auto it = arrays_.find(&source);
    if (it == arrays_.end()) return fail(format("array {} is not in scope", source.name)), nullptr;
    const Array& a = it->second;
    int64_t offset = 0;
    for (size_t d = 0; d < a.shape.size(); ++d) {
      if (indices[d] < 0 || indices[d] >= a.shape[d])
        return fail(format("{}[{}] is outside of {}", source.name,
                           join(std::vector<int64_t>(indices.begin(), indices.end()), ", "), join(a.shape, " x "))),
               nullptr;
      offset = offset * a.shape[d] + indices[d];
    }
    return a.data + offset * source.dtype.bytes();
  }

  Value eval(const Expr& e, int lane = 0) {
    auto var = [&](const Expr& v, int l) -> Value {
      auto it = vars_.find(v.get());
      if (it == vars_.end())
        return fail(format("variable {} is not in scope", v->name)), Value{v->dtype.element(), 0, 0};
      return it->second[std::min<size_t>(static_cast<size_t>(l), it->second.size() - 1)];
    };
    auto load = [&](const scalar::Source& source, std::span<const int64_t> indices) -> Value {
      DType t = source.dtype;
      const char* at = element(source, indices);
      uint64_t bits = 0;
      if (at) std::memcpy(&bits, at, static_cast<size_t>(t.bytes()));
      if (t.is_bool()) return {t, (bits & 255) != 0, 0};
      return scalar::reinterpret(t, scalar::int_value(static_cast<int64_t>(bits), bits_type(t)));
    };
    return scalar::eval(e, {var, load, false}, lane);
  }
  int64_t integer(const Expr& e, int lane = 0) { return eval(e, lane).i; }

  void stmt(const Stmt& s) {
    if (failed_) return;
    switch (s->kind) {
      case StmtKind::For: {
        int64_t begin = integer(s->min), end = begin + integer(s->extent);
        for (int64_t i = begin; i < end && !failed_; ++i) {
          vars_[s->var.get()] = {scalar::int_value(i)};
          stmt(s->body[0]);
        }
        break;
      }
      case StmtKind::Store: {
        int lanes = s->value->dtype.lanes;
        for (const Expr& e : s->indices) lanes = std::max<int>(lanes, e->dtype.lanes);
        std::vector<std::pair<std::vector<int64_t>, Value>> writes;  // all lanes read before the first writes
        for (int l = 0; l < lanes; ++l) {
          if (s->condition && !eval(s->condition, l).i) continue;
          std::vector<int64_t> indices;
          for (const Expr& e : s->indices) indices.push_back(integer(e, l));
          writes.push_back({std::move(indices), eval(s->value, l)});
        }
        for (const auto& [indices, value] : writes) {
          char* at = element(*s->buffer, indices);
          if (!at) return;
          DType t = s->buffer->dtype;
          int64_t bits = t.is_bool() ? value.i : scalar::reinterpret(bits_type(t), value).i;
          std::memcpy(at, &bits, static_cast<size_t>(t.bytes()));
        }
        break;
      }
      case StmtKind::Let: {
        std::vector<Value> values;
        for (int l = 0; l < s->value->dtype.lanes; ++l) values.push_back(eval(s->value, l));
        vars_[s->var.get()] = std::move(values);
        stmt(s->body[0]);
        break;
      }
      case StmtKind::If:
        if (integer(s->condition))
          stmt(s->body[0]);
        else if (s->body.size() > 1)
          stmt(s->body[1]);
        break;
      case StmtKind::Alloc: {
        Array a;
        int64_t bytes = s->buffer->dtype.bytes();
        for (const Expr& e : s->buffer->shape) a.shape.push_back(integer(e)), bytes *= a.shape.back();
        a.own.assign(static_cast<size_t>(bytes), static_cast<char>(0xA5));
        a.data = a.own.data();
        arrays_[s->buffer.get()] = std::move(a);
        stmt(s->body[0]);
        break;
      }
      case StmtKind::Block:
        for (const Stmt& b : s->body) stmt(b);
        break;
      case StmtKind::Prefetch: break;
    }
  }

  const Kernel& kernel_;
  std::optional<Diagnostic> failed_;
  std::unordered_map<const scalar::Node*, std::vector<Value>> vars_;
  std::unordered_map<const scalar::Source*, Array> arrays_;
};

}  // namespace

Status interpret(const Kernel& kernel, const std::vector<void*>& params, const std::vector<int64_t>& param_bytes,
                 const std::vector<int64_t>& shape, int64_t begin, int64_t end) {
  return Interpreter(kernel).run(params, param_bytes, shape, begin, end);
}

}  // namespace relay::loop
