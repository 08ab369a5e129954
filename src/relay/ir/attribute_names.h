// Attributes of functions that passes set and read.
#pragma once

namespace relay::ir::attribute {

inline constexpr const char* primitive = "Primitive";  // 1: fuse_ops made it; its body becomes one kernel
inline constexpr const char* segment = "Segment";      // 1: form_segments made it; it is compiled and called as a whole
inline constexpr const char* inlined = "Inline";       // 1: inline_calls puts its body where it is called
inline constexpr const char* compiler = "Compiler";    // the name of the code generator that compiles it
inline constexpr const char* global_symbol = "global_symbol";         // the name of that code
inline constexpr const char* composite = "Composite";                 // the name of the pattern whose match is its body
inline constexpr const char* skip_optimization = "SkipOptimization";  // 1: optional passes leave it unchanged

}  // namespace relay::ir::attribute
