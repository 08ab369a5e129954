// Every operation and conversion, of every type, scalar and vector, compiled against scalar/eval.h.
#include "relay/target/host/kernel_testing.h"

namespace relay::target {
namespace {

using testing::compare_everywhere;

const char* const integers[] = {"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"};
const char* const floats[] = {"float32", "float64", "float16", "bfloat16"};

// y_i[j] = values[i] for all j, in vectors of `lanes` with a tail; a value is text over a[j] and b[j].
std::string elementwise(const std::string& in, const std::vector<std::pair<std::string, std::string>>& values,
                        int lanes) {
  std::string params = format("a: {0}[n] read, b: {0}[n] read", in), body,
              at = lanes == 1 ? "j" : format("j * {} + l", lanes);
  int i = 0;
  for (const auto& [type, value] : values) {
    params += format(", y{}: {}[n]", i, type);
    std::string text = value;
    for (size_t p; (p = text.find("$")) != std::string::npos;) text.replace(p, 1, "[" + at + "]");
    body += format("        y{}[{}] = {}\n", i++, at, text);
  }
  if (lanes == 1)
    return format("kernel ops({}), shape (n), task t < 1 {{\n  for j in 0..n {{\n{}  }}\n}}\n", params, body);
  return format(
      "kernel ops({0}), shape (n), task t < 1 {{\n  for j in 0..(n + {1} - 1) // {1} {{\n    for l in 0..{1} "
      "vectorised {{\n      if j * {1} + l < n {{\n{2}      }}\n    }}\n  }}\n}}\n",
      params, lanes, body);
}

void check(const std::string& in, const std::vector<std::pair<std::string, std::string>>& values, double tolerance) {
  for (int lanes : {1, 16}) {
    compare_everywhere(elementwise(in, values, lanes),
                       {.shape = {203}, .tolerance = tolerance, .edges = true, .seed = 5});
  }
}

TEST(Arithmetic, Integers) {
  for (std::string t : integers) {
    std::vector<std::pair<std::string, std::string>> values;
    std::string suffix = t == "int64" ? "" : (t[0] == 'u' ? "u" : "i") + t.substr(t.find_first_of("1368"));
    for (const char* op : {"+", "-", "*", "//", "%"}) values.push_back({t, format("a$ {} b$", op)});
    for (const char* f : {"truncdiv", "truncmod", "min", "max", "bitand", "bitor", "bitxor"})
      values.push_back({t, format("{}(a$, b$)", f)});
    for (const char* f : {"shl", "shr"}) values.push_back({t, format("{}(a$, bitand(b$, 15{}))", f, suffix)});
    for (const char* op : {"==", "!=", "<", "<="}) values.push_back({"bool", format("a$ {} b$", op)});
    for (const char* f : {"neg", "abs", "sign", "bitnot"}) values.push_back({t, format("{}(a$)", f)});
    for (const char* c : {"1", "3", "8"})
      for (const char* op : {"//", "%"}) values.push_back({t, format("a$ {} {}{}", op, c, suffix)});
    for (const char* c : {"3", "8"})
      for (const char* f : {"truncdiv", "truncmod"}) values.push_back({t, format("{}(a$, {}{})", f, c, suffix)});
    values.push_back({t, "power(a$, b$)"});
    values.push_back({t, format("power(a$, bitand(b$, 7{}))", suffix)});
    check(t, values, 0);
  }
}

TEST(Arithmetic, Floats) {
  for (std::string t : floats) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const char* op : {"+", "-", "*", "/"}) values.push_back({t, format("a$ {} b$", op)});
    for (const char* f : {"min", "max"}) values.push_back({t, format("{}(a$, b$)", f)});
    for (const char* op : {"==", "!=", "<", "<="}) values.push_back({"bool", format("a$ {} b$", op)});
    for (const char* f : {"neg", "abs", "sign", "sqrt", "floor", "ceil", "round", "trunc"})
      values.push_back({t, format("{}(a$)", f)});
    for (const char* f : {"isnan", "isinf"}) values.push_back({"bool", format("{}(a$)", f)});
    std::string zero = t == "float32" ? "0f" : t == "float64" ? "0f64" : t == "float16" ? "0f16" : "0bf16";
    values.push_back({t, format("max(a$, {})", zero)});
    values.push_back({t, format("min({}, a$)", zero)});
    check(t, values, 0);
  }
}

TEST(Arithmetic, MathFunctions) {
  for (std::string t : floats) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const char* f : {"exp", "expm1", "tanh", "erf", "erfc", "atan"}) values.push_back({t, format("{}(a$)", f)});
    for (const char* f : {"log", "log1p", "rsqrt"}) values.push_back({t, format("{}(abs(a$))", f)});
    check(t, values, t == "float64" ? 1e-15 : t == "float32" ? 3e-7 : t == "float16" ? 1.1e-3 : 8e-3);
  }
}

TEST(Arithmetic, Casts) {
  std::vector<std::string> all(std::begin(integers), std::end(integers));
  all.insert(all.end(), std::begin(floats), std::end(floats));
  for (const std::string& from : all) {
    std::vector<std::pair<std::string, std::string>> values;
    for (const std::string& to : all)
      if (to != from) values.push_back({to, to + "(a$)"});
    values.push_back({"bool", "bool(a$)"});
    check(from, values, 0);
  }
  std::vector<std::pair<std::string, std::string>> values;
  for (const std::string& to : all) values.push_back({to, to + "(a$)"});
  check("bool", values, 0);
}

TEST(Arithmetic, Reinterpret) {
  check("float32", {{"int32", "as_int32(a$)"}, {"float32", "as_float32(bitxor(as_int32(a$), 1i32))"}}, 0);
  check("float64", {{"int64", "as_int64(a$)"}}, 0);
  check("float16", {{"uint16", "as_uint16(a$)"}}, 0);
  check("uint16", {{"bfloat16", "as_bfloat16(a$)"}}, 0);
}

}  // namespace
}  // namespace relay::target
