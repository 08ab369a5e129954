module @jit_decode attributes {mhlo.num_partitions = 1 : i32, mhlo.num_replicas = 1 : i32} {
  func.func public @main(%arg0: tensor<11x4xf32>, %arg1: tensor<2x7x4xf32>, %arg2: tensor<2x7x4xf32>, %arg3: tensor<2xi32>, %arg4: tensor<i32>) -> (tensor<2xi32> {jax.result_info = "result[0]"}, tensor<2x7x4xf32> {jax.result_info = "result[1]"}, tensor<2x7x4xf32> {jax.result_info = "result[2]"}) {
    %c = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.broadcast_in_dim %c, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %1 = stablehlo.compare LT, %arg3, %0, SIGNED : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi1>
    %c_0 = stablehlo.constant dense<11> : tensor<i32>
    %2 = stablehlo.broadcast_in_dim %c_0, dims = [] : (tensor<i32>) -> tensor<2xi32>
    %3 = stablehlo.add %arg3, %2 : tensor<2xi32>
    %4 = stablehlo.select %1, %3, %arg3 : tensor<2xi1>, tensor<2xi32>
    %5 = stablehlo.broadcast_in_dim %4, dims = [0] : (tensor<2xi32>) -> tensor<2x1xi32>
    %6 = "stablehlo.gather"(%arg0, %5) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<11x4xf32>, tensor<2x1xi32>) -> tensor<2x4xf32>
    %7 = stablehlo.broadcast_in_dim %6, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %c_1 = stablehlo.constant dense<0> : tensor<i32>
    %8 = stablehlo.compare LT, %arg4, %c_1, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_2 = stablehlo.constant dense<7> : tensor<i32>
    %9 = stablehlo.add %arg4, %c_2 : tensor<i32>
    %10 = stablehlo.select %8, %9, %arg4 : tensor<i1>, tensor<i32>
    %c_3 = stablehlo.constant dense<0> : tensor<i32>
    %c_4 = stablehlo.constant dense<0> : tensor<i32>
    %11 = stablehlo.dynamic_update_slice %arg1, %7, %c_3, %10, %c_4 : (tensor<2x7x4xf32>, tensor<2x1x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x7x4xf32>
    %cst = stablehlo.constant dense<2.000000e+00> : tensor<f32>
    %12 = stablehlo.broadcast_in_dim %cst, dims = [] : (tensor<f32>) -> tensor<2x4xf32>
    %13 = stablehlo.multiply %6, %12 : tensor<2x4xf32>
    %14 = stablehlo.broadcast_in_dim %13, dims = [0, 2] : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
    %c_5 = stablehlo.constant dense<0> : tensor<i32>
    %15 = stablehlo.compare LT, %arg4, %c_5, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %c_6 = stablehlo.constant dense<7> : tensor<i32>
    %16 = stablehlo.add %arg4, %c_6 : tensor<i32>
    %17 = stablehlo.select %15, %16, %arg4 : tensor<i1>, tensor<i32>
    %c_7 = stablehlo.constant dense<0> : tensor<i32>
    %c_8 = stablehlo.constant dense<0> : tensor<i32>
    %18 = stablehlo.dynamic_update_slice %arg2, %14, %c_7, %17, %c_8 : (tensor<2x7x4xf32>, tensor<2x1x4xf32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<2x7x4xf32>
    %19 = stablehlo.dot_general %6, %11, batching_dims = [0] x [0], contracting_dims = [1] x [2], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<2x7x4xf32>) -> tensor<2x7xf32>
    %20 = stablehlo.iota dim = 0 : tensor<7xi32>
    %21 = stablehlo.broadcast_in_dim %20, dims = [1] : (tensor<7xi32>) -> tensor<1x7xi32>
    %22 = stablehlo.broadcast_in_dim %arg4, dims = [] : (tensor<i32>) -> tensor<1x7xi32>
    %23 = stablehlo.compare LE, %21, %22, SIGNED : (tensor<1x7xi32>, tensor<1x7xi32>) -> tensor<1x7xi1>
    %cst_9 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %24 = call @_where(%23, %19, %cst_9) : (tensor<1x7xi1>, tensor<2x7xf32>, tensor<f32>) -> tensor<2x7xf32>
    %cst_10 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %25 = stablehlo.reduce(%24 init: %cst_10) applies stablehlo.maximum across dimensions = [1] : (tensor<2x7xf32>, tensor<f32>) -> tensor<2xf32>
    %cst_11 = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %26 = stablehlo.broadcast_in_dim %cst_11, dims = [] : (tensor<f32>) -> tensor<2xf32>
    %27 = stablehlo.maximum %26, %25 : tensor<2xf32>
    %28 = stablehlo.broadcast_in_dim %27, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %29 = stablehlo.broadcast_in_dim %28, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x7xf32>
    %30 = stablehlo.subtract %24, %29 : tensor<2x7xf32>
    %31 = stablehlo.exponential %30 : tensor<2x7xf32>
    %cst_12 = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %32 = stablehlo.reduce(%31 init: %cst_12) applies stablehlo.add across dimensions = [1] : (tensor<2x7xf32>, tensor<f32>) -> tensor<2xf32>
    %33 = stablehlo.broadcast_in_dim %32, dims = [0] : (tensor<2xf32>) -> tensor<2x1xf32>
    %34 = stablehlo.broadcast_in_dim %33, dims = [0, 1] : (tensor<2x1xf32>) -> tensor<2x7xf32>
    %35 = stablehlo.divide %31, %34 : tensor<2x7xf32>
    %36 = stablehlo.dot_general %35, %18, batching_dims = [0] x [0], contracting_dims = [1] x [1], precision = [DEFAULT, DEFAULT] : (tensor<2x7xf32>, tensor<2x7x4xf32>) -> tensor<2x4xf32>
    %37 = stablehlo.transpose %arg0, dims = [1, 0] : (tensor<11x4xf32>) -> tensor<4x11xf32>
    %38 = stablehlo.dot_general %36, %37, contracting_dims = [1] x [0], precision = [DEFAULT, DEFAULT] : (tensor<2x4xf32>, tensor<4x11xf32>) -> tensor<2x11xf32>
    %39 = call @argmax(%38) : (tensor<2x11xf32>) -> tensor<2xi32>
    return %39, %11, %18 : tensor<2xi32>, tensor<2x7x4xf32>, tensor<2x7x4xf32>
  }
  func.func private @_where(%arg0: tensor<1x7xi1>, %arg1: tensor<2x7xf32>, %arg2: tensor<f32>) -> tensor<2x7xf32> {
    %0 = stablehlo.convert %arg2 : tensor<f32>
    %1 = stablehlo.broadcast_in_dim %arg0, dims = [0, 1] : (tensor<1x7xi1>) -> tensor<2x7xi1>
    %2 = stablehlo.broadcast_in_dim %0, dims = [] : (tensor<f32>) -> tensor<2x7xf32>
    %3 = stablehlo.select %1, %arg1, %2 : tensor<2x7xi1>, tensor<2x7xf32>
    return %3 : tensor<2x7xf32>
  }
  func.func private @argmax(%arg0: tensor<2x11xf32>) -> tensor<2xi32> {
    %0 = stablehlo.iota dim = 1 : tensor<2x11xi32>
    %cst = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %c = stablehlo.constant dense<0> : tensor<i32>
    %1:2 = stablehlo.reduce(%arg0 init: %cst), (%0 init: %c) across dimensions = [1] : (tensor<2x11xf32>, tensor<2x11xi32>, tensor<f32>, tensor<i32>) -> (tensor<2xf32>, tensor<2xi32>)
     reducer(%arg1: tensor<f32>, %arg3: tensor<f32>) (%arg2: tensor<i32>, %arg4: tensor<i32>)  {
      %2 = stablehlo.compare GT, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %3 = stablehlo.compare NE, %arg1, %arg1, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %4 = stablehlo.or %2, %3 : tensor<i1>
      %5 = stablehlo.compare EQ, %arg1, %arg3, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
      %6 = stablehlo.compare LT, %arg2, %arg4, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      %7 = stablehlo.and %5, %6 : tensor<i1>
      %8 = stablehlo.or %4, %7 : tensor<i1>
      %9 = stablehlo.select %4, %arg1, %arg3 : tensor<i1>, tensor<f32>
      %10 = stablehlo.select %8, %arg2, %arg4 : tensor<i1>, tensor<i32>
      stablehlo.return %9, %10 : tensor<f32>, tensor<i32>
    }
    return %1#1 : tensor<2xi32>
  }
}
