// Fast and full code compute the same bits, and are exchanged between runs.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include "relay/base/sanitizer.h"
#include "relay/codegen/llvm/llvm.h"
#include "relay/driver/compile.h"
#include "relay/driver/targets.h"
#include "relay/driver/test_networks.h"
#include "relay/loop/random_kernel.h"
#include "relay/runtime/test_programs.h"

namespace relay::driver {
namespace {

using runtime::Executable;
using Code = runtime::Tier;

Options with_tier(Tier tier) {
  Options options;
  options.lower.target = *find_target("native");
  options.run.tier = tier;
  return options;
}

std::shared_ptr<Executable> compiled(const ir::Module& module, Tier tier) {
  Result<Compiled> made = compile(module, with_tier(tier));
  RELAY_CHECK(made, "{}", render(made.errors()));
  return made->executable;
}

std::vector<Tensor> run(Executable& model, const Tensor& x) {
  Result<std::vector<Tensor>> results = model.run({&x, 1});
  RELAY_CHECK(results, "{}", render(results.errors()));
  return *results;
}

bool same_bits(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  bool same = a.size() == b.size();
  for (size_t i = 0; same && i < a.size(); ++i)
    same = a[i].bytes() == b[i].bytes() && std::memcmp(a[i].data(), b[i].data(), a[i].bytes()) == 0;
  return same;
}

// All kernels with fast code, also those with much work.
TEST(Tiers, ComputeTheSameBits) {
  const TargetDesc target = *find_target("native");
  for (const Network& network : networks) {
    const Result<Compiled> made = compile(module_of(network), with_tier(Tier::Full));
    ASSERT_TRUE(made) << render(made.errors());
    Executable& model = *made->executable;
    const Tensor x = values(network.input, 7);
    const std::vector<Tensor> full = run(model, x);
    const std::shared_ptr<codegen::Backend> backend = codegen::llvm_backend(target, 2, Code::Fast, INFINITY);
    const Result<std::shared_ptr<codegen::KernelLibrary>> library = backend->compile(made->built.kernels, nullptr);
    ASSERT_TRUE(library) << render(library.errors());
    ASSERT_TRUE(model.code()->exchange(*library, Code::Fast));
    EXPECT_EQ(model.tier(), Code::Fast);
    EXPECT_TRUE(same_bits(run(model, x), full)) << network.name;
  }
}

TEST(Tiers, ComputeTheSameBitsInRandomKernels) {
  const TargetDesc target = *find_target("native");
  for (uint64_t seed = 0; seed < 100; ++seed) {
    const loop::Kernel kernel = loop::random_kernel(seed);
    constexpr int64_t rows = 5;
    std::mt19937_64 random(seed);
    std::normal_distribution<float> number;
    std::vector<float> x(rows * 24), start(rows * 24);
    std::vector<int32_t> index(24);
    for (float& v : x) v = number(random);
    for (float& v : start) v = number(random);
    for (int32_t& i : index) i = static_cast<int32_t>(random() % 24);
    std::vector<std::vector<float>> y;
    std::vector<std::vector<int32_t>> z;
    for (Code tier : {Code::Fast, Code::Full}) {
      const std::shared_ptr<codegen::Backend> backend = codegen::llvm_backend(target, 1, tier, INFINITY);
      const Result<std::shared_ptr<codegen::KernelLibrary>> library = backend->compile({&kernel, 1}, nullptr);
      ASSERT_TRUE(library) << render(library.errors());
      y.push_back(start), z.emplace_back(rows * 24, 3);
      void* params[] = {x.data(), index.data(), y.back().data(), z.back().data()};
      std::vector<std::byte> scratch(static_cast<size_t>(codegen::scratch_bytes(kernel)) + 64);
      void* aligned = reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) / 64 * 64);
      (*library)->find(kernel.name)(params, &rows, 0, rows, aligned);
    }
    EXPECT_EQ(std::memcmp(y[0].data(), y[1].data(), y[0].size() * 4), 0) << "seed " << seed;
    EXPECT_EQ(z[0], z[1]) << "seed " << seed;
  }
}

const Network& network(const std::string& name) {
  for (const Network& n : networks)
    if (n.name == name) return n;
  RELAY_CHECK(false, "no network {}", name);
}

TEST(Tiers, AreExchangedBetweenRuns) {
  Network net = network("several results of rows");
  net.input[0] += 7;  // this process has no full code of its kernels yet
  const std::shared_ptr<Executable> model = compiled(module_of(net), Tier::Auto);
  const Tensor x = values(net.input, 7);
  const std::vector<Tensor> first = run(*model, x);
  EXPECT_EQ(model->tier(), Code::Fast) << "one run needs no better code";
  ASSERT_TRUE(model->wait_for_upgrade());
  EXPECT_EQ(model->tier(), Code::Full);
  EXPECT_TRUE(same_bits(run(*model, x), first));
  EXPECT_TRUE(model->wait_for_upgrade()) << "a second time";
}

// Full code that the process has already serves the first run as well.
TEST(Tiers, AreFullIfAllKernelsAre) {
  Network net = network("several results of rows");
  net.input[0] += 9;
  EXPECT_EQ(compiled(module_of(net), Tier::Full)->tier(), Code::Full);
  EXPECT_EQ(compiled(module_of(net), Tier::Auto)->tier(), Code::Full);
  EXPECT_EQ(compiled(module_of(net), Tier::Fast)->tier(), Code::Fast);
}

TEST(Tiers, TheSecondRunBeginsTheWork) {
  const Network& net = network("pool");
  const std::shared_ptr<Executable> model = compiled(module_of(net), Tier::Auto);
  const Tensor x = values(net.input, 7);
  const std::vector<Tensor> first = run(*model, x);
  for (int i = 0; i < 10000 && model->tier() == Code::Fast; ++i) {
    EXPECT_TRUE(same_bits(run(*model, x), first));
    usleep(1000);
  }
  EXPECT_EQ(model->tier(), Code::Full);
}

TEST(Tiers, AModelIsDestroyedWhileItsCodeIsCompiled) {
  const Network& net = network("sliding");
  const ir::Module module = module_of(net);
  const Tensor x = values(net.input, 7);
  for (int i = 0; i < 4; ++i) {
    const std::shared_ptr<Executable> model = compiled(module, Tier::Auto);
    for (int r = 0; r < 2 + i; ++r) run(*model, x);
  }
}

TEST(Tiers, ManyThreadsRunDuringTheExchange) {
  const Network& net = network("several results of rows");
  const std::shared_ptr<Executable> model = compiled(module_of(net), Tier::Auto);
  const Tensor x = values(net.input, 7);
  const std::vector<Tensor> first = run(*model, x);
  std::atomic<bool> stop{false};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      while (!stop) wrong += !same_bits(run(*model, x), first);
    });
  EXPECT_TRUE(model->wait_for_upgrade());
  stop = true;
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(model->tier(), Code::Full);
}

// A program of hand-written kernels that claims to have fast code.
std::shared_ptr<Executable> by_hand() {
  Result<std::shared_ptr<Executable>> made =
      Executable::create(runtime::chain_program(2), runtime::hand_library(), {.tier = Code::Fast});
  RELAY_CHECK(made, "{}", render(made.errors()));
  return *made;
}
std::vector<Tensor> run_by_hand(Executable& model) {
  const Tensor inputs[] = {runtime::iota({2, 3}), runtime::iota({2, 3})};
  Result<std::vector<Tensor>> results = model.run(inputs);
  RELAY_CHECK(results, "{}", render(results.errors()));
  return *results;
}

TEST(Tiers, AnErrorLeavesTheFastCode) {
  const std::shared_ptr<Executable> model = by_hand();
  const std::vector<Tensor> first = run_by_hand(*model);
  model->set_upgrade(upgrade(model->code(), []() -> Result<std::shared_ptr<const runtime::KernelLibrary>> {
    return Diagnostic{DiagnosticKind::out_of_memory, "no memory for code"};
  }));
  const Status status = model->wait_for_upgrade();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.errors()[0].message, "no memory for code");
  EXPECT_EQ(model->tier(), Code::Fast);
  EXPECT_TRUE(same_bits(run_by_hand(*model), first));
}

TEST(Tiers, AnExceptionReachesTheOneWhoWaits) {
  const std::shared_ptr<Executable> model = by_hand();
  model->set_upgrade(upgrade(model->code(), []() -> Result<std::shared_ptr<const runtime::KernelLibrary>> {
    throw std::runtime_error("a bug");
  }));
  EXPECT_THROW((void)model->wait_for_upgrade(), std::runtime_error);
  run_by_hand(*model);
  EXPECT_EQ(model->tier(), Code::Fast);
}

TEST(Tiers, CodeWithoutAKernelIsRefused) {
  const std::shared_ptr<Executable> model = by_hand();
  model->set_upgrade(upgrade(model->code(), []() -> Result<std::shared_ptr<const runtime::KernelLibrary>> {
    return std::shared_ptr<const runtime::KernelLibrary>(
        std::make_shared<runtime::HandLibrary>(std::map<std::string, runtime::KernelFn>{}));
  }));
  const Status status = model->wait_for_upgrade();
  ASSERT_FALSE(status);
  EXPECT_EQ(status.errors()[0].kind, DiagnosticKind::corrupt_file);
  run_by_hand(*model);
}

// The thread that compiles does not exist in the child, which begins again.
TEST(Tiers, AForkedChildCompilesItsOwnCode) {
  if (has_thread_sanitizer) GTEST_SKIP() << "the thread sanitizer allows no threads after a fork";
  const Network& net = network("sliding");
  const std::shared_ptr<Executable> model = compiled(module_of(net), Tier::Auto);
  const Tensor x = values(net.input, 7);
  const std::vector<Tensor> first = run(*model, x);
  run(*model, x);  // begins the work
  const pid_t child = fork();
  if (child == 0) {
    alarm(120);
    const bool same = same_bits(run(*model, x), first) && model->wait_for_upgrade() && model->tier() == Code::Full &&
                      same_bits(run(*model, x), first);
    compiled(module_of(network("pool")), Tier::Full);  // the compiler works as well
    _exit(same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(model->wait_for_upgrade());
}

// Saved models have full code, whatever the tier of the one that runs.
TEST(Tiers, ASavedModelHasFullCode) {
  const ir::Module module = module_of(network("pool"));
  std::vector<std::string> code;
  for (Tier tier : {Tier::Fast, Tier::Full}) {
    const Result<Compiled> made = compile(module, with_tier(tier));
    ASSERT_TRUE(made) << render(made.errors());
    const std::string path = format("{}/tiers_{}.rart", testing::TempDir(), name(tier));
    ASSERT_TRUE(save(*made, FileForm::Artifact, path));
    const Result<runtime::Artifact> artifact = runtime::open_artifact(path);
    ASSERT_TRUE(artifact) << render(artifact.errors());
    code.emplace_back(artifact->code);
    unlink(path.c_str());
  }
  EXPECT_EQ(code[0], code[1]);
}

}  // namespace
}  // namespace relay::driver
