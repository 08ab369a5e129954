#include "relay/frontend/onnx/strings.h"

#include <algorithm>

namespace relay::onnx {

StringUse string_use(std::string_view op) {
  static constexpr std::string_view moving[] = {"ArrayFeatureExtractor",
                                                "Compress",
                                                "Concat",
                                                "DepthToSpace",
                                                "Expand",
                                                "Flatten",
                                                "Gather",
                                                "GatherElements",
                                                "GatherND",
                                                "Identity",
                                                "Pad",
                                                "Reshape",
                                                "ReverseSequence",
                                                "Scatter",
                                                "ScatterElements",
                                                "ScatterND",
                                                "Slice",
                                                "SpaceToDepth",
                                                "Split",
                                                "Squeeze",
                                                "TensorScatter",
                                                "Tile",
                                                "Transpose",
                                                "Unsqueeze",
                                                "Where"};
  static constexpr std::string_view knowing[] = {"CategoryMapper",
                                                 "Equal",
                                                 "If",
                                                 "LabelEncoder",
                                                 "Loop",
                                                 "OneHotEncoder",
                                                 "Optional",
                                                 "Scan",
                                                 "SequenceConstruct",
                                                 "SequenceInsert",
                                                 "SequenceMap",
                                                 "Shape",
                                                 "Size",
                                                 "SplitToSequence",
                                                 "TfIdfVectorizer",
                                                 "Unique",
                                                 "OptionalGetElement",
                                                 "OptionalHasElement"};
  if (std::find(std::begin(moving), std::end(moving), op) != std::end(moving)) return StringUse::Moves;
  return std::find(std::begin(knowing), std::end(knowing), op) != std::end(knowing) ? StringUse::Knows
                                                                                    : StringUse::Refuses;
}

}  // namespace relay::onnx
