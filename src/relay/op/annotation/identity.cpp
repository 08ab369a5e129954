// The annotations, which compute nothing: out = data. Each is a mark for code that reads or rewrites the program; the
// only effect here is that the operators on both sides are not fused into one kernel.
#include "relay/op/gradient.h"

namespace relay::ops {
namespace identity_cpp {
namespace {

struct CastHintAttrs {
  DType dtype = DType::float32();
  static constexpr auto fields =
      std::tuple{required_field("dtype", &CastHintAttrs::dtype, "The element type that data may have.")};
};

struct CompilerAttrs {
  std::string compiler;
  static constexpr auto fields =
      std::tuple{required_field("compiler", &CompilerAttrs::compiler, "The name of the compiler.")};
};

template <class A>
OpDef identity(const char* name, const char* doc, const char* attrs_name, const char* attrs) {
  return define<A>({.name = name,
                    .doc = doc,
                    .inputs = {{"data", "any shape"}},
                    .fusion = Fusion::Opaque,
                    .infer = [](const A&, const Types& in) -> Result<Type> {
                      RELAY_RETURN_IF_ERROR(tensor_input(in, 0, "data"));
                      return in[0];
                    },
                    .compute = [](const A&, const te::Tensors& in, const Type&) -> te::Tensors {
                      return {elementwise("identity", in[0], [&](const Exprs& i) { return (*in[0])(i); })};
                    },
                    .gradient = [](const A&, const Adjoint& of) -> ir::Exprs { return {of.gradient}; },
                    .accepts_storage_types = true,
                    .oracle = "data",
                    .examples = {{.inputs = {"(3, 5)"}, .attrs = attrs, .symbolic = {"(n, 5)"}, .ulps = 0},
                                 {.inputs = {"(4,) int32"}, .attrs = attrs, .low = -9, .high = 9, .ulps = 0}}},
                   attrs_name);
}

}  // namespace
}  // namespace identity_cpp

std::vector<OpDef> annotations() {
  using namespace identity_cpp;
  return {
      identity<NoAttrs>("annotation.bitpack_end",
                        "Marks the end of a computation on packed bits. The values are the same.", "", ""),
      identity<NoAttrs>("annotation.bitpack_start",
                        "Marks the beginning of a computation on packed bits. The values are the same.", "", ""),
      identity<CastHintAttrs>("annotation.cast_hint",
                              "Annotates data with an element type that it may have. The values are the same.",
                              "CastHintAttrs", "dtype=\"int8\""),
      identity<NoAttrs>("annotation.checkpoint",
                        "Marks a value that a gradient recomputes instead of keeping it. The values are the same.", "",
                        ""),
      identity<CompilerAttrs>("annotation.compiler_begin",
                              "Marks an input of a region for another compiler. The values are the same.",
                              "CompilerAttrs", "compiler=\"other\""),
      identity<CompilerAttrs>("annotation.compiler_end",
                              "Marks a result of a region for another compiler. The values are the same.",
                              "CompilerAttrs", "compiler=\"other\""),
      identity<NoAttrs>("annotation.stop_fusion",
                        "Keeps the operators on both sides in separate kernels. The values are the same.", "", ""),
  };
}

}  // namespace relay::ops
