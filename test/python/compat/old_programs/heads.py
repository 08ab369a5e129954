"""The modules that test files import: an import never fails, and missing names raise an error when they are used."""

import pytest

LINES = """
import tvm
import tvm.testing
import tvm.relay.testing
from tvm import te, tir, relay, rpc, topi, nd, runtime, target, ir, autotvm, auto_scheduler, meta_schedule, contrib, error
from tvm import IRModule, TVMError
from tvm.ir import IRModule, Op, Attrs, structural_equal, structural_hash, assert_structural_equal, make_node, EnvFunc, TensorType, PrimType, PointerType, SourceName, Span, SequentialSpan, Node
from tvm.ir import GlobalTypeVar, TypeVar, TypeKind, Constructor, TypeData, DictAttrs, BaseFunc, PrimExpr, RelayExpr, GlobalVar, Range, TypeConstraint, TypeRelation, IncompleteType, FuncType, TupleType, TypeCall
from tvm.ir.instrument import PassTimingInstrument, pass_instrument, PassInstrument, PassPrintingInstrument, PrintAfterAll, PrintBeforeAll
from tvm.ir.transform import PassContext, Sequential, module_pass, Pass, ModulePass, PassInfo
from tvm.ir.supply import NameSupply, GlobalVarSupply
from tvm.ir.module import IRModule
from tvm.ir.base import Node, Span, SourceName
from tvm.ir.diagnostics import DiagnosticContext, Diagnostic, DiagnosticLevel, override_renderer, get_renderer
from tvm.ir.type_relation import TypeCall, TypeRelation
from tvm.ir.affine_type import AffineType, TensorAffineType, TupleAffineType
from tvm.ir.tensor_type import TensorType
from tvm.ir.expr import GlobalVar, RelayExpr
from tvm.ir.op import register_op_attr, Op, register_intrin_lowering
from tvm.ir.function import BaseFunc, CallingConv
from tvm.ir.adt import Constructor, TypeData
from tvm.ir.container import Array, Map
from tvm.ir.memory_pools import WorkspaceMemoryPools, WorkspacePoolInfo, ConstantMemoryPools, PoolInfoProperties
from tvm.ir.attrs import Attrs, make_node
from tvm.error import TVMError, DiagnosticError, OpError, OpNotImplemented, OpAttributeInvalid, InternalError, register_error
from tvm import instrument
from tvm.instrument import pass_instrument
from tvm.target import Target, VirtualDevice, codegen
from tvm.target.codegen import llvm_version_major, llvm_get_targets
from tvm.target.target import Target
from tvm.runtime import vm as _vm, vm as vm_rt, container, Module, NDArray, convert, enabled, load_module, profiler_vm, module
from tvm.runtime import name_transforms
from tvm.runtime.vm import VirtualMachine, Executable
from tvm.runtime.container import ADT, tuple_object, String, ShapeTuple
from tvm.runtime import profiling
from tvm.runtime.profiling import Report, profile_function
from tvm.runtime.ndarray import array, NDArray
from tvm.runtime.executor import AotModule
from tvm.runtime.name_transforms import to_c_function_style, prefix_name
from tvm.runtime.module import Module
from tvm.contrib import graph_executor, utils, nvcc, cudnn, cblas, cc, graph_runtime
from tvm.contrib.debugger import debug_executor
from tvm.contrib.graph_executor import GraphModule
from tvm.contrib.utils import tempdir
from tvm.contrib.nvcc import have_fp16
from tvm.contrib.download import download_testdata
from tvm.contrib.relay_viz import RelayVisualizer
from tvm.driver import tvmc
from tvm.testing import assert_allclose, parameter, fixture, main
from tvm.tir.expr import *
from tvm.tir import IntImm, Any, Var, SizeVar, StringImm, const, layout, bijective_layout, FloatImm
from tvm.tir import expr as _expr
from tvm.te import var, size_var
from tvm.topi import testing as tt
from tvm.topi.utils import get_const_tuple
import tvm.topi.testing
from tvm.topi.testing import conv3d_transpose_ncdhw_python
from tvm.topi.nn.qnn import SQNN_DTYPE_TO_CODE
import tvm.topi.nn
from tvm import topi
from tvm._ffi.base import TVMError
from tvm._ffi import get_global_func, register_func
import tvm._ffi
from tvm import relay, transform
from tvm.relay import transform, expr, analysis, op, ty, adt, nn, testing, Function, var, const, TensorType, FuncType
from tvm.relay import create_executor, vm, dataflow_pattern, ExprFunctor, ExprMutator, ExprVisitor, ScopeBuilder, qnn, backend, build_module, param_dict
from tvm.relay.transform import InferType, ToMixedPrecision, mixed_precision, gradient, fake_quantization_to_integer, recast, to_cps, un_cps, SimplifyInference
from tvm.relay.transform import ToANormalForm, PartialEvaluate, Defunctionalization, LambdaLift, FoldConstant, FastMath
from tvm.relay.transform.infer_layout_utils import InferCorrectLayoutOutput
from tvm.relay.transform.mixed_precision import register_mixed_precision_conversion
from tvm.relay.transform.fake_quantization_to_integer import register_fake_quantization_to_integer
from tvm.relay.transform.recast import recast
from tvm.relay.transform.suffixes import tag_suffixes
from tvm.relay.transform.memory_plan import MemoryPlan
from tvm.relay.transform.flexible_shape import FlexibleShapeDispatch
from tvm.relay.analysis import Feature, check_kind, detect_feature, free_vars, free_type_vars, bound_vars, unmatched_cases, well_formed, check_basic_block_normal_form, get_calibration_data, extract_intermdeiate_expr, list_op_freqs, list_fake_quantized_op_freqs, extract_fused_functions, search_fc_transpose, get_total_mac_number, post_order_visit, CallGraph, AnnotatedRegionSet, context_analysis
from tvm.relay.analysis.analysis import check_basic_block_normal_form
from tvm.relay.analysis.annotated_regions import AnnotatedRegionSet
from tvm.relay.analysis.count_layers import count_layers
from tvm.relay.analysis.operations_distribution import analyze_operations_distribution
from tvm.relay.analysis.sparse_dense import process_params
from tvm.relay.analysis import _ffi_api
from tvm.relay.analysis.call_graph import CallGraph
from tvm.relay.analysis.feature import Feature
from tvm.relay.testing import run_opt_pass, run_infer_type, check_grad, rand, count_ops, count, make_nat_expr, make_nat_value, create_workload, mlp, lstm, inception_v3
from tvm.relay.testing import resnet, vgg, densenet, squeezenet, mobilenet, dcgan, dqn, synthetic, resnet_3d, layers, init, temp_op_attr, byoc, tf, py_converter
from tvm.relay.testing.temp_op_attr import TempOpAttr
from tvm.relay.testing.init import Xavier
from tvm.relay.testing.nat import count, make_nat_value, make_nat_expr
from tvm.relay.testing.py_converter import to_python, run_as_python
from tvm.relay.testing.byoc import CcompilerAnnotator
from tvm.relay.testing.resnet import get_workload
from tvm.relay.prelude import Prelude, StaticTensorArrayOps, TensorArrayOps, get_tensor_array_shape
from tvm.relay.scope_builder import ScopeBuilder
from tvm.relay.backend.interpreter import ConstructorValue, RefValue
from tvm.relay.backend.vm import VMCompiler, VMExecutor
from tvm.relay.backend import vm, Executor, Runtime, te_compiler, interpreter, graph_executor_codegen, executor_factory, aot
from tvm.relay.backend.te_compiler import TECompiler, get
from tvm.relay.backend.executor import Executor
from tvm.relay.backend.runtime import Runtime
from tvm.relay.backend.executor_factory import AOTExecutorFactoryModule
from tvm.relay.backend.graph_executor_codegen import GraphExecutorCodegen
from tvm.relay.backend.name_transforms import to_c_function_style
from tvm.relay.backend.utils import mangle_module_name
from tvm.relay.build_module import bind_params_by_name, BuildModule, create_executor, build
from tvm.relay.loops import while_loop
from tvm.relay.dataflow_pattern import *
from tvm.relay.dataflow_pattern import is_op, wildcard, TuplePattern, rewrite, DFPatternCallback
from tvm.relay.op import register_alter_op_layout, register_legalize, register_compute, register_strategy, register_gradient, register_shape_func, register_pattern, OpPattern, OpStrategy, register_schedule, register_injective_schedule, register_broadcast_schedule
from tvm.relay.op.op import register, OpPattern
from tvm.relay.op.annotation import compiler_begin, compiler_end, on_device, stop_fusion
from tvm.relay.op.contrib import register_pattern_table, get_pattern_table
from tvm.relay.op.contrib.dnnl import pattern_table
from tvm.relay.op.contrib.register import register_pattern_table
from tvm.relay.op.contrib import dnnl, arm_compute_lib, tensorrt, cutlass, ethosn, cmsisnn
from tvm.relay.op.strategy import *
from tvm.relay.op.transform import strided_slice
from tvm.relay.op.tensor import add
from tvm.relay.op.nn import dense, conv2d
from tvm.relay.op.nn.nn import batch_flatten
from tvm.relay.op.nn.utils import get_pad_tuple2d
from tvm.relay.op import op as reg
from tvm.relay.op import _tensor
import tvm.relay.op as reg
import tvm.relay.transform
from tvm.relay.quantize import quantize as qtz
from tvm.relay.quantize._annotate import attach_simulated_quantize, QAnnotateKind
from tvm.relay import quantize
from tvm.relay.qnn.op import register_qnn_legalize, legalizations, canonicalizations
from tvm.relay.qnn.op.canonicalizations import create_integer_lookup_table, create_integer_lookup_op
from tvm.relay.qnn.op.legalizations import conv2d
from tvm.relay.qnn import transform as qt
from tvm.relay.collage import MockCostEstimator, CollagePartition, CustomCostEstimator
from tvm.relay.data_dep_optimization import simplify_fc_transpose, bsr_dense, bsr_conv2d
from tvm.relay.expr_functor import ExprFunctor, ExprMutator, ExprVisitor
from tvm.relay.type_functor import TypeFunctor, TypeVisitor, TypeMutator
from tvm.relay.expr import Call, TupleGetItem, Var, Constant, Expr, ExprWithOp, TupleWrapper, If, Let, RefCreate
from tvm.relay.function import Function, FunctionWithFields
from tvm.relay.adt import TypeData, Match, Clause, Constructor, PatternVar
from tvm.relay.ty import TupleType, FuncType, TypeRelation, IncompleteType, TypeCall, TypeVar, TensorType, scalar_type
from tvm.relay.frontend import from_onnx, from_pytorch, from_tensorflow, from_tflite, from_keras
from tvm.relay.frontend.common import StrAttrsDict, set_span, infer_shape, infer_type, infer_value
from tvm.relay.frontend.change_datatype import ChangeDatatype
from tvm.relay.frontend.common import infer_value
from tvm.relay import std
from tvm.relay.std import *
from tvm.script import tir as T
from tvm.script import relax
from tvm.parser import parse
import tvm.micro
from tvm.micro import export_model_library_format
from tvm.relay.parser import SpanCheck
from tvm.testing.plugin import *
from tvm.testing.utils import requires_llvm
from tvm.testing.aot import AOTTestModel
from tvm.utils import roofline
from tvm.relay.base import register_relay_node
from tvm.relay.backend import _backend
from tvm.relay.op.image import resize2d
from tvm.relay.op.vision import *
from tvm.relay.op.random import threefry_key
from tvm.relay.op import dyn
from tvm.relay.op.dyn import nn
from tvm.relay.op.dyn.nn import pad
from tvm.rpc import RPCSession
from tvm.target import Target
from tvm.relay.testing.tflite import TFLiteModel
from tvm.arith import Analyzer
from tvm.relay.testing.darknet import *
from tvm.relay import TypeConstraint, TypeRelation, SequentialSpan, SpanCheck, StorageInfo, StaticMemoryPlan, TupleWrapper, ConstantWithFields, FunctionWithFields, Id
"""


@pytest.mark.parametrize("line", LINES.strip().splitlines())
def test_import(line):
    exec(line, {})


@pytest.mark.parametrize(
    "use",
    [
        "from tvm.relay.op.contrib import tensorrt; tensorrt.partition_for_tensorrt(None)",
        "from tvm.script import tir as T; T.prim_func(len)",
        "from tvm.relay.transform import ManifestAlloc; ManifestAlloc()",
        "from tvm.relay.build_module import BuildModule; BuildModule()",
        "import tvm.unheard_of as u; u.name()",
        "from tvm.topi.cuda import schedule; schedule[0]",
    ],
)
def test_use(use):
    with pytest.raises(NotImplementedError, match="Relay has no"):
        exec(use, {})
