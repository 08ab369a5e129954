#include "relay/c_project/c_text.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <iterator>

#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

// Keywords of C++, and names that a project uses from elsewhere.
static const char* const taken[] = {
    "bool",         "catch",  "class",    "delete",  "explicit",  "export",   "false",    "friend",  "mutable",
    "namespace",    "new",    "operator", "private", "protected", "public",   "template", "this",    "throw",
    "true",         "try",    "typename", "using",   "virtual",   "wchar_t",  "nullptr",  "and",     "or",
    "not",          "xor",    "main",     "NULL",    "memcpy",    "linux",    "unix",     "concept", "requires",
    "thread_local", "typeid", "alignas",  "alignof", "decltype",  "noexcept", "constexpr"};

Identifiers::Identifiers() : taken_(std::begin(taken), std::end(taken)) {
  taken_.insert(codegen::c99.keywords.begin(), codegen::c99.keywords.end());
}

std::string Identifiers::add(const std::string& name) {
  std::string base;
  for (unsigned char c : name) base += std::isalnum(c) && c < 128 ? static_cast<char>(c) : '_';
  while (!base.empty() && base[0] == '_') base.erase(0, 1);  // reserved for the C library
  if (base.empty() || std::isdigit(static_cast<unsigned char>(base[0]))) base = "v" + base;
  std::string out = base;
  for (int n = 2; !taken_.insert(out).second; ++n) out = format("{}_{}", base, n);
  return out;
}

std::string upper_case(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::toupper(c); });
  return name;
}

std::string type_text(DType dtype, const Shape& shape) { return format("{}[{}]", dtype.str(), join(shape, ", ")); }

std::string extent_text(const Shape& shape) {
  if (shape.empty() || std::find(shape.begin(), shape.end(), 0) != shape.end()) return "1";
  return format("{}", join(shape, " * "));
}

namespace {
// Elements with commas, in lines of at most 110 characters.
class Lines {
 public:
  void add(std::string_view element) {
    if (column_ + element.size() + 2 > 110 || out_.empty()) out_ += out_.empty() ? "  " : "\n  ", column_ = 2;
    out_.append(element).append(", ");
    column_ += element.size() + 2;
  }
  std::string finish() {
    if (out_.empty()) return "  0\n";
    out_.resize(out_.size() - 2);
    return out_ + "\n";
  }

 private:
  std::string out_;
  size_t column_ = 0;
};

template <class T>
void add_floats(const Tensor& values, const char* suffix, Lines& lines) {
  std::string text;
  for (T v : values.span<T>()) {
    text.clear();
    if (std::isnan(v)) {
      text = "NAN";
    } else if (std::isinf(v)) {
      text = v > 0 ? "INFINITY" : "-INFINITY";
    } else {
      fmt::format_to(std::back_inserter(text), "{}", v);
      if (text.find_first_of(".e") == std::string::npos) text += ".0";
      text += suffix;
    }
    lines.add(text);
  }
}
}  // namespace

std::string literal(const Tensor& values) {
  const DType t = values.dtype();
  Lines lines;
  if (t == DType::float32()) {
    add_floats<float>(values, "f", lines);
  } else if (t == DType::float64()) {
    add_floats<double>(values, "", lines);
  } else if (t.is_float()) {  // as its bits
    for (uint16_t v : values.span<uint16_t>()) lines.add(format("{:#06x}", v));
  } else {
    for (int64_t i = 0; i < values.elements(); ++i) {
      const int64_t v = values.int_at(i);
      if (t.bits == 64 && t.code == DType::Code::UInt)
        lines.add(format("UINT64_C({})", static_cast<uint64_t>(v)));
      else if (t.bits == 64)
        lines.add(v == INT64_MIN ? "INT64_MIN" : format("INT64_C({})", v));
      else if (v == INT32_MIN)
        lines.add("INT32_MIN");
      else
        lines.add(t == DType::uint32() ? format("{}u", v) : format("{}", v));
    }
  }
  return lines.finish();
}

std::string reversed_elements(const Tensor& values) {
  std::string bytes(static_cast<const char*>(values.data()), values.bytes());
  const size_t each = static_cast<size_t>(values.dtype().bytes());
  for (size_t at = 0; at + each <= bytes.size(); at += each) std::reverse(&bytes[at], &bytes[at] + each);
  return bytes;
}

}  // namespace relay::c_project
