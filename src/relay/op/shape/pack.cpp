// storage.pack:   packs several narrow elements into each byte, the first in the lowest bits, along one axis:
//                 out[.., j, ..] = sum(k) bits(data[.., j * per + k, ..]) << (k * width),  per = 8 / width
// storage.unpack: out[.., i, ..] = the bits of data[.., i // per, ..] at (i % per) * width
//
// This is how ONNX stores elements of 4 and 2 bits. Unused bits of the last byte are 0.
#include "relay/op/math/storage.h"

namespace relay::ops {
namespace pack_cpp {
namespace {

struct PackAttrs {
  int64_t axis = -1;
  static constexpr auto fields =
      std::tuple{field("axis", &PackAttrs::axis, "The axis along which elements are packed.")};
};

struct UnpackAttrs {
  DType dtype = DType::storage(DType::Code::Int4);
  int64_t axis = -1;
  OptInt size;
  static constexpr auto fields = std::tuple{
      required_field("dtype", &UnpackAttrs::dtype, "The type of the elements: one of 4 or 2 bits."),
      field("axis", &UnpackAttrs::axis, "The axis along which elements are packed."),
      field("size", &UnpackAttrs::size, "Number of elements along the axis; None: all elements of the bytes.")};
};

// True for types of which a byte holds several elements: not those of 6 bits.
bool is_narrow(DType dtype) { return dtype.is_storage() && dtype.width() <= 4; }

Result<Type> infer(const PackAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) The elements are narrower than a byte.
  if (!is_narrow(data->dtype))
    return constraint("C2", "elements of 4 or 2 bits can be packed, but data is {}", data->dtype.str());
  const int64_t per = 8 / data->dtype.width();
  Dims out = data->shape;
  Dim& extent = out[static_cast<size_t>(axis)];
  extent = floordiv(extent + (per - 1), per);
  return ir::tensor_type(simplified(std::move(out)), DType::uint8());
}

te::Tensors compute(const PackAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const int width = data->dtype.width(), per = 8 / width;
  const DType byte = DType::uint8();
  return {te::compute("pack", shape_of(out), [&](const Exprs& i) {
    Expr all;
    for (int k = 0; k < per; ++k) {
      Exprs at = i;
      at[axis] = i[axis] * per + k;
      const Expr bits = select(lt(at[axis], data->shape[axis]), storage_bits((*data)(at)), imm(0, byte));
      const Expr moved = k == 0 ? bits : scalar::binary(BinaryOp::Shl, bits, imm(k * width, byte));
      all = all ? scalar::binary(BinaryOp::BitOr, all, moved) : moved;
    }
    return all;
  })};
}

Result<Type> infer_unpack(const UnpackAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) The axis exists.
  RELAY_ASSIGN(int64_t axis, normal_axis("C1", a.axis, rank(data)));
  // (C2) The bytes become elements narrower than a byte.
  if (data->dtype != DType::uint8() || !is_narrow(a.dtype))
    return constraint("C2", "uint8 can be unpacked to elements of 4 or 2 bits, but not {} to {}", data->dtype.str(),
                      a.dtype.str());
  // (C3) The bytes hold as many elements as requested.
  const int64_t per = 8 / a.dtype.width();
  Dims out = data->shape;
  Dim& extent = out[static_cast<size_t>(axis)];
  if (a.size && (*a.size < 0 || !agree(extent, dim((*a.size + per - 1) / per))))
    return constraint("C3", "{} bytes do not contain {} elements of {}", scalar::str(extent), *a.size, a.dtype.str());
  extent = a.size ? dim(*a.size) : extent * per;
  return ir::tensor_type(simplified(std::move(out)), a.dtype);
}

te::Tensors compute_unpack(const UnpackAttrs& a, const te::Tensors& in, const Type& out) {
  const te::Tensor& data = in[0];
  const size_t axis = static_cast<size_t>(positive_axis(a.axis, static_cast<int64_t>(data->shape.size())));
  const int width = a.dtype.width(), per = 8 / width;
  const DType t = DType::int32();
  return {te::compute("unpack", shape_of(out), [&](const Exprs& i) {
    Exprs at = i;
    at[axis] = floordiv(i[axis], per);
    const Expr shift = cast(t, floormod(i[axis], per) * width);
    const Expr bits = scalar::binary(BinaryOp::Shr, cast(t, (*data)(at)), shift);
    return storage_of_bits(scalar::binary(BinaryOp::BitAnd, bits, imm((1 << width) - 1, t)), a.dtype);
  })};
}

}  // namespace
}  // namespace pack_cpp

OpDef storage_pack() {
  using namespace pack_cpp;
  return define<PackAttrs>(
      {.name = "storage.pack",
       .doc = "Packs elements of 4 or 2 bits into bytes.",
       .inputs = {{"data", "elements of 4 or 2 bits, at least one axis"}},
       .fusion = Fusion::Injective,
       .infer = infer,
       .compute = compute,
       .accepts_storage_types = true,
       .is_extension = true,
       .oracle = "packed(data, axis, dtypes['data'])",
       .examples = {{.inputs = {"(3, 6) int4"}, .symbolic = {"(3, n) int4"}, .low = -8, .high = 7, .ulps = 0},
                    {.inputs = {"(5, 2) uint2"}, .attrs = "axis=0", .low = 0, .high = 3, .ulps = 0},
                    {.inputs = {"(7,) float4_e2m1fn"}, .low = -6, .high = 6, .ulps = 0}},
       .rejects = {{{"(3,) int4"}, "axis=1", "C1"},
                   {{"(3,) int8"}, "", "C2"},
                   {{"(3,) float8_e5m2"}, "", "C2"},
                   {{"(3,) float6_e2m3fn"}, "", "C2"}}},
      "PackAttrs");
}

OpDef storage_unpack() {
  using namespace pack_cpp;
  return define<UnpackAttrs>(
      {.name = "storage.unpack",
       .doc = "Unpacks elements of 4 or 2 bits from bytes.",
       .inputs = {{"data", "uint8, at least one axis"}},
       .fusion = Fusion::Injective,
       .infer = infer_unpack,
       .compute = compute_unpack,
       .accepts_storage_types = true,
       .is_extension = true,
       .oracle = "unpacked(data, axis, dtype, size)",
       .examples =
           {{.inputs = {"(3, 4) uint8"},
             .attrs = "dtype=\"int4\"",
             .symbolic = {"(n, 4) uint8"},
             .low = 0,
             .high = 255,
             .ulps = 0},
            {.inputs = {"(2, 3) uint8"}, .attrs = "dtype=\"uint2\", axis=0, size=7", .low = 0, .high = 255, .ulps = 0},
            {.inputs = {"(3,) uint8"}, .attrs = "dtype=\"float4_e2m1fn\", size=5", .low = 0, .high = 255, .ulps = 0}},
       .rejects = {{{"(3,) uint8"}, "dtype=\"int4\", axis=1", "C1"},
                   {{"(3,) int8"}, "dtype=\"int4\"", "C2"},
                   {{"(3,) uint8"}, "dtype=\"int8\"", "C2"},
                   {{"(3,) uint8"}, "dtype=\"int4\", size=7", "C3"}}},
      "UnpackAttrs");
}

}  // namespace relay::ops
