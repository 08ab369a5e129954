// matrix_set_diag: matrices with their diagonals k1 to k2 replaced: where k1 <= d <= k2 with d = x - y
//   out[.., y, x] = diagonal[.., k2 - d, x - max(d, 0) + shift]
//
// A diagonal shorter than the longest is aligned left or right in its row. One diagonal, k1 = k2, has no axis k2 - d.
#include <algorithm>

#include "relay/op/gradient.h"

namespace relay::ops {
namespace matrix_set_diag_cpp {
namespace {

struct MatrixSetDiagAttrs {
  int64_t k1 = 0, k2 = 0;
  bool super_diag_right_align = true, sub_diag_right_align = false;
  static constexpr auto fields =
      std::tuple{field("k1", &MatrixSetDiagAttrs::k1,
                       "The lowest diagonal; 0 is the main diagonal, and those below it are negative."),
                 field("k2", &MatrixSetDiagAttrs::k2, "The highest diagonal."),
                 field("super_diag_right_align", &MatrixSetDiagAttrs::super_diag_right_align,
                       "True to align diagonals above the main one to the right."),
                 field("sub_diag_right_align", &MatrixSetDiagAttrs::sub_diag_right_align,
                       "True to align diagonals below the main one to the right.")};
};

// The length of the longest of diagonals k1 to k2.
Dim longest(const MatrixSetDiagAttrs& a, const Dim& rows, const Dim& columns) {
  return scalar::simplify(min(rows + std::min(a.k2, int64_t{0}), columns - std::max(a.k1, int64_t{0})));
}

Result<Type> infer(const MatrixSetDiagAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* input, tensor_input(in, 0, "input"));
  RELAY_ASSIGN(const TensorType* diagonal, tensor_input(in, 1, "diagonal"));
  // (C1) The input is matrices.
  if (rank(input) < 2) return constraint("C1", "input should be matrices (.., M, N), but is {}", text(input->shape));
  // (C2) Both have one element type.
  RELAY_RETURN_IF_ERROR(expect_same_dtype("C2", input, "input", diagonal, "diagonal"));
  // (C3) The diagonals lie within the matrices.
  const Dim &rows = input->shape[input->shape.size() - 2], &columns = input->shape.back();
  constexpr int64_t far = int64_t{1} << 40;
  if (a.k1 > a.k2 || a.k1 < -far || a.k2 > far || !at_least(rows, dim(1 - std::min(a.k1, int64_t{0}))) ||
      !at_least(columns, dim(1 + std::max(a.k2, int64_t{0}))))
    return constraint("C3", "there are no diagonals {} to {} in matrices {}", a.k1, a.k2, text(input->shape));
  // (C4) `diagonal` has their shape.
  Dims wanted(input->shape.begin(), input->shape.end() - 2);
  if (a.k1 != a.k2) wanted.push_back(dim(a.k2 - a.k1 + 1));
  wanted.push_back(longest(a, rows, columns));
  if (!agree(wanted, diagonal->shape))
    return constraint("C4", "diagonal {} should be {}", text(diagonal->shape), text(wanted));
  return in[0];
}

te::Tensors compute(const MatrixSetDiagAttrs& a, const te::Tensors& in, const Type&) {
  const te::Tensor &input = in[0], &diagonal = in[1];
  const Expr &rows = input->shape[input->shape.size() - 2], &columns = input->shape.back(),
             &most = diagonal->shape.back();
  return {elementwise("matrix_set_diag", input, [&](const Exprs& i) {
    const Expr &y = i[i.size() - 2], &x = i.back(), d = x - y;
    Expr shift = most - min(rows + min(d, dim(0)), columns - max(d, dim(0)));
    Expr right = imm(a.super_diag_right_align && a.sub_diag_right_align, DType::boolean());
    if (a.super_diag_right_align != a.sub_diag_right_align)
      right = a.super_diag_right_align ? le(dim(0), d) : le(d, dim(0));
    Expr place = x - max(d, dim(0)) + select(right, shift, dim(0));
    Exprs at(i.begin(), i.end() - 2);
    if (a.k1 != a.k2) at.push_back(max(min(dim(a.k2) - d, dim(a.k2 - a.k1)), dim(0)));
    at.push_back(max(min(place, most - 1), dim(0)));
    return select(logical_and(le(dim(a.k1), d), le(d, dim(a.k2))), (*diagonal)(at), (*input)(i));
  })};
}

ir::Exprs gradient(const MatrixSetDiagAttrs& a, const Adjoint& of) {
  const op::AttrValues attrs = {{"k1", a.k1},
                                {"k2", a.k2},
                                {"super_diag_right_align", a.super_diag_right_align},
                                {"sub_diag_right_align", a.sub_diag_right_align}};
  const ir::Expr &input = of.inputs[0], &diagonal = of.inputs[1];
  const ir::Expr nowhere = grad::call("cast", {grad::zeros_like(input)}, {{"dtype", DType::int64()}});
  const ir::Expr sources = grad::call("matrix_set_diag", {nowhere, grad::element_numbers(diagonal)}, attrs);
  return {grad::call("matrix_set_diag", {of.gradient, grad::zeros_like(diagonal)}, attrs),
          grad::scattered(of.gradient, sources, diagonal)};
}

}  // namespace
}  // namespace matrix_set_diag_cpp

OpDef matrix_set_diag() {
  using namespace matrix_set_diag_cpp;
  return define<MatrixSetDiagAttrs>(
      {.name = "matrix_set_diag",
       .doc = "Replaces diagonals of matrices.",
       .inputs = {{"input", "matrices, (.., M, N)"},
                  {"diagonal", "(.., L) for one diagonal, (.., k2 - k1 + 1, L) for several, the highest first"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .gradient = gradient,
       .oracle = "matrix_set_diag(input, diagonal, k1, k2, super_diag_right_align, sub_diag_right_align)",
       .examples = {{.inputs = {"(2, 4, 5)", "(2, 4)"}, .symbolic = {"(n, 4, 5)", "(n, 4)"}},
                    {.inputs = {"(4, 5)", "(3, 4)"}, .attrs = "k1=-1, k2=1"},
                    {.inputs = {"(5, 3)", "(3, 3)"},
                     .attrs = "k1=-2, k2=0, super_diag_right_align=False, sub_diag_right_align=True"},
                    {.inputs = {"(4, 4)", "(2, 3)"}, .attrs = "k1=1, k2=2, sub_diag_right_align=True"},
                    {.inputs = {"(3, 4)", "(2,)"}, .attrs = "k1=2, k2=2"}},
       .rejects = {{{"(4,)", "(4,)"}, "", "C1"},
                   {{"(4, 4)", "(4,) int32"}, "", "C2"},
                   {{"(4, 4)", "(4,)"}, "k1=4, k2=4", "C3"},
                   {{"(4, 4)", "(4,)"}, "k1=1", "C3"},
                   {{"(4, 4)", "(3,)"}, "", "C4"}}},
      "MatrixSetDiagAttrs");
}

}  // namespace relay::ops
