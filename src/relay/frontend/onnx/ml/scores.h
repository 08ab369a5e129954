// Helpers of the classifiers and regressors of ai.onnx.ml.
#pragma once

#include "relay/frontend/onnx/convert.h"

namespace relay::onnx::ml {

// x as (N, features) of floats; null if a problem was reported.
ir::Expr samples(Convert& c);
// A list of floats as a constant.
ir::Expr floats(Convert& c, const std::vector<double>& values, const Shape& shape, DType dtype);
// The numbers of a floats attribute, or of a tensor attribute.
std::vector<double> float_values(Convert& c, std::string_view name, std::string_view tensor_name = {});
// Scores (N, classes) after post_transform, or after the transform `how`. PROBIT takes the inverse of the error
// function from Winitzki's approximation (a = 0.147), as ONNX's reference does.
ir::Expr transformed(Convert& c, const ir::Expr& scores);
ir::Expr transformed(Convert& c, const ir::Expr& scores, const std::string& how);
// The number of class labels.
int64_t class_count(Convert& c);
// Class numbers (N), an int64 tensor, as their labels; unchanged if there are no labels.
Value labelled(Convert& c, const ir::Expr& place, int64_t classes);
// Label and scores of a classifier. A single score for two classes belongs to the second; if `is_share`, it is a
// probability between 0 and 1, otherwise it is above 0 for the second class.
Values classified(Convert& c, ir::Expr scores, bool is_share);

}  // namespace relay::onnx::ml
