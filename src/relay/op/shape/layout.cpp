#include "relay/op/shape/layout.h"

#include <algorithm>
#include <cctype>

namespace relay::op {

Result<std::vector<LayoutAxis>> layout_axes(const char* name, const std::string& layout) {
  std::vector<LayoutAxis> axes;
  int64_t block = 0;
  std::string blocks, inner;
  bool good = !layout.empty();
  for (char c : layout) {
    const bool is_upper = std::isupper(static_cast<unsigned char>(c)),
               is_lower = std::islower(static_cast<unsigned char>(c));
    if (std::isdigit(static_cast<unsigned char>(c))) {
      block = std::min(block * 10 + (c - '0'), int64_t{1} << 30);
      continue;
    }
    std::string& seen = is_upper ? blocks : inner;
    const char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    good = good && (is_upper ? block == 0 : is_lower && block > 0) && seen.find(letter) == std::string::npos;
    seen += letter;
    axes.push_back({letter, is_upper ? 0 : block});
    block = 0;
  }
  for (char letter : inner) good = good && blocks.find(letter) != std::string::npos;
  if (!good || block) return constraint("C1", "{} \"{}\" is not a layout such as \"NCHW\" or \"NCHW8c\"", name, layout);
  return axes;
}

std::string layout_text(const LayoutAxis& axis) {
  if (axis.block == 0) return {axis.letter};
  return format("{}{}", axis.block, static_cast<char>(std::tolower(static_cast<unsigned char>(axis.letter))));
}

int64_t block_of(const std::vector<LayoutAxis>& axes, char letter) {
  for (const LayoutAxis& axis : axes)
    if (axis.letter == letter && axis.block) return axis.block;
  return 1;
}

size_t place_of(const std::vector<LayoutAxis>& axes, char letter, bool inner) {
  for (size_t d = 0; d < axes.size(); ++d)
    if (axes[d].letter == letter && (axes[d].block != 0) == inner) return d;
  return axes.size();
}

bool is_blocked(const std::string& layout) {
  return std::any_of(layout.begin(), layout.end(), [](char c) { return std::isdigit(static_cast<unsigned char>(c)); });
}

std::string without_blocks(const std::string& layout) {
  if (!is_blocked(layout)) return layout;
  std::string out;
  for (char c : layout)
    if (std::isupper(static_cast<unsigned char>(c))) out += c;
  return out;
}

}  // namespace relay::op
