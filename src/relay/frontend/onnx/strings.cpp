#include "relay/frontend/onnx/strings.h"

#include <algorithm>

namespace relay::onnx {

StringUse string_use(std::string_view op) {
  static constexpr std::string_view moving[] = {"ArrayFeatureExtractor",
                                                "Compress",
                                                "Concat",
                                                "Expand",
                                                "Flatten",
                                                "Gather",
                                                "GatherElements",
                                                "GatherND",
                                                "Identity",
                                                "Reshape",
                                                "Slice",
                                                "Split",
                                                "Squeeze",
                                                "Tile",
                                                "Transpose",
                                                "Unsqueeze",
                                                "Where"};
  static constexpr std::string_view knowing[] = {"CategoryMapper", "Equal", "LabelEncoder",   "OneHotEncoder",
                                                 "Shape",          "Size",  "TfIdfVectorizer"};
  if (std::find(std::begin(moving), std::end(moving), op) != std::end(moving)) return StringUse::Moves;
  return std::find(std::begin(knowing), std::end(knowing), op) != std::end(knowing) ? StringUse::Knows
                                                                                    : StringUse::Refuses;
}

}  // namespace relay::onnx
