// The register tile of a matrix product: its assembly, its result, its speed.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <random>

#include "relay/target/x86/x86.h"

namespace relay::target {
namespace {

using namespace relay::loop;
using scalar::imm;

TargetDesc describe(const char* text) {
  Result<TargetDesc> t = x86().describe(text);
  EXPECT_TRUE(t) << render(t ? Diagnostics{} : t.errors());
  return *t;
}

// C[M, N] = A[M, K] * B[K, N] by tiles of rows x (vectors * lanes); a task is one tile of rows.
Kernel matmul(int64_t m, int64_t n, int64_t k, int64_t rows, int64_t vectors, int64_t lanes) {
  Kernel kernel;
  kernel.name = "matmul";
  BufferRef a = buffer("A", DType::float32(), {imm(m), imm(k)}, Scope::Param);
  BufferRef b = buffer("B", DType::float32(), {imm(n / (vectors * lanes)), imm(k), imm(vectors * lanes)}, Scope::Param);
  BufferRef c = buffer("C", DType::float32(), {imm(m), imm(n)}, Scope::Param);
  BufferRef acc = buffer("acc", DType::float32(), {imm(rows), imm(vectors * lanes)}, Scope::Register);
  kernel.params = {a, b, c};
  kernel.task = scalar::var("t");
  kernel.tasks = imm(m / rows);
  Expr t = kernel.task, j = scalar::var("j"), kk = scalar::var("k");
  auto tile = [&](auto body) {
    Expr i = scalar::var("i"), v = scalar::var("v"), l = scalar::var("l");
    Stmt inner = for_(l, imm(0), imm(lanes), ForKind::Vectorised, body(i, v * lanes + l));
    return for_(i, imm(0), imm(rows), ForKind::Unrolled, for_(v, imm(0), imm(vectors), ForKind::Unrolled, inner));
  };
  Stmt zero = tile([&](Expr i, Expr x) { return store(acc, {i, x}, scalar::fimm(0)); });
  Stmt step = tile([&](Expr i, Expr x) {
    return store(acc, {i, x}, scalar::load(acc, {i, x}) + scalar::load(a, {t * rows + i, kk}) * scalar::load(b, {j, kk, x}));
  });
  Stmt finish = tile([&](Expr i, Expr x) {
    return store(c, {t * rows + i, j * (vectors * lanes) + x}, scalar::max(scalar::load(acc, {i, x}), scalar::fimm(0)));
  });
  Stmt body = alloc(acc, block({zero, for_(kk, imm(0), imm(k), ForKind::Serial, step), finish}));
  kernel.body = for_(j, imm(0), imm(n / (vectors * lanes)), ForKind::Serial, body);
  return kernel;
}

TEST(Matmul, Speed) {
  TargetDesc t = describe("native");
  Kernel k = matmul(14 * 9, 32 * 24, 768, 14, 2, 16);
  if (getenv("SHOW")) {
    puts(str(k).c_str());
    puts(str(codegen::prepare(k, t)).c_str());
    Result<std::string> ir = codegen::llvm_text(k, t);
    puts(ir->c_str());
    puts(codegen::assembly_text(k, t)->c_str());
  }
  auto start = std::chrono::steady_clock::now();
  std::vector<Kernel> many{k};
  Result<std::shared_ptr<codegen::KernelLibrary>> first = codegen::jit(many, t);
  ASSERT_TRUE(first) << render(first.errors());
  auto second = std::chrono::steady_clock::now();
  Result<std::shared_ptr<codegen::KernelLibrary>> library = codegen::jit(many, t);
  auto third = std::chrono::steady_clock::now();
  printf("first %f ms, second %f ms\n", std::chrono::duration<double>(second - start).count() * 1e3, std::chrono::duration<double>(third - second).count() * 1e3);
  codegen::KernelFn fn = (*library)->find("matmul");
  ASSERT_NE(fn, nullptr);
  int64_t M = 14 * 9, N = 32 * 24, K = 768;
  std::vector<float> A(M * K), B(K * N), C(M * N);
  std::mt19937 random(1);
  for (float& x : A) x = std::uniform_real_distribution<float>(-1, 1)(random);
  for (float& x : B) x = std::uniform_real_distribution<float>(-1, 1)(random);
  void* params[] = {A.data(), B.data(), C.data()};
  double best = 1e9;
  for (int i = 0; i < 20; ++i) {
    auto begin = std::chrono::steady_clock::now();
    fn(params, nullptr, 0, 9, nullptr);
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  printf("%f GFLOP/s\n", 2.0 * M * N * K / best * 1e-9);
  for (int64_t y = 0; y < M; y += 13)
    for (int64_t x = 0; x < N; x += 17) {
      double sum = 0;
      for (int64_t q = 0; q < K; ++q) sum += double(A[y * K + q]) * B[(x / 32 * K + q) * 32 + x % 32];
      ASSERT_NEAR(C[y * N + x], std::max(0.0, sum), 1e-3) << y << " " << x;
    }
}

}  // namespace
}  // namespace relay::target
