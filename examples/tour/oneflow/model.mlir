module {
  oneflow.job @Graph_0(%arg0: tensor<1x3xf32>) -> tensor<1x2xf32> {
    %x = "oneflow.input"(%arg0) {device_name = ["@0:0"], device_tag = "cpu", is_dynamic = false, op_name = "input_0", scope_symbol_id = 12 : i64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
    %w = "oneflow.variable"() {device_name = ["@0:0"], device_tag = "cpu", op_name = "w", scope_symbol_id = 12 : i64} : () -> tensor<3x2xf32>
    %0 = "oneflow.matmul"(%x, %w) {alpha = 1.000000e+00 : f64, device_name = ["@0:0"], device_tag = "cpu", op_name = "product", scope_symbol_id = 12 : i64, transpose_a = false, transpose_b = false} : (tensor<1x3xf32>, tensor<3x2xf32>) -> tensor<1x2xf32>
    %y = "oneflow.output"(%0) {device_name = ["@0:0"], device_tag = "cpu", op_name = "output_0", scope_symbol_id = 12 : i64} : (tensor<1x2xf32>) -> tensor<1x2xf32>
    oneflow.return %y : tensor<1x2xf32>
  }
}
