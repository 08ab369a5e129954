// What classifiers and regressors of ai.onnx.ml share.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::ml {

// x as (N, features) of floats; null: reported.
ir::Expr samples(Convert& c);
// A list of floats as a constant.
ir::Expr floats(Convert& c, const std::vector<double>& values, const Shape& shape, DType dtype);
// The numbers of an attribute of floats, or of a tensor.
std::vector<double> numbers(Convert& c, std::string_view name, std::string_view tensor_name = {});
// Scores (N, classes) after post_transform, or after one of its values. PROBIT takes the inverse of the error function
// from Winitzki's approximation (a = 0.147), as ONNX's reference does.
ir::Expr transformed(Convert& c, const ir::Expr& scores);
ir::Expr transformed(Convert& c, const ir::Expr& scores, const std::string& how);
// How many labels of classes it has.
int64_t class_count(Convert& c);
// Numbers of classes (N), an int64 tensor, as their labels; without labels they stay.
Value labelled(Convert& c, const ir::Expr& place, int64_t classes);
// Label and scores of a classifier. One score for two classes is that of the second; it is a probability between 0 and
// 1 where `is_share`, else it is above 0 for the second class.
Values classified(Convert& c, ir::Expr scores, bool is_share);

}  // namespace relay::onnx::ml
