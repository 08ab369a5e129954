// Every family of operators: a node each, the Relay calls it becomes, and its type.
#include <unistd.h>

#include "relay/frontend/onnx/import.h"
#include "relay/frontend/onnx/test_model.h"
#include "relay/ir/rewrite.h"

namespace relay::onnx {
namespace {

using namespace test;

// An input of the node: a parameter of the model ("1,3,8,8:int64"), a weight, a list of numbers, or none.
struct In {
  enum { Parameter, Weight, Ints, Floats, None } kind;
  std::string type;
  std::vector<int64_t> ints;
  std::vector<float> floats;
};
In in(const std::string& type) { return {In::Parameter, type, {}, {}}; }
In weight(std::vector<int64_t> dims) { return {In::Weight, "", std::move(dims), {}}; }
In list(std::vector<int64_t> values) { return {In::Ints, "", std::move(values), {}}; }
In floats(std::vector<float> values) { return {In::Floats, "", {}, std::move(values)}; }
In none() { return {In::None, "", {}, {}}; }

// "nn.conv2d nn.bias_add : Tensor[(1, 4, 8, 8), float32]", or the first message.
std::string imported(const std::string& op, int64_t opset, const std::vector<In>& inputs,
                     const std::vector<Bytes>& attributes = {}, size_t outputs = 1) {
  TestGraph g;
  std::vector<std::string> names, results;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::string name = format("i{}", i);
    if (inputs[i].kind == In::Parameter) g.input(name, inputs[i].type);
    if (inputs[i].kind == In::Weight) g.weight(name, inputs[i].ints);
    if (inputs[i].kind == In::Ints) g.ints(name, inputs[i].ints);
    if (inputs[i].kind == In::Floats)
      g.initializer(raw_tensor(name, {static_cast<int64_t>(inputs[i].floats.size())}, 1, inputs[i].floats));
    names.push_back(inputs[i].kind == In::None ? "" : name);
  }
  for (size_t i = 0; i < outputs; ++i) results.push_back(format("o{}", i));
  g.node(op, names, results, attributes);
  for (const std::string& r : results) g.output(r);
  TestFile file(g, opset);
  Result<ImportedModel> m = load(file.path);
  if (!m) return m.errors()[0].message;
  const ir::Function& main = *m->module.functions.at("main");
  std::string text;
  ir::visit(main.body, [&](const ir::Expr& e) {
    if (const ir::Call* call = ir::as<ir::Call>(e)) text += ir::as<ir::Op>(call->callee)->name + " ";
  });
  return text + ": " + ir::str(main.body->type);
}

std::string f32(const std::string& shape) { return shape.empty() ? "float32" : "Tensor[(" + shape + "), float32]"; }

TEST(OnnxConvert, Convolutions) {
  In x = in("1,3,8,8"), w = weight({4, 3, 3, 3});
  EXPECT_EQ(imported("Conv", 11, {x, w}), "nn.conv2d : " + f32("1, 4, 6, 6"));
  EXPECT_EQ(imported("Conv", 11, {x, w, weight({4})}, {integers("pads", {1, 1, 1, 1})}),
            "nn.conv2d nn.bias_add : " + f32("1, 4, 8, 8"));
  EXPECT_EQ(imported("Conv", 11, {x, w}, {text("auto_pad", "SAME_UPPER"), integers("strides", {2, 2})}),
            "nn.conv2d : " + f32("1, 4, 4, 4"));
  EXPECT_EQ(imported("Conv", 11, {in("n,3,h,w"), w}, {text("auto_pad", "SAME_LOWER")}),
            "nn.conv2d : " + f32("n, 4, h, w"));
  EXPECT_EQ(
      imported("Conv", 11, {in("1,4,8,8"), weight({4, 1, 3, 3})}, {integer("group", 4), integers("dilations", {2, 2})}),
      "nn.conv2d : " + f32("1, 4, 4, 4"));
  EXPECT_EQ(imported("Conv", 11, {in("1,3,8"), weight({4, 3, 3})}), "nn.conv1d : " + f32("1, 4, 6"));
  EXPECT_EQ(imported("ConvTranspose", 11, {in("1,4,5,5"), weight({4, 2, 3, 3})},
                     {integers("strides", {2, 2}), integers("pads", {1, 1, 1, 1}), integers("output_padding", {1, 1})}),
            "nn.conv2d_transpose : " + f32("1, 2, 10, 10"));
  EXPECT_EQ(imported("ConvTranspose", 11, {in("1,4,5,5"), weight({4, 2, 3, 3})},
                     {integers("strides", {2, 2}), integers("output_shape", {10, 10})}),
            "nn.conv2d_transpose : " + f32("1, 2, 10, 10"));
  EXPECT_EQ(imported("ConvTranspose", 11, {in("1,4,5"), weight({4, 2, 3})}, {integers("strides", {2})}),
            "reshape reshape nn.conv2d_transpose reshape : " + f32("1, 2, 11"));
  EXPECT_EQ(imported("Conv", 11, {x, w}, {integers("kernel_shape", {5, 5})}),
            "Conv that computes 'o0': kernel_shape is [5, 5], but the weight is " + f32("4, 3, 3, 3"));
  EXPECT_EQ(imported("Conv", 11, {x, w}, {integers("strides", {0, 1})}),
            "Conv that computes 'o0': strides is [0, 1], which is out of range");
}

TEST(OnnxConvert, Pools) {
  In x = in("1,3,8,8");
  std::vector<Bytes> window{integers("kernel_shape", {3, 3}), integers("strides", {2, 2})};
  EXPECT_EQ(imported("MaxPool", 8, {x}, window), "nn.max_pool2d : " + f32("1, 3, 3, 3"));
  window.push_back(integer("ceil_mode", 1));
  EXPECT_EQ(imported("AveragePool", 10, {x}, window), "nn.avg_pool2d : " + f32("1, 3, 4, 4"));
  EXPECT_EQ(imported("MaxPool", 8, {in("1,3,8")}, {integers("kernel_shape", {2})}),
            "reshape nn.max_pool2d reshape : " + f32("1, 3, 7"));
  EXPECT_EQ(imported("GlobalAveragePool", 1, {x}), "nn.global_avg_pool2d : " + f32("1, 3, 1, 1"));
  EXPECT_EQ(imported("GlobalMaxPool", 1, {in("1,3,8")}), "max : " + f32("1, 3, 1"));
}

TEST(OnnxConvert, Matrices) {
  EXPECT_EQ(imported("Gemm", 9, {in("2,4"), weight({8, 4}), weight({8})}, {integer("transB", 1)}),
            "nn.dense nn.bias_add : " + f32("2, 8"));
  EXPECT_EQ(imported("Gemm", 9, {in("4,2"), weight({4, 8}), weight({2, 8})},
                     {integer("transA", 1), real("alpha", 0.5f), real("beta", 2)}),
            "transpose nn.matmul multiply multiply add : " + f32("2, 8"));
  EXPECT_EQ(imported("MatMul", 9, {in("b,s,4"), weight({4, 8})}), "nn.matmul : " + f32("b, s, 8"));
  EXPECT_EQ(imported("MatMul", 9, {in("2,3,5,4"), in("2,3,4,6")}),
            "reshape reshape nn.batch_matmul reshape : " + f32("2, 3, 5, 6"));
  EXPECT_EQ(imported("MatMul", 9, {in("2,3,5,4"), in("3,4,6")}),
            "reshape broadcast_to reshape nn.batch_matmul reshape : " + f32("2, 3, 5, 6"));
  EXPECT_EQ(imported("MatMul", 9, {in("4"), in("4")}), "reshape reshape nn.matmul reshape : " + f32(""));
}

TEST(OnnxConvert, Elementwise) {
  In x = in("2,4");
  for (const auto& [onnx, relay] : std::vector<std::pair<const char*, const char*>>{{"Abs", "abs"},
                                                                                    {"Atan", "atan"},
                                                                                    {"Ceil", "ceil"},
                                                                                    {"Cos", "cos"},
                                                                                    {"Erf", "erf"},
                                                                                    {"Exp", "exp"},
                                                                                    {"Floor", "floor"},
                                                                                    {"Log", "log"},
                                                                                    {"Neg", "negative"},
                                                                                    {"Relu", "nn.relu"},
                                                                                    {"Round", "round"},
                                                                                    {"Sigmoid", "sigmoid"},
                                                                                    {"Sign", "sign"},
                                                                                    {"Sin", "sin"},
                                                                                    {"Sqrt", "sqrt"},
                                                                                    {"Tanh", "tanh"},
                                                                                    {"LeakyRelu", "nn.leaky_relu"}})
    EXPECT_EQ(imported(onnx, 13, {x}), format("{} : {}", relay, f32("2, 4")));
  for (const char* op : {"Elu", "Selu", "Celu", "HardSigmoid", "HardSwish", "Softplus", "Softsign", "Mish", "Gelu",
                         "ThresholdedRelu", "Shrink", "Reciprocal"})
    EXPECT_NE(imported(op, 20, {x}).find(" : " + f32("2, 4")), std::string::npos)
        << op << ": " << imported(op, 20, {x});
  EXPECT_EQ(imported("Add", 7, {x, weight({4})}), "add : " + f32("2, 4"));
  EXPECT_EQ(imported("Add", 6, {in("2,4,5"), weight({4})}, {integer("broadcast", 1), integer("axis", 1)}),
            "reshape add : " + f32("2, 4, 5"));
  EXPECT_EQ(imported("Pow", 13, {x, list({2})}), "cast power : " + f32("2, 4"));
  EXPECT_EQ(imported("Sum", 8, {x, x, weight({4})}), "add add : " + f32("2, 4"));
  EXPECT_EQ(imported("Mean", 8, {x, x}), "add divide : " + f32("2, 4"));
  EXPECT_EQ(imported("Max", 8, {x}), ": " + f32("2, 4"));
  EXPECT_EQ(imported("Less", 9, {x, weight({4})}), "less : Tensor[(2, 4), bool]");
  EXPECT_EQ(imported("And", 7, {in("2:bool"), in("2:bool")}), "logical_and : Tensor[(2), bool]");
  EXPECT_EQ(imported("BitShift", 11, {in("2,4:uint8"), in("4:uint8")}, {text("direction", "LEFT")}),
            "left_shift : Tensor[(2, 4), uint8]");
  EXPECT_EQ(imported("BitShift", 11, {in("4:uint8"), in("4:uint8")}),
            "BitShift that computes 'o0': direction is '', not LEFT or RIGHT");
  EXPECT_EQ(imported("Where", 9, {in("2,1:bool"), x, weight({4})}), "where : " + f32("2, 4"));
  EXPECT_EQ(imported("Cast", 9, {x}, {integer("to", 7)}), "cast : Tensor[(2, 4), int64]");
  EXPECT_EQ(imported("Cast", 9, {x}, {integer("to", 14)}),
            "Cast that computes 'o0': it converts to type complex64, which tensors of Relay cannot have");
  EXPECT_EQ(imported("PRelu", 9, {in("1,4,8,8"), weight({4, 1, 1})}), "reshape nn.prelu : " + f32("1, 4, 8, 8"));
  EXPECT_EQ(imported("PRelu", 6, {in("1,4,8,8"), weight({4})}), "nn.prelu : " + f32("1, 4, 8, 8"));
}

TEST(OnnxConvert, OldAndNewForms) {
  In x = in("2,6");
  EXPECT_EQ(imported("Clip", 6, {x}, {real("min", 0), real("max", 6)}), "clip : " + f32("2, 6"));
  EXPECT_EQ(imported("Clip", 6, {x}, {real("min", 0)}), "maximum : " + f32("2, 6"));
  EXPECT_EQ(imported("Clip", 11, {x, none(), floats({6})}), "minimum : " + f32("2, 6"));
  EXPECT_EQ(imported("Clip", 11, {x}), ": " + f32("2, 6"));
  EXPECT_EQ(imported("Slice", 9, {x}, {integers("starts", {1}), integers("ends", {INT64_MAX}), integers("axes", {1})}),
            "strided_slice : " + f32("2, 5"));
  EXPECT_EQ(imported("Slice", 10, {x, list({-1}), list({INT64_MIN}), list({1}), list({-2})}),
            "strided_slice : " + f32("2, 3"));
  EXPECT_EQ(imported("Slice", 10, {in("n,6"), list({0, 0}), list({INT64_MAX, 3})}), "strided_slice : " + f32("n, 3"));
  EXPECT_EQ(imported("Squeeze", 11, {in("1,2,1")}, {integers("axes", {0})}), "squeeze : " + f32("2, 1"));
  EXPECT_EQ(imported("Squeeze", 13, {in("1,2,1"), list({-1})}), "squeeze : " + f32("1, 2"));
  EXPECT_EQ(imported("Squeeze", 13, {in("1,2,1")}), "squeeze : " + f32("2"));
  EXPECT_EQ(imported("Unsqueeze", 11, {x}, {integers("axes", {0, 3})}),
            "expand_dims expand_dims : " + f32("1, 2, 6, 1"));
  EXPECT_EQ(imported("Unsqueeze", 13, {x, list({-1})}), "expand_dims : " + f32("2, 6, 1"));
  EXPECT_EQ(imported("ReduceMean", 11, {x}, {integers("axes", {1}), integer("keepdims", 0)}), "mean : " + f32("2"));
  EXPECT_EQ(imported("ReduceMean", 18, {x, list({1})}), "mean : " + f32("2, 1"));
  EXPECT_EQ(imported("ReduceSum", 13, {x}, {integer("noop_with_empty_axes", 1)}), ": " + f32("2, 6"));
  EXPECT_EQ(imported("ReduceL2", 11, {x}, {integer("keepdims", 0)}), "multiply sum sqrt : " + f32(""));
  EXPECT_EQ(imported("Pad", 2, {x}, {integers("pads", {0, 1, 0, 2}), real("value", 1)}), "nn.pad : " + f32("2, 9"));
  EXPECT_EQ(imported("Pad", 11, {x, list({0, -1, 0, 2}), floats({0})}),
            "strided_slice reshape nn.pad : " + f32("2, 7"));
  EXPECT_EQ(imported("Pad", 18, {x, list({1, 1}), none(), list({1})}, {text("mode", "reflect")}),
            "nn.pad : " + f32("2, 8"));
  EXPECT_EQ(imported("Softmax", 11, {in("2,3,4")}), "reshape nn.softmax reshape : " + f32("2, 3, 4"));
  EXPECT_EQ(imported("Softmax", 13, {in("2,3,4")}, {integer("axis", 1)}), "nn.softmax : " + f32("2, 3, 4"));
  EXPECT_EQ(imported("Split", 11, {x}, {integer("axis", 1), integers("split", {2, 4})}, 2),
            "split : (" + f32("2, 2") + ", " + f32("2, 4") + ")");
  EXPECT_EQ(imported("Split", 13, {x, list({3, 3})}, {integer("axis", 1)}, 2),
            "split : (" + f32("2, 3") + ", " + f32("2, 3") + ")");
  EXPECT_EQ(imported("Split", 18, {in("5")}, {integer("num_outputs", 2)}, 2),
            "split : (" + f32("3") + ", " + f32("2") + ")");
  EXPECT_EQ(imported("Dropout", 7, {x}), ": " + f32("2, 6"));
  EXPECT_EQ(imported("Dropout", 13, {in("n,6"), none(), in(":bool")}),
            "random.uniform_like greater_equal subtract divide multiply where where : " + f32("n, 6"));
  EXPECT_EQ(imported("BatchNormalization", 7, {in("1,4,8,8"), weight({4}), weight({4}), weight({4}), weight({4})}),
            "nn.batch_norm : " + f32("1, 4, 8, 8"));
}

TEST(OnnxConvert, Shapes) {
  EXPECT_EQ(imported("Reshape", 5, {in("n,3,4"), list({0, -1})}), "reshape : " + f32("n, 12"));
  EXPECT_EQ(imported("Reshape", 5, {in("2,3,4"), list({2, 3, 4})}), ": " + f32("2, 3, 4"));
  EXPECT_EQ(imported("Flatten", 9, {in("n,3,4")}), "nn.batch_flatten : " + f32("n, 12"));
  EXPECT_EQ(imported("Flatten", 9, {in("2,3,4")}, {integer("axis", 3)}), "reshape : " + f32("24, 1"));
  EXPECT_EQ(imported("Transpose", 9, {in("2,3,4")}), "transpose : " + f32("4, 3, 2"));
  EXPECT_EQ(imported("Transpose", 9, {in("2,3,4")}, {integers("perm", {0, 0, 1})}),
            "Transpose that computes 'o0': perm [0, 0, 1] is not a permutation of 3 axes");
  EXPECT_EQ(imported("Expand", 9, {in("3,1"), list({2, 1, 4})}), "broadcast_to : " + f32("2, 3, 4"));
  EXPECT_EQ(imported("Tile", 9, {in("2,3"), list({2, 1})}), "tile : " + f32("4, 3"));
  EXPECT_EQ(imported("Concat", 9, {in("2,3"), in("2,4")}, {integer("axis", -1)}), "concatenate : " + f32("2, 7"));
  EXPECT_EQ(imported("Shape", 15, {in("2,3,4")}, {integer("start", 1)}), ": Tensor[(2), int64]");
  EXPECT_EQ(imported("ConstantOfShape", 9, {list({2, 3})}), ": " + f32("2, 3"));
  EXPECT_EQ(imported("ConstantOfShape", 9, {list({100, 100})}), "broadcast_to : " + f32("100, 100"));
  EXPECT_EQ(imported("Identity", 9, {in("2,3")}), ": " + f32("2, 3"));
  EXPECT_EQ(imported("DepthToSpace", 11, {in("1,8,2,3")}, {integer("blocksize", 2)}),
            "nn.depth_to_space : " + f32("1, 2, 4, 6"));
  EXPECT_EQ(imported("SpaceToDepth", 11, {in("1,2,4,6")}, {integer("blocksize", 2)}),
            "nn.space_to_depth : " + f32("1, 8, 2, 3"));
}

TEST(OnnxConvert, Resizing) {
  In x = in("1,3,4,5");
  EXPECT_EQ(imported("Upsample", 7, {x}, {reals("scales", {1, 1, 2, 2})}), "image.resize2d : " + f32("1, 3, 8, 10"));
  EXPECT_EQ(imported("Upsample", 9, {x, floats({1, 1, 2, 2})}, {text("mode", "linear")}),
            "image.resize2d : " + f32("1, 3, 8, 10"));
  EXPECT_EQ(imported("Resize", 10, {x, floats({1, 1, 0.5f, 0.2f})}), "image.resize2d : " + f32("1, 3, 2, 1"));
  EXPECT_EQ(imported("Resize", 11, {x, floats({}), floats({}), list({1, 3, 7, 9})}, {text("mode", "cubic")}),
            "image.resize2d : " + f32("1, 3, 7, 9"));
  EXPECT_EQ(imported("Resize", 13, {x, none(), floats({1, 1, 1, 1})}), ": " + f32("1, 3, 4, 5"));
  EXPECT_EQ(imported("Resize", 18, {x, none(), none(), list({8, 10})}, {integers("axes", {2, 3})}),
            "image.resize2d : " + f32("1, 3, 8, 10"));
  EXPECT_EQ(imported("Resize", 13, {in("1,3,8"), none(), floats({1, 1, 2})}),
            "reshape image.resize2d reshape : " + f32("1, 3, 16"));
  // A scale that does not yield a whole number of elements, but a known size.
  EXPECT_EQ(imported("Resize", 13, {x, none(), floats({1, 1, 0.3f, 1})}),
            "cast add cast take divide cast cast add add ceil cast take : " + f32("1, 3, 1, 5"));
  EXPECT_EQ(imported("Resize", 13, {x, none(), floats({1, 1, 0x1p90f, 1})}),
            "Resize that computes 'o0': scale 2 is 1.2379400392853803e+27");
  EXPECT_EQ(imported("GridSample", 16, {in("n,3,4,5"), in("n,6,7,2")}, {text("mode", "bicubic")}),
            "transpose image.grid_sample : " + f32("n, 3, 6, 7"));
  EXPECT_EQ(imported("GridSample", 20, {in("1,3,4,5,6"), in("1,2,7,8,3")}, {text("mode", "nearest")}),
            "transpose image.grid_sample : " + f32("1, 3, 2, 7, 8"));
  EXPECT_EQ(imported("GridSample", 20, {x, in("1,6,7,2,2")}),
            "GridSample that computes 'o0': the grid should have 4 axes, but is " + f32("1, 6, 7, 2, 2"));
  EXPECT_EQ(
      imported("GridSample", 20, {in("1,3,4,5,6"), in("1,2,7,8,3")}, {text("mode", "cubic")}),
      "GridSample that computes 'o0': method must be \"nearest\", \"bilinear\" or, for images, \"bicubic\", but is "
      "\"bicubic\" for data (1, 3, 4, 5, 6)");
}

TEST(OnnxConvert, Indices) {
  EXPECT_EQ(imported("Gather", 11, {weight({10, 4}), in("2,3:int64")}), "take : " + f32("2, 3, 4"));
  EXPECT_EQ(imported("Gather", 11, {in("10,4"), list({-1, 0})}, {integer("axis", 1)}), "take : " + f32("10, 2"));
  EXPECT_EQ(imported("OneHot", 11, {in("2:int64"), list({5}), floats({0, 1})}),
            "less add where one_hot : " + f32("2, 5"));
  EXPECT_EQ(imported("ArgMax", 11, {in("2,3")}, {integer("axis", 1), integer("keepdims", 0)}),
            "argmax cast : Tensor[(2), int64]");
  EXPECT_EQ(imported("Range", 11, {list({0}), list({5}), list({2})}), ": Tensor[(3), int64]");
  EXPECT_EQ(imported("CumSum", 11, {in("2,3"), list({1})}), "cumsum : " + f32("2, 3"));
  EXPECT_EQ(imported("Trilu", 14, {in("2,3,3")}), "where : " + f32("2, 3, 3"));
  EXPECT_EQ(imported("EyeLike", 9, {in("2,3")}), ": " + f32("2, 3"));
  EXPECT_EQ(imported("EyeLike", 9, {in("100000,100000")}),
            "EyeLike that computes 'o0': a constant of 10000000000 elements would be created, but all constants of an "
            "import may have at most 268435456 bytes");
}

TEST(OnnxConvert, Normalisations) {
  EXPECT_EQ(imported("InstanceNormalization", 6, {in("1,4,8,8"), weight({4}), weight({4})}),
            "nn.instance_norm : " + f32("1, 4, 8, 8"));
  EXPECT_EQ(imported("LayerNormalization", 17, {in("2,3,4"), weight({4}), weight({4})}),
            "nn.layer_norm : " + f32("2, 3, 4"));
  EXPECT_EQ(imported("LayerNormalization", 17, {in("2,3,4"), weight({3, 4}), weight({3, 4})}, {integer("axis", 1)}),
            "reshape reshape reshape nn.layer_norm reshape : " + f32("2, 3, 4"));
  EXPECT_EQ(imported("LRN", 1, {in("1,4,8,8")}, {integer("size", 3)}), "nn.lrn : " + f32("1, 4, 8, 8"));
  EXPECT_EQ(imported("LRN", 1, {in("1,4,8,8")}, {integer("size", 4)}), "reverse nn.lrn reverse : " + f32("1, 4, 8, 8"));
  EXPECT_NE(imported("GroupNormalization", 18, {in("1,4,8,8"), weight({2}), weight({2})}, {integer("num_groups", 2)})
                .find(": " + f32("1, 4, 8, 8")),
            std::string::npos);
  EXPECT_NE(imported("MeanVarianceNormalization", 13, {in("1,4,8,8")}).find(": " + f32("1, 4, 8, 8")),
            std::string::npos);
  EXPECT_NE(imported("LpNormalization", 1, {in("2,4")}).find(": " + f32("2, 4")), std::string::npos);
}

TEST(OnnxConvert, WindowsTakenBack) {
  In columns = in("n,20,30"), image = list({6, 7}), block = list({2, 2});
  EXPECT_EQ(imported("Col2Im", 18, {columns, image, block}), "reshape nn.pad take sum reshape : " + f32("n, 5, 6, 7"));
  EXPECT_EQ(imported("Col2Im", 18, {columns, image, list({2})}),
            "Col2Im that computes 'o0': image_shape, block_shape, strides, dilations and pads have 2, 1, 2, 2 and 4 "
            "elements");
  EXPECT_EQ(
      imported("Col2Im", 18, {columns, image, list({2, 3})}),
      "Col2Im that computes 'o0': the data is Tensor[(n, 20, 30), float32], but the shapes require (N, C * 6, 25)");
  EXPECT_EQ(imported("Col2Im", 18, {columns, list({6, 1}), block}),
            "Col2Im that computes 'o0': the window is larger than the image along axis 1");
  EXPECT_EQ(imported("Col2Im", 18, {columns, list({2147483647, 2147483647}), block}, {integers("dilations", {1, 0})}),
            "Col2Im that computes 'o0': a size, stride or dilation along axis 1 is 0");
  std::vector<Bytes> window{integers("kernel_shape", {2, 2}), integers("strides", {2, 2})};
  EXPECT_EQ(imported("MaxUnpool", 11, {in("1,1,2,2"), in("1,1,2,2:int64"), list({1, 1, 5, 5})}, window),
            "broadcast_to reshape reshape scatter_elements reshape nn.pad : " + f32("1, 1, 5, 5"));
  EXPECT_EQ(imported("MaxUnpool", 11, {in("1,1,2,2"), in("1,1,2,2:int64"), list({1, 1, 3, 5})}, window),
            "MaxUnpool that computes 'o0': output_shape is [1, 1, 3, 5], smaller than the result of the window: [1, 1, "
            "4, 4]");
  EXPECT_EQ(imported("MaxUnpool", 11, {in("n,1,2,2"), in("n,1,2,2:int64")}, window),
            "MaxUnpool that computes 'o0': X is Tensor[(n, 1, 2, 2), float32]; fixed sizes are needed");
}

TEST(OnnxConvert, GridsAndMatrices) {
  EXPECT_EQ(imported("AffineGrid", 20, {in("n,2,3"), list({4, 1, 5, 6})}),
            "reshape nn.dense reshape transpose reshape : " + f32("n, 5, 6, 2"));
  EXPECT_EQ(imported("AffineGrid", 20, {in("2,3,4"), list({2, 1, 5, 6})}),
            "AffineGrid that computes 'o0': theta is Tensor[(2, 3, 4), float32], not (N, 2, 3)");
  EXPECT_EQ(
      imported("AffineGrid", 20, {in("2,2,3"), list({3, 1, 5, 6})}),
      "AffineGrid that computes 'o0': size is [3, 1, 5, 6], of another batch than theta Tensor[(2, 2, 3), float32]");
  EXPECT_EQ(imported("CenterCropPad", 18, {in("n,20,8"), list({10, 9})}, {integers("axes", {1, 2})}),
            "strided_slice nn.pad : " + f32("n, 10, 9"));
  EXPECT_EQ(imported("CenterCropPad", 18, {in("n,20,8"), list({10, 9})}),
            "CenterCropPad that computes 'o0': shape has 2 elements for 3 axes");
  EXPECT_NE(imported("Det", 11, {in("n,3,3")}).find(": " + f32("n")), std::string::npos);
  EXPECT_EQ(imported("Det", 11, {in("2,3,4")}),
            "Det that computes 'o0': X is Tensor[(2, 3, 4), float32], but must contain square matrices");
  EXPECT_EQ(imported("MelWeightMatrix", 17, {list({8}), list({16}), list({8192}), floats({0}), floats({4096})}),
            ": " + f32("9, 8"));
  EXPECT_EQ(imported("MelWeightMatrix", 17, {list({8}), list({16}), list({8192}), floats({0}), floats({9000})}),
            "MelWeightMatrix that computes 'o0': frequencies from 0 to 9000 Hz exceed those of a sample rate of 8192");
}

TEST(OnnxConvert, LayersWithAState) {
  EXPECT_EQ(imported("CausalConvWithState", 27, {in("n,4,t"), weight({4, 1, 3}), none(), in("n,4,2")},
                     {text("activation", "silu")}, 1),
            "concatenate nn.conv1d sigmoid multiply : " + f32("n, 4, t"));
  EXPECT_EQ(
      imported("CausalConvWithState", 27, {in("n,4,t"), weight({4, 2, 3})}),
      "CausalConvWithState that computes 'o0': the weight is Tensor[(4, 2, 3), float32], not (channels, 1, taps)");
  EXPECT_EQ(imported("LinearAttention", 27, {in("2,t,8"), in("2,t,4"), in("2,t,6")},
                     {text("update_rule", "linear"), integer("q_num_heads", 3), integer("kv_num_heads", 2)}),
            "LinearAttention that computes 'o0': q_num_heads is 3, which kv_num_heads 2 does not divide");
  EXPECT_EQ(imported("LinearAttention", 27, {in("2,t,8"), in("2,t,4"), in("2,t,6")},
                     {integer("q_num_heads", 4), integer("kv_num_heads", 2)}),
            "LinearAttention that computes 'o0': update_rule 'gated_delta' needs a decay and needs a beta");
}

TEST(OnnxConvert, Integers) {
  EXPECT_NE(imported("DequantizeLinear", 13, {in("2,4:uint8"), floats({0.5f})}).find(": " + f32("2, 4")),
            std::string::npos);
  EXPECT_NE(
      imported("DynamicQuantizeLinear", 11, {in("2,4")}, {}, 3).find("(Tensor[(2, 4), uint8], " + f32("") + ", uint8)"),
      std::string::npos);
  EXPECT_NE(imported("ConvInteger", 10, {in("1,3,8,8:uint8"), in("4,3,3,3:int8")})
                .find("qnn.conv2d : Tensor[(1, 4, 6, 6), int32]"),
            std::string::npos);
  EXPECT_NE(imported("MatMulInteger", 10, {in("2,3:uint8"), in("3,4:int8")}).find("qnn.dense : Tensor[(2, 4), int32]"),
            std::string::npos);
}

}  // namespace
}  // namespace relay::onnx
