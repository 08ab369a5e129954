// Texts of self-tests that both kinds of project have.
#include <algorithm>

#include "relay/c_project/project_writer.h"
#include "relay/codegen/c/c_helpers.h"

namespace relay::c_project {

std::string vector_text(const std::string& name, const Tensor& values) {
  return format("\nstatic const {} {}[{}] = {{\n{}}};\n", codegen::c_stored_type(values.dtype()), name,
                std::max<int64_t>(values.elements(), 1), literal(values));
}

std::string ProjectWriter::definition_of_loose() const {
  std::string also;
  if (options_.library_math) also += " || 1 /* exp, tanh and similar functions are the C library's */";
  if (options_.rounds_once) also += " || 1 /* products and sums of the machine code are rounded once */";
  return format("#if defined(RELAY_FMA) || FLT_EVAL_METHOD != 0{}\n#define LOOSE 1\n#else\n#define LOOSE 0\n#endif\n\n",
                also);
}

// Floats agree if they have the same bits or both are NaN. With another rounding of products or another exp, they may
// differ by a part of the largest value, and integers by one.
std::string comparison(DType t) {
  const std::string type = codegen::c_stored_type(t);
  std::string body;
  if (t.is_float() && t.bits >= 32) {
    body =
        "    const double d = fabs((double)got[i] - (double)want[i]);\n"
        "    if (memcmp(&got[i], &want[i], sizeof *got) == 0 || (got[i] != got[i] && want[i] != want[i])) continue;\n"
        "    if (LOOSE && d <= 1e-4 * largest) continue;\n";
  } else {
    body =
        "    const int64_t d = (int64_t)(got[i] - want[i]);\n"
        "    if (got[i] == want[i] || (LOOSE && (d == 1 || d == -1))) continue;\n";
  }
  const std::string largest = t.is_float() && t.bits >= 32
                                  ? "  double largest = 0;\n  for (size_t i = 0; i < count; ++i)\n"
                                    "    if (fabs((double)want[i]) > largest) largest = fabs((double)want[i]);\n"
                                  : "";
  return format(
      "static size_t differences_{0}(const {0} *got, const {0} *want, size_t count) {{\n"
      "  size_t different = 0;\n{1}  for (size_t i = 0; i < count; ++i) {{\n{2}    ++different;\n  }}\n"
      "  return different;\n}}\n\n",
      type, largest, body);
}

}  // namespace relay::c_project
