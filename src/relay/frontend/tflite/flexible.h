// The options of custom operators, which most of them write as a map of FlexBuffers.
#pragma once

#include "relay/frontend/tflite/model.h"

namespace relay::tflite {

// The integers, booleans, floats, texts, and lists of integers or of floats in a map; nothing of other bytes.
// Views of texts are into a copy that `kept` owns.
std::map<std::string_view, OptionValue> read_flexible(std::string_view bytes, std::deque<std::string>& kept);

}  // namespace relay::tflite
