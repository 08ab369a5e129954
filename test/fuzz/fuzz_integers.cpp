// relay_fuzz_integers: random programs over integers near the ends of their types.
//
//   relay_fuzz_integers --cases 1000             1,000 programs from seed 1; exit status 1 and the program on a failure
//   relay_fuzz_integers --seed 77 --cases 1 -v   that program
//
// Every value of a program is a result, computed here as well in the integers of C++ that wrap around, as NumPy's do.
// The evaluator, the graph executor, the VM and machine code must give the same elements at some level of optimisation,
// with the inputs as inputs and as constants.
#include <algorithm>
#include <cstdio>
#include <random>

#include "cases.h"
#include "relay/base/text.h"
#include "relay/eval/eval.h"
#include "relay/ir/rewrite.h"
#include "relay/text/text.h"
#include "relay/typing/typing.h"
#include "run_compiled.h"

using namespace relay;
using namespace relay::fuzz;

namespace {

// An element: the 64 bits of its sign- or zero-extended value.
using Bits = uint64_t;

bool is_signed(DType t) { return t.code == DType::Code::Int; }

Bits wrapped(DType t, Bits v) {
  if (t.is_bool()) return v != 0;
  if (t.bits == 64) return v;
  const Bits mask = (Bits{1} << t.bits) - 1, low = v & mask;
  return is_signed(t) && (low >> (t.bits - 1)) ? low | ~mask : low;
}

bool less(DType t, Bits a, Bits b) { return is_signed(t) ? static_cast<int64_t>(a) < static_cast<int64_t>(b) : a < b; }

// Exact, in 128 bits.
__int128 number(DType t, Bits v) {
  return is_signed(t) ? static_cast<__int128>(static_cast<int64_t>(v)) : static_cast<__int128>(v);
}

Bits unary(const std::string& op, DType t, Bits a) {
  const bool negative = less(t, a, 0);
  if (op == "negative") return wrapped(t, ~a + 1);
  if (op == "bitwise_not") return wrapped(t, ~a);
  if (op == "abs") return negative ? wrapped(t, ~a + 1) : a;
  if (op == "sign") return wrapped(t, negative ? ~Bits{0} : a != 0);
  return op == "logical_not" ? Bits{a == 0} : a;  // copy
}

// Quotients and remainders by 0 are 0.
Bits divided(const std::string& op, DType t, Bits a, Bits b) {
  const __int128 x = number(t, a), y = number(t, b);
  if (y == 0) return 0;
  __int128 quotient = x / y, rest = x % y;
  if (op.starts_with("floor") && rest != 0 && (rest < 0) != (y < 0)) quotient -= 1, rest += y;
  return wrapped(t, static_cast<Bits>(op.ends_with("mod") ? rest : quotient));
}

// A count outside of the type shifts all bits out.
Bits shifted(bool left, DType t, Bits a, Bits b) {
  const bool fits = !less(t, b, 0) && b < t.bits;
  if (left) return fits ? wrapped(t, a << b) : 0;
  if (!is_signed(t)) return fits ? a >> b : 0;
  const int64_t v = static_cast<int64_t>(a);
  return static_cast<Bits>(fits ? v >> b : v < 0 ? -1 : 0);
}

Bits binary(const std::string& op, DType t, Bits a, Bits b) {
  if (op == "add") return wrapped(t, a + b);
  if (op == "subtract") return wrapped(t, a - b);
  if (op == "multiply") return wrapped(t, a * b);
  if (op == "minimum") return less(t, b, a) ? b : a;
  if (op == "maximum") return less(t, a, b) ? b : a;
  if (op == "bitwise_and" || op == "logical_and") return a & b;
  if (op == "bitwise_or" || op == "logical_or") return a | b;
  if (op == "bitwise_xor" || op == "logical_xor") return wrapped(t, a ^ b);
  if (op == "left_shift" || op == "right_shift") return shifted(op == "left_shift", t, a, b);
  if (op == "equal") return a == b;
  if (op == "not_equal") return a != b;
  if (op == "less") return less(t, a, b);
  if (op == "less_equal") return !less(t, b, a);
  if (op == "greater") return less(t, b, a);
  if (op == "greater_equal") return !less(t, a, b);
  return divided(op, t, a, b);
}

const DType types[] = {DType::int8(),  DType::int16(),  DType::int32(),  DType::int64(), DType::int64(),
                       DType::uint8(), DType::uint16(), DType::uint32(), DType::uint64()};
const std::vector<std::string> unaries = {"negative", "abs", "sign", "bitwise_not", "copy"};
const std::vector<std::string> binaries = {"add",         "add",        "subtract",     "subtract",     "multiply",
                                           "minimum",     "maximum",    "floor_divide", "divide",       "floor_mod",
                                           "trunc_mod",   "left_shift", "bitwise_or",   "trunc_divide", "right_shift",
                                           "bitwise_and", "bitwise_xor"};
const std::vector<std::string> comparisons = {"less", "less_equal", "greater", "greater_equal", "equal", "not_equal"};
const std::vector<std::string> connectives = {"logical_and", "logical_or", "logical_xor"};

struct Value {
  std::string name;
  DType type;
  Shape shape;
  std::vector<Bits> elements;
  bool constant = false;  // an input that always is one
  bool table = false;     // an input of another shape, which only add_take reads
};

Tensor tensor_of(const Value& v) {
  std::vector<int64_t> numbers(v.elements.begin(), v.elements.end());
  return Tensor::from_ints(v.shape, v.type, numbers);
}

class Program {
 public:
  explicit Program(uint64_t seed) : random_(seed) {
    for (int64_t rank = in(0, 3); rank > 0; --rank) shape_.push_back(in(1, one_in(6) ? 19 : 4));
    type_ = types[in(0, 8)];
    const int64_t inputs = in(1, 3), steps = in(4, 12);
    for (int64_t i = 0; i < inputs; ++i) add_input(type_, part_of_shape(), false);
    for (int64_t i = 0; i < steps; ++i) add_step();
  }

  std::vector<Value> inputs, results;

  std::string text() const {
    std::string params, names;
    for (const Value& v : inputs)
      params += format("{}{}: Tensor[({}), {}]", params.empty() ? "" : ", ", v.name, join(v.shape, ", "), v.type.str());
    for (const Value& v : results) names += (names.empty() ? "" : ", ") + v.name;
    return format("#[version = \"0.0.5\"]\ndef @main({}) {{\n{}  ({}{})\n}}\n", params, lines_, names,
                  results.size() == 1 ? "," : "");
  }

  // The program with its constants in it; `all`: all inputs are constants.
  Result<ir::Module> module(bool all) const {
    RELAY_ASSIGN(ir::Module module, text::parse(text()));
    ir::FunctionRef& main = module.functions.at("main");
    ir::VarMap constants;
    std::vector<ir::VarRef> params;
    for (size_t i = 0; i < inputs.size(); ++i)
      if (all || inputs[i].constant)
        constants[main->params[i].get()] = ir::constant(tensor_of(inputs[i]));
      else
        params.push_back(main->params[i]);
    main = ir::function(std::move(params), ir::substitute(main->body, constants));
    return typing::infer(module);
  }

  eval::Values arguments(bool all) const {
    eval::Values args;
    for (const Value& v : inputs)
      if (!all && !v.constant) args.push_back(eval::Value(tensor_of(v)));
    return args;
  }

 private:
  int64_t in(int64_t low, int64_t high) { return std::uniform_int_distribution<int64_t>(low, high)(random_); }
  bool one_in(int64_t n) { return in(1, n) == 1; }
  template <class T>
  const T& of(const std::vector<T>& all) {
    return all[static_cast<size_t>(in(0, static_cast<int64_t>(all.size()) - 1))];
  }

  Shape part_of_shape() {
    if (!one_in(3)) return shape_;
    Shape part(shape_.begin() + (shape_.empty() ? 0 : in(0, static_cast<int64_t>(shape_.size()))), shape_.end());
    for (int64_t& size : part)
      if (one_in(3)) size = 1;
    return part;
  }

  Bits element(DType t) {
    const int64_t near = in(-4, 4);
    const Bits most = t.is_bool() ? 1 : (is_signed(t) ? ~Bits{0} >> (65 - t.bits) : ~Bits{0} >> (64 - t.bits));
    const Bits corners[] = {0, most, most + 1, most / 2, ~(most / 2), static_cast<Bits>(random_())};
    return wrapped(t, corners[in(0, 5)] + static_cast<Bits>(near));
  }

  Value add_input(DType t, Shape shape, bool constant) {
    Value v{format("%x{}", inputs.size()), t, std::move(shape), {}, constant};
    for (int64_t i = 0; i < *element_count(v.shape); ++i) v.elements.push_back(element(t));
    inputs.push_back(v);
    return v;
  }

  // An earlier value of this type, or a new input.
  Value operand(DType t) {
    std::vector<Value> fitting;
    for (const std::vector<Value>* from : {&inputs, &results})
      for (const Value& v : *from)
        if (v.type == t && !v.table) fitting.push_back(v);
    if (fitting.empty() || one_in(8)) return add_input(t, one_in(2) ? Shape() : part_of_shape(), one_in(2));
    return one_in(3) ? fitting.back() : of(fitting);
  }

  void add_result(DType t, Shape shape, const std::string& call, std::vector<Bits> elements) {
    Value v{format("%v{}", results.size()), t, std::move(shape), std::move(elements)};
    lines_ += format("  let {} = {};\n", v.name, call);
    results.push_back(std::move(v));
  }

  static Shape together(const Shape& a, const Shape& b) {
    Shape out(std::max(a.size(), b.size()), 1);
    for (const Shape* s : {&a, &b})
      for (size_t d = 0; d < s->size(); ++d) {
        int64_t& size = out[out.size() - s->size() + d];
        size = size == 1 ? (*s)[d] : size;
      }
    return out;
  }
  static Bits at(const Value& v, const Shape& out, int64_t flat) {
    int64_t place = 0, step = 1;
    for (size_t d = out.size(); d-- > 0;) {
      const int64_t index = flat % out[d];
      flat /= out[d];
      if (out.size() - d > v.shape.size()) continue;
      const int64_t size = v.shape[d - (out.size() - v.shape.size())];
      place += (size == 1 ? 0 : index) * step, step *= size;
    }
    return v.elements[static_cast<size_t>(place)];
  }

  template <class F>
  void add_elementwise(DType t, const std::string& call, const Shape& shape, F&& f) {
    std::vector<Bits> elements;
    for (int64_t i = 0; i < *element_count(shape); ++i) elements.push_back(f(i));
    add_result(t, shape, call, std::move(elements));
  }

  void add_binary(const std::string& op, DType t, DType out) {
    const Value a = operand(t), b = operand(t);
    const Shape shape = together(a.shape, b.shape);
    add_elementwise(out, format("{}({}, {})", op, a.name, b.name), shape,
                    [&](int64_t i) { return binary(op, t, at(a, shape, i), at(b, shape, i)); });
  }

  void add_unary(const std::string& op, DType t) {
    const Value a = operand(t);
    add_elementwise(t, format("{}({})", op, a.name), a.shape,
                    [&](int64_t i) { return unary(op, t, a.elements[static_cast<size_t>(i)]); });
  }

  void add_cast() {
    const Value a = operand(one_in(6) ? DType::boolean() : type_);
    const DType to = one_in(8) ? DType::boolean() : types[in(0, 8)];
    add_elementwise(to, format("cast({}, dtype=\"{}\")", a.name, to.str()), a.shape,
                    [&](int64_t i) { return wrapped(to, a.elements[static_cast<size_t>(i)]); });
    if (!to.is_bool()) type_ = to;
  }

  void add_where() {
    const Value c = operand(DType::boolean()), a = operand(type_), b = operand(type_);
    const Shape shape = together(together(a.shape, b.shape), c.shape);
    add_elementwise(type_, format("where({}, {}, {})", c.name, a.name, b.name), shape,
                    [&](int64_t i) { return at(c, shape, i) ? at(a, shape, i) : at(b, shape, i); });
  }

  void add_clip() {
    const Value a = operand(type_);
    const int64_t low = is_signed(type_) ? in(-99, 20) : in(0, 20), high = in(low, 120);
    add_elementwise(type_, format("clip({}, a_min={}f, a_max={}f)", a.name, low, high), a.shape, [&](int64_t i) {
      const Bits v = a.elements[static_cast<size_t>(i)], most = static_cast<Bits>(high), least = static_cast<Bits>(low);
      return less(type_, v, least) ? least : less(type_, most, v) ? most : v;
    });
  }

  // Places along the last axis, as data.
  void add_places() {
    const int64_t n = shape_.empty() ? 3 : shape_.back();
    const DType t = one_in(2) ? DType::int64() : type_;
    const std::string bounds = format("0i64, {}i64, 1i64, start=0f, stop={}f, step=1f, dtype=\"{}\"", n, n, t.str());
    add_elementwise(t, format("arange({})", bounds), {n}, [&](int64_t i) { return wrapped(t, static_cast<Bits>(i)); });
    type_ = t;
  }

  // Elements read at places that are data, taken into the range.
  void add_take() {
    const DType t = one_in(2) ? DType::int64() : DType::int32();
    const Value from = add_input(type_, {in(1, 9)}, one_in(3));
    inputs.back().table = true;
    const Value places = operand(t);
    const int64_t last = from.shape[0] - 1;
    add_elementwise(type_, format("take({}, {}, axis=0, mode=\"clip\")", from.name, places.name), places.shape,
                    [&](int64_t i) {
                      const int64_t k = static_cast<int64_t>(places.elements[static_cast<size_t>(i)]);
                      return from.elements[static_cast<size_t>(std::clamp<int64_t>(k, 0, last))];
                    });
  }

  void add_step() {
    const int64_t kind = in(0, 19);
    if (kind < 9) return add_binary(of(binaries), type_, type_);
    if (kind < 12) return add_binary(of(comparisons), type_, DType::boolean());
    if (kind < 14) return add_unary(of(unaries), type_);
    switch (kind) {
      case 14: return add_cast();
      case 15: return add_where();
      case 16: return add_clip();
      case 17: return add_places();
      case 18: return add_take();
      default:
        return one_in(4) ? add_unary("logical_not", DType::boolean())
                         : add_binary(of(connectives), DType::boolean(), DType::boolean());
    }
  }

  std::mt19937_64 random_;
  Shape shape_;
  DType type_;
  std::string lines_;
};

// The first element that differs, or "".
std::string difference(const Program& program, const eval::Value& got) {
  const eval::TupleValue* tuple = eval::as_tuple(got);
  if (!tuple || tuple->fields.size() != program.results.size()) return "another number of results";
  for (size_t k = 0; k < program.results.size(); ++k) {
    const Value& want = program.results[k];
    const Tensor& tensor = tuple->fields[k].tensor;
    if (tensor.dtype() != want.type || tensor.shape() != want.shape) return format("{} has another type", want.name);
    for (int64_t i = 0; i < tensor.elements(); ++i)
      if (static_cast<Bits>(tensor.int_at(i)) != want.elements[static_cast<size_t>(i)])
        return format("element {} of {} is {} instead of {}", i, want.name, tensor.int_at(i),
                      static_cast<int64_t>(want.elements[static_cast<size_t>(i)]));
  }
  return "";
}

// Returns the first error, or "".
std::string check(uint64_t seed, bool verbose, int64_t* values) {
  const Program program(seed);
  const std::string text = program.text();
  if (verbose) std::printf("%s\n", text.c_str());
  *values += static_cast<int64_t>(program.results.size());
  const runtime::Executor executors[] = {runtime::Executor::Graph, runtime::Executor::Vm, runtime::Executor::Aot};
  for (const bool all : {false, true}) {
    const Result<ir::Module> module = program.module(all);
    if (!module) return format("{}\n{}", render(module.errors()), text);
    const eval::Values args = program.arguments(all);
    auto wrong = [&](const std::string& how, const Result<eval::Value>& got) -> std::string {
      const std::string what = got ? difference(program, *got) : render(got.errors());
      std::string inputs;
      for (const Value& v : program.inputs) inputs += format("{} = {}\n", v.name, eval::str(eval::Value(tensor_of(v))));
      return what.empty() ? "" : format("{}{}: {}\n{}{}", how, all ? ", constants" : "", what, text, inputs);
    };
    if (std::string e = wrong("evaluator", eval::run(*module, "main", args)); !e.empty()) return e;
    const uint64_t turn = seed + (all ? 1 : 0);
    const int level = static_cast<int>(turn / 3 % 4);
    const std::string how = format("{} at -O{}", runtime::name(executors[turn % 3]), level);
    if (std::string e = wrong(how, run_compiled(*module, args, executors[turn % 3], level)); !e.empty()) return e;
  }
  return "";
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Cases> given = cases_of(argc, argv);
  if (!given) return 2;
  int64_t values = 0, failures = 0;
  Progress progress(given->count, "programs");
  for (int64_t i = 0; i < given->count && failures == 0; ++i) {
    progress.at(i);
    const uint64_t seed = given->first_seed + static_cast<uint64_t>(i);
    std::string wrong;
    try {
      wrong = check(seed, given->verbose, &values);
    } catch (const std::exception& error) {
      wrong = error.what();
    }
    if (wrong.empty()) continue;
    std::printf("FAILED seed %llu: %s\n", static_cast<unsigned long long>(seed), wrong.c_str());
    ++failures;
  }
  std::printf("%lld programs of %lld values\n", static_cast<long long>(given->count), static_cast<long long>(values));
  return failures ? 1 : 0;
}
