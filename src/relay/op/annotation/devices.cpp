// Marks for other stages of a compiler, without computation: out = data. Programs run on one device, so copies between
// devices and the choice of a device have no effect on values.
//
// vm.shape_of: the extents of data, int64. vm.reshape_tensor: the same elements under another shape.
#include "relay/op/gradient.h"
#include "relay/op/shape/reshape.h"

namespace relay::ops {
namespace devices_cpp {
namespace {

struct DeviceCopyAttrs {
  std::string src_virtual_device, dst_virtual_device;
  static constexpr auto fields =
      std::tuple{field("src_virtual_device", &DeviceCopyAttrs::src_virtual_device, "The device that data is on."),
                 field("dst_virtual_device", &DeviceCopyAttrs::dst_virtual_device, "The device that it goes to.")};
};

struct OnDeviceAttrs {
  std::string virtual_device;
  bool constrain_result = false, constrain_body = true;
  static constexpr auto fields = std::tuple{
      field("virtual_device", &OnDeviceAttrs::virtual_device, "The device to place the value on."),
      field("constrain_result", &OnDeviceAttrs::constrain_result, "True if the result must be on the device."),
      field("constrain_body", &OnDeviceAttrs::constrain_body, "True if the input must be on the device.")};
};

struct DebugAttrs {
  std::string debug_func;
  static constexpr auto fields = std::tuple{field("debug_func", &DebugAttrs::debug_func, "The name of the observer.")};
};

struct ShapeOfAttrs {
  DType dtype = DType::int64();
  static constexpr auto fields = std::tuple{field("dtype", &ShapeOfAttrs::dtype, "The element type of the result.")};
};

struct ReshapeTensorAttrs {
  Dims newshape;
  static constexpr auto fields =
      std::tuple{required_field("newshape", &ReshapeTensorAttrs::newshape, "The new shape.")};
};

template <class A>
OpDef identity(const char* name, const char* doc, const char* input, const char* attrs_name, const char* attrs) {
  return define<A>({.name = name,
                    .doc = doc,
                    .inputs = {{input, "any shape"}},
                    .fusion = Fusion::Opaque,
                    .infer = [input](const A&, const Types& in) -> Result<Type> {
                      RELAY_RETURN_IF_ERROR(tensor_input(in, 0, input));
                      return in[0];
                    },
                    .compute = [](const A&, const te::Tensors& in, const Type&) -> te::Tensors {
                      return {elementwise("identity", in[0], [&](const Exprs& i) { return (*in[0])(i); })};
                    },
                    .gradient = [](const A&, const Adjoint& of) -> ir::Exprs { return {of.gradient}; },
                    .oracle = input,
                    .examples = {{.inputs = {"(3, 5)"}, .attrs = attrs, .symbolic = {"(n, 5)"}, .ulps = 0},
                                 {.inputs = {"(4,) int32"}, .low = -9, .high = 9, .ulps = 0}}},
                   attrs_name);
}

te::Tensors shape_values(const ShapeOfAttrs& a, const te::Tensors& in, const Type& out) {
  return {te::compute("shape_of", shape_of(out),
                      [&](const Exprs& i) { return cast(a.dtype, one_of(i[0], in[0]->shape)); })};
}

}  // namespace
}  // namespace devices_cpp

std::vector<OpDef> devices() {
  using namespace devices_cpp;
  return {identity<DeviceCopyAttrs>("device_copy", "Copies data to another device. The values are the same.", "data",
                                    "DeviceCopyAttrs", "src_virtual_device=\"cpu\", dst_virtual_device=\"cpu\""),
          identity<OnDeviceAttrs>("on_device", "Annotates a value with its device. The values are the same.", "body",
                                  "OnDeviceAttrs", "virtual_device=\"cpu\", constrain_result=True"),
          identity<DebugAttrs>("debug", "Marks a point where an observer can read a value. The values are the same.",
                               "program", "DebugAttrs", "debug_func=\"look\"")};
}

OpDef vm_shape_of() {
  using namespace devices_cpp;
  return define<ShapeOfAttrs>({.name = "vm.shape_of",
                               .doc = "The shape of a tensor, as a tensor.",
                               .inputs = {{"tensor", "any shape"}},
                               .fusion = Fusion::Opaque,
                               .infer = [](const ShapeOfAttrs& a, const Types& in) -> Result<Type> {
                                 RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "tensor"));
                                 return ir::tensor_type({dim(rank(data))}, a.dtype);
                               },
                               .compute = shape_values,
                               .accepts_storage_types = true,
                               .oracle = "torch.tensor(tensor.shape)",
                               .examples = {{.inputs = {"(2, 3, 4)"}, .symbolic = {"(n, 3, m)"}, .ulps = 0}}},
                              "VmShapeOfAttrs");
}

OpDef vm_reshape_tensor() {
  using namespace devices_cpp;
  return define<ReshapeTensorAttrs>(
      {.name = "vm.reshape_tensor",
       .doc = "Reshapes data. The shape is given twice, as a tensor and as an attribute.",
       .inputs = {{"data", "any shape"}, {"shape", "(rank,) integers: the values of newshape"}},
       // Fusion of vm.reshape_tensor: opaque in the reference; it is a reshape.
       .fusion = Fusion::Injective,
       .infer = [](const ReshapeTensorAttrs& a, const Types& in) -> Result<Type> {
         RELAY_ASSIGN(const TensorType* data, tensor_input(in, 0, "data"));
         // (C1) The shape is a list of integers, as long as newshape.
         RELAY_ASSIGN(size_t rank, shape_input("C1", in, 1, "shape"));
         if (rank != a.newshape.size())
           return constraint("C1", "shape has {} values, but newshape is {}", rank, text(a.newshape));
         // (C2) Both shapes have as many elements.
         if (!agree(product(data->shape), product(a.newshape)))
           return constraint("C2", "data {} does not have the elements of {}", text(data->shape), text(a.newshape));
         return ir::tensor_type(a.newshape, data->dtype);
       },
       .compute = [](const ReshapeTensorAttrs& a, const te::Tensors& in,
                     const Type&) { return te::Tensors{shape::reshaped("reshape", in[0], a.newshape)}; },
       .gradient = [](const ReshapeTensorAttrs&, const Adjoint& of) -> ir::Exprs {
         return {grad::shaped_as(of.gradient, of.inputs[0]), nullptr};
       },
       .accepts_storage_types = true,
       .oracle = "data.reshape(newshape)",
       .examples = {{.inputs = {"(2, 6)", "(3,) int64"},
                     .attrs = "newshape=[3, 2, 2]",
                     .ranges = {{-1, 1}, {1, 3}},
                     .ulps = 0}},
       .rejects = {{{"(2, 6)", "(3,) int64"}, "newshape=[3, 4]", "C1"},
                   {{"(2, 6)", "(2,) int64"}, "newshape=[3, 5]", "C2"}}},
      "ReshapeTensorAttrs");
}

}  // namespace relay::ops
