// Strassen's product, one level: two matrices in quarters, multiplied by seven products of quarters instead of eight.
//
//   [ C00 C01 ]   [ A00 A01 ] [ B00 B01 ]      product[p] = (left[p] . A) (right[p] . B), p < 7;  C = out . product
//   [ C10 C11 ] = [ A10 A11 ] [ B10 B11 ]
//
// In Winograd's variant (15 sums; four of them, of the weights, are computed when the program is loaded and stored
// separately from the quarters themselves, which the file holds). Quarters take the rows 2 t and 2 t + 1 of A and
// neighbouring blocks of columns of B, so that a tile of the result is contiguous; the summed axis is split into
// halves. A rewrite from tensor expressions to tensor expressions; schedule.cpp schedules it. The error is about twice
// that of direct sums: Higham, Accuracy and Stability of Numerical Algorithms (2002), chapter 23.
#pragma once

#include <optional>
#include <set>

#include "relay/lower/algorithms/bilinear.h"
#include "relay/lower/rules/form.h"
#include "relay/lower/schedule/layout.h"
#include "relay/lower/schedule/schedule_rules.h"
#include "relay/machine/target_desc.h"

namespace relay::lower {

// The products of a form: product[p] = (left[p] . A) (weight_sums()[p] . B) for the first `of_sums` products; the p-th
// of the others reads the quarter quarter_order()[p % 4] of B. C = out . product. Each row has the four quarters 00,
// 01, 10, 11.
struct QuarterProducts {
  Matrix left, out;
  int64_t of_sums = 0;
};
// Strassen's seven products read the four sums and three of the quarters. The direct form's eight products read the
// quarters: it sums nothing that the product as written does not sum, and shares the stored weights.
const Matrix& weight_sums();
const std::vector<int64_t>& quarter_order();
const QuarterProducts& strassen_products();
const QuarterProducts& direct_products();

// The stages that stand for one product, by name, in the order of computation; axes in brackets. p: the product; t:
// pair of rows; b: pair of blocks of columns; r: column of a block.
struct Strassen {
  // The products with one array of weights: [p, t, b, r], summed over k.
  struct Part {
    std::string product, weight;
  };
  int64_t block = 0;          // columns of a block
  std::string weight{};       // [p, b, k, r]: quarters of the weights, or sums of them, if the group computes either
  std::string left{};         // [p, t, k]: sums of quarters of the data
  std::vector<Part> parts{};  // empty if the group only computes `weight` or `left`
  std::string tiles{};        // [t, i, j, b, r]: two rows of two blocks
  std::string result{};       // the product's own name and axes
};

// An operand of a form that a separate group computes.
struct StrassenOperand {
  te::Tensor param, value;
};
// A group's product in both forms. Both read the quarters of the weights from a parameter. The seven products also read
// sums of the weights and of the data from parameters; products of the same data share the sums of the data.
struct StrassenForms {
  te::Tensor data;                       // the data that the product reads
  StrassenOperand quarters, sums, left;  // the sums are computed from the quarters' parameter
  te::Tensors seven, direct;             // outputs of the group
  Strassen seven_names, direct_names;
};

// Their storage orders: the weights [b][p][k][r], so that a task reads them in one stream; the data row by row.
Layout layout_of_weight();
Layout layout_of_left(const te::TensorNode& left);

// A product that can take the form.
struct Product {
  te::Tensor sum;
  Expr data, weight;    // the loads
  size_t m = 0, n = 0;  // axes of the result; all others have one element
  Expr k;
  int64_t rows = 0, columns = 0, terms = 0;
  int64_t block = 0;  // columns of a block
};

// Looks at structure: one reduction along one axis, a contraction of float32 with constant weights, known sizes that
// divide, and only pointwise work behind it.
std::optional<Product> match_strassen(const te::Tensors& outputs, const std::set<std::string>& constants,
                                      const TargetDesc& target);
// Unset if the estimate for `target` says that the form is not faster.
std::optional<Gain> estimate_strassen(const Product& product, const TargetDesc& target);
// `with_direct`: also adds the operands of the direct form.
StrassenForms rewrite_strassen(const te::Tensors& outputs, const Product& product, bool with_direct);

// Schedules a group in this form, or one that computes its operands (schedule.cpp).
bool schedule_strassen(ScheduleDraft& draft);
inline constexpr int products_of_strassen = 7;  // of quarters; eight without it

inline constexpr FormSchedule strassen_schedule{.rule = Rule::Strassen, .whole = schedule_strassen};

}  // namespace relay::lower
