// nn.bitpack: the low bits of numbers, packed into words along an axis: bit b of `data_width` elements is one word, the
// first element its highest bit
// nn.bitserial_dense, nn.bitserial_conv2d: products of numbers of few bits. A bit of data is 0 or 1; a bit of the
// weight 0 or 1, or with `unipolar` -1 or 1, so that a weight w of n bits means 2 * w - (2^n - 1)
#include <algorithm>

#include "relay/op/nn/conv/conv.h"
#include "relay/op/nn/dense/contraction.h"

namespace relay::ops {
namespace bitserial_cpp {
namespace {

struct BitPackAttrs {
  int64_t bits = 1, pack_axis = 1, bit_axis = -1;
  OptDType pack_type;
  std::string name = "BitPack";
  static constexpr auto fields =
      std::tuple{field("bits", &BitPackAttrs::bits, "Number of bits per value, from 1 to 8."),
                 field("pack_axis", &BitPackAttrs::pack_axis, "The axis that is packed into words."),
                 field("bit_axis", &BitPackAttrs::bit_axis, "Position of the axis of bits in the result."),
                 field("pack_type", &BitPackAttrs::pack_type, "The type of the words; None: uint32."),
                 field("name", &BitPackAttrs::name, "Name of the computation.")};
};

struct BinaryDenseAttrs {
  OptInt units;
  int64_t data_bits = 1, weight_bits = 1;
  OptDType pack_dtype, out_dtype;
  bool unipolar = true;
  static constexpr auto fields =
      std::tuple{field("units", &BinaryDenseAttrs::units, "Number of output features; None: that of the weight."),
                 field("data_bits", &BinaryDenseAttrs::data_bits, "Bits of the data, from 1 to 8."),
                 field("weight_bits", &BinaryDenseAttrs::weight_bits, "Bits of the weight, from 1 to 8."),
                 field("pack_dtype", &BinaryDenseAttrs::pack_dtype, "The type of the words that bits are packed into."),
                 field("out_dtype", &BinaryDenseAttrs::out_dtype, "Element type of the result; None: int16."),
                 field("unipolar", &BinaryDenseAttrs::unipolar, "True if the bits of the weight stand for -1 and 1.")};
};

struct BinaryConv2DAttrs {
  Ints strides = {1, 1}, padding = {0, 0}, kernel_size = {3, 3};
  OptInt channels;
  int64_t activation_bits = 1, weight_bits = 1;
  std::string data_layout = "NCHW", kernel_layout = "OIHW";
  OptDType pack_dtype, out_dtype;
  bool unipolar = true;
  static constexpr auto fields = std::tuple{
      field("strides", &BinaryConv2DAttrs::strides, "Step of the window along each axis."),
      field("padding", &BinaryConv2DAttrs::padding,
            "Zero padding around the data: one value, one per axis, or the values before all axes followed by those "
            "after all axes."),
      field("kernel_size", &BinaryConv2DAttrs::kernel_size, "Extents of the window."),
      field("channels", &BinaryConv2DAttrs::channels, "Number of output channels; None: that of the weight."),
      field("activation_bits", &BinaryConv2DAttrs::activation_bits, "Bits of the data, from 1 to 8."),
      field("weight_bits", &BinaryConv2DAttrs::weight_bits, "Bits of the weight, from 1 to 8."),
      field("data_layout", &BinaryConv2DAttrs::data_layout, "Order of the data's axes."),
      field("kernel_layout", &BinaryConv2DAttrs::kernel_layout, "Order of the weight's axes."),
      field("pack_dtype", &BinaryConv2DAttrs::pack_dtype, "The type of the words that bits are packed into."),
      field("out_dtype", &BinaryConv2DAttrs::out_dtype, "Element type of the result; None: int16."),
      field("unipolar", &BinaryConv2DAttrs::unipolar, "True if the bits of the weight stand for -1 and 1.")};
};

bool are_bits(int64_t n) { return n >= 1 && n <= 8; }

Result<Type> infer_pack(const BitPackAttrs& a, const Types& in) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  // (C1) Data are integers, and words are unsigned.
  const DType word = a.pack_type.value_or(DType::uint32());
  if (!data->dtype.is_int() || word.code != DType::Code::UInt)
    return constraint("C1", "data must be integers and pack_type of unsigned ones, but they are {} and {}",
                      data->dtype.str(), word.str());
  // (C2) There are 1 to 8 bits.
  if (!are_bits(a.bits)) return constraint("C2", "bits must be from 1 to 8, but is {}", a.bits);
  // (C3) The axes exist, and words fill the packed axis.
  RELAY_ASSIGN(int64_t pack, normal_axis("C3", a.pack_axis, rank(data)));
  RELAY_ASSIGN(int64_t bit, normal_axis("C3", a.bit_axis, rank(data) + 1));
  Dims out = data->shape;
  Dim& extent = out[static_cast<size_t>(pack)];
  if (!divides(dim(word.bits), extent))
    return constraint("C3", "axis {} of data {} does not fill words of {} bits", pack, text(data->shape), word.bits);
  extent = scalar::simplify(floordiv(extent, word.bits));
  out.insert(out.begin() + bit, dim(a.bits));
  return ir::tensor_type(std::move(out), word);
}

te::Tensors compute_pack(const BitPackAttrs& a, const te::Tensors& in, const Type& out) {
  const int64_t axes = static_cast<int64_t>(in[0]->shape.size());
  const size_t pack = static_cast<size_t>(positive_axis(a.pack_axis, axes));
  const int64_t bit = positive_axis(a.bit_axis, axes + 1);
  const DType word = dtype_of(out);
  // Each bit has a separate position, so their sum is the word.
  return {te::reduce("bitpack", shape_of(out), {dim(word.bits)}, Combiner::Sum, [&](Exprs i, const Exprs& r) {
    Expr which = cast(in[0]->dtype, i[static_cast<size_t>(bit)]);
    i.erase(i.begin() + bit);
    i[pack] = i[pack] * static_cast<int64_t>(word.bits) + r[0];
    Expr one =
        scalar::binary(BinaryOp::BitAnd, scalar::binary(BinaryOp::Shr, (*in[0])(i), which), imm(1, in[0]->dtype));
    return scalar::binary(BinaryOp::Shl, cast(word, one), cast(word, dim(word.bits - 1) - r[0]));
  })};
}

// The low bits of a number, as int32.
te::Tensor low_bits(const char* name, const te::Tensor& t, int64_t bits, bool unipolar) {
  const DType wide = DType::int32();
  const int64_t mask = (int64_t{1} << bits) - 1;
  return elementwise(name, t, [&](const Exprs& i) {
    Expr value = scalar::binary(BinaryOp::BitAnd, cast(wide, (*t)(i)), imm(mask, wide));
    return unipolar ? value * 2 - mask : value;
  });
}

// (C1) Both are integers, so is the result, and bits are from 1 to 8.
Status check_bits(const Types& in, int64_t data_bits, int64_t weight_bits, const OptDType& out_dtype) {
  RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
  RELAY_ASSIGN(const TensorType* weight, tensor_input(in, 1, "weight"));
  if (!data->dtype.is_int() || !weight->dtype.is_int() || !out_dtype.value_or(DType::int16()).is_int())
    return constraint("C1", "data, weight and out_dtype must be integers, but data is {} and weight {}",
                      data->dtype.str(), weight->dtype.str());
  if (!are_bits(data_bits) || !are_bits(weight_bits))
    return constraint("C1", "bits must be from 1 to 8, but are {} of data and {} of weight", data_bits, weight_bits);
  return ok();
}

Result<Type> infer_dense(const BinaryDenseAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(check_bits(in, a.data_bits, a.weight_bits, a.out_dtype));
  const TensorType *data = as<TensorType>(in[0]), *weight = as<TensorType>(in[1]);
  // (C2) Both are matrices, with last axes of the same size; units, if set, is that of the weight.
  RELAY_RETURN_IF_ERROR(expect_rank("C2", data, 2, "data"));
  RELAY_RETURN_IF_ERROR(expect_rank("C2", weight, 2, "weight"));
  if (!agree(data->shape[1], weight->shape[1]) || (a.units && !agree(dim(*a.units), weight->shape[0])))
    return constraint("C2", "data {} and weight {} do not fit together, or units", text(data->shape),
                      text(weight->shape));
  return ir::tensor_type({data->shape[0], weight->shape[0]}, a.out_dtype.value_or(DType::int16()));
}

te::Tensors compute_dense(const BinaryDenseAttrs& a, const te::Tensors& in, const Type& out) {
  te::Tensor data = low_bits("data", in[0], a.data_bits, false),
             weight = low_bits("weight", in[1], a.weight_bits, a.unipolar);
  auto data_at = [](const Exprs& i, const Expr& k) { return Exprs{i[0], k}; };
  auto weight_at = [](const Exprs& i, const Expr& k) { return Exprs{i[1], k}; };
  return nn::contraction("bitserial_dense", out, data, weight, data->shape[1], data_at, weight_at);
}

nn::ConvOf<2> conv_of(const BinaryConv2DAttrs& a) {
  nn::ConvOf<2> conv;
  conv.strides = a.strides, conv.padding = a.padding, conv.channels = a.channels, conv.kernel_size = a.kernel_size;
  conv.data_layout = a.data_layout, conv.kernel_layout = a.kernel_layout;
  conv.out_dtype = a.out_dtype.value_or(DType::int16());
  return conv;
}

Result<Type> infer_conv(const BinaryConv2DAttrs& a, const Types& in) {
  RELAY_RETURN_IF_ERROR(check_bits(in, a.activation_bits, a.weight_bits, a.out_dtype));
  return nn::infer_conv(2, conv_of(a), in);
}

te::Tensors compute_conv(const BinaryConv2DAttrs& a, const te::Tensors& in, const Type& out) {
  return nn::compute_conv(
      2, conv_of(a),
      {low_bits("data", in[0], a.activation_bits, false), low_bits("weight", in[1], a.weight_bits, a.unipolar)}, out);
}

}  // namespace
}  // namespace bitserial_cpp

OpDef nn_bitpack() {
  using namespace bitserial_cpp;
  return define<BitPackAttrs>(
      {.name = "nn.bitpack",
       .doc = "Packs the bits of numbers into words.",
       .inputs = {{"data", "integers, any shape"}},
       // Fusion of nn.bitpack: injective in the reference; a word is made of many elements.
       .fusion = Fusion::Opaque,
       .infer = infer_pack,
       .compute = compute_pack,
       .oracle = "bitpack(data, bits, pack_axis, bit_axis, pack_type or 'uint32')",
       .examples = {{.inputs = {"(3, 64) int32"}, .symbolic = {"(n, 64) int32"}, .low = 0, .high = 1},
                    {.inputs = {"(2, 16, 3) uint8"},
                     .attrs = "bits=3, bit_axis=1, pack_type=\"uint8\"",
                     .symbolic = {"(n, 16, m) uint8"},
                     .low = 0,
                     .high = 7}},
       .rejects = {{{"(3, 64)"}, "", "C1"},
                   {{"(3, 64) int32"}, "pack_type=\"int32\"", "C1"},
                   {{"(3, 64) int32"}, "bits=9", "C2"},
                   {{"(3, 48) int32"}, "", "C3"},
                   {{"(3, 64) int32"}, "pack_axis=2", "C3"}}},
      "BitPackAttrs");
}

OpDef nn_bitserial_dense() {
  using namespace bitserial_cpp;
  return define<BinaryDenseAttrs>(
      {.name = "nn.bitserial_dense",
       .doc = "A fully connected layer on numbers with few bits.",
       .inputs = {{"data", "(n, features) integers"}, {"weight", "(units, features) integers"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer_dense,
       .compute = compute_dense,
       .oracle = "bits_of(data, data_bits, False) @ bits_of(weight, weight_bits, unipolar).T",
       .examples = {{.inputs = {"(3, 32) int32", "(4, 32) int32"},
                     .symbolic = {"(n, k) int32", "(4, k) int32"},
                     .low = 0,
                     .high = 1},
                    {.inputs = {"(3, 32) uint8", "(4, 32) uint8"},
                     .attrs = "data_bits=2, weight_bits=3, unipolar=False, out_dtype=\"int32\", units=4",
                     .low = 0,
                     .high = 7}},
       .rejects = {{{"(3, 32)", "(4, 32) int32"}, "", "C1"},
                   {{"(3, 32) int32", "(4, 32) int32"}, "data_bits=9", "C1"},
                   {{"(3, 32) int32", "(4, 31) int32"}, "", "C2"},
                   {{"(3, 32) int32", "(4, 32) int32"}, "units=5", "C2"}}},
      "BinaryDenseAttrs");
}

OpDef nn_bitserial_conv2d() {
  using namespace bitserial_cpp;
  return define<BinaryConv2DAttrs>(
      {.name = "nn.bitserial_conv2d",
       .doc = "Two-dimensional convolution of numbers with few bits.",
       .inputs = {{"data", "(N, C, H, W) integers, in the order of data_layout"},
                  {"weight", "(O, C, KH, KW) integers, in the order of kernel_layout"}},
       .fusion = Fusion::OutputFusable,
       .infer = infer_conv,
       .compute = compute_conv,
       .oracle = "order(F.conv2d(F.pad(order(bits_of(data, activation_bits, False), data_layout, 'NCHW'), "
                 "sides(padding, 2)), order(bits_of(weight, weight_bits, unipolar), kernel_layout, 'OIHW'), "
                 "stride=strides), 'NCHW', data_layout)",
       .examples = {{.inputs = {"(1, 4, 5, 6) int32", "(3, 4, 3, 3) int32"},
                     .attrs = "activation_bits=2, padding=[1, 1]",
                     .symbolic = {"(n, 4, h, w) int32", "(3, 4, 3, 3) int32"},
                     .low = 0,
                     .high = 3},
                    {.inputs = {"(1, 5, 6, 4) uint8", "(3, 3, 4, 2) uint8"},
                     .attrs = "data_layout=\"NHWC\", kernel_layout=\"HWIO\", weight_bits=2, unipolar=False, "
                              "strides=[2, 2]",
                     .low = 0,
                     .high = 3}},
       .rejects = {{{"(1, 4, 5, 6)", "(3, 4, 3, 3) int32"}, "", "C1"},
                   {{"(1, 4, 5) int32", "(3, 4, 3, 3) int32"}, "", "C2"},
                   {{"(1, 4, 5, 6) int32", "(3, 4, 3, 3) int32"}, "strides=[0, 1]", "C3"},
                   {{"(1, 3, 5, 6) int32", "(3, 4, 3, 3) int32"}, "", "C5"},
                   {{"(1, 4, 5, 6) int32", "(3, 4, 3, 3) int32"}, "channels=4", "C7"},
                   {{"(1, 4, 2, 2) int32", "(3, 4, 3, 3) int32"}, "", "C8"}}},
      "BinaryConv2DAttrs");
}

}  // namespace relay::ops
