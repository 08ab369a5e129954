// Kernels whose object files are found in a store instead of being compiled.
#include <gtest/gtest.h>
#include <llvm/TargetParser/Host.h>

#include <cstring>
#include <map>
#include <mutex>

#include "relay/codegen/llvm/llvm.h"
#include "relay/codegen/llvm/renamed.h"
#include "relay/loop/kernel_text.h"

namespace relay::codegen {
namespace {

class Shelf : public ObjectStore {
 public:
  std::optional<std::string> find(const std::string& key, Tier tier) override {
    std::lock_guard<std::mutex> lock(mutex_);
    const auto known = objects.find({key, tier});
    return known == objects.end() ? std::nullopt : std::optional(known->second);
  }
  void keep(const std::string& key, Tier tier, const std::string& object) override {
    std::lock_guard<std::mutex> lock(mutex_);
    objects[{key, tier}] = object, ++kept;
  }
  std::map<std::pair<std::string, Tier>, std::string> objects;
  int kept = 0;

 private:
  std::mutex mutex_;
};

TargetDesc here() {
  TargetDesc target;
  target.name = "here", target.triple = llvm::sys::getProcessTriple(), target.cpu = llvm::sys::getHostCPUName().str();
  target.triple = target.triple.starts_with("x86_64") ? "x86_64-unknown-linux-gnu" : target.triple;
  return target;
}

loop::Kernel add_number(const std::string& name, int number) {
  Result<loop::Kernel> made = loop::parse_kernel(format(
      "kernel {}(x: float32[n] read, y: float32[n]), shape (n), task i < n {{ y[i] = x[i] + {}f }}", name, number));
  RELAY_CHECK(made, "{}", render(made.errors()));
  return *made;
}

float run(const KernelLibrary& library, const std::string& name, float x) {
  float y = 0;
  void* params[] = {&x, &y};
  const int64_t n = 1;
  const KernelFn kernel = library.find(name);
  RELAY_CHECK(kernel, "there is no kernel {}", name);
  kernel(params, &n, 0, 1, nullptr);
  return y;
}

TEST(ObjectStore, EqualKernelsAreCompiledOnce) {
  const std::shared_ptr<Shelf> shelf = std::make_shared<Shelf>();
  for (int turn = 0; turn < 3; ++turn) {
    // Other names each time; the last turn has a kernel more. Half of the kernels begin early.
    std::vector<loop::Kernel> kernels;
    for (int i = 0; i < 4 + (turn == 2); ++i) kernels.push_back(add_number(format("k{}_{}", turn, i), i));
    const std::unique_ptr<Backend> backend = llvm_backend(here(), 1 + turn, Tier::Full, most_fast_operations, shelf);
    for (size_t i = 0; i < 2; ++i) {
      const std::string text = loop::text_without_name(kernels[i]);
      ASSERT_TRUE(backend->check(kernels[i], text));
      backend->begin(kernels[i], text);
    }
    const Result<std::shared_ptr<KernelLibrary>> library = backend->compile(kernels, nullptr);
    ASSERT_TRUE(library) << render(library.errors());
    for (size_t i = 0; i < kernels.size(); ++i)
      EXPECT_EQ(run(**library, kernels[i].name, 1), 1 + static_cast<float>(i));
    EXPECT_EQ(shelf->kept, turn == 2 ? 5 : 4);
  }
}

TEST(ObjectStore, FilesAreTheSameFromIt) {
  const std::shared_ptr<Shelf> shelf = std::make_shared<Shelf>();
  const std::vector<loop::Kernel> kernels = {add_number("one", 1), add_number("two", 2)};
  std::vector<std::string> files;
  for (int turn = 0; turn < 2; ++turn)
    for (const CodeForm form : {CodeForm::SharedLibrary, CodeForm::Archive, CodeForm::Object}) {
      Result<std::string> file =
          llvm_backend(here(), 2, Tier::Full, most_fast_operations, shelf)->emit(kernels, nullptr, form);
      ASSERT_TRUE(file) << render(file.errors());
      EXPECT_NE(file->find("two"), std::string::npos);
      files.push_back(*std::move(file));
    }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(files[i], files[3 + i]);
}

TEST(ObjectStore, FullCodeServesForFastCodeAndNotTheOtherWayRound) {
  const std::shared_ptr<Shelf> shelf = std::make_shared<Shelf>();
  const std::vector<loop::Kernel> kernels = {add_number("one", 1)};
  auto compile = [&](Tier tier) {
    EXPECT_TRUE(llvm_backend(here(), 1, tier, most_fast_operations, shelf)->compile(kernels, nullptr));
    return shelf->kept;
  };
  EXPECT_EQ(compile(Tier::Fast), 1);
  EXPECT_EQ(compile(Tier::Fast), 1);
  EXPECT_EQ(compile(Tier::Full), 2);
  shelf->objects.erase(shelf->objects.begin());  // the fast code
  EXPECT_EQ(compile(Tier::Fast), 2);
}

// A damaged store costs time, and nothing else.
TEST(ObjectStore, WhatIsNoObjectFileIsCompiledAgain) {
  const std::shared_ptr<Shelf> shelf = std::make_shared<Shelf>();
  const std::vector<loop::Kernel> kernels = {add_number("one", 1)};
  auto compile = [&] {
    const Result<std::shared_ptr<KernelLibrary>> library =
        llvm_backend(here(), 1, Tier::Full, most_fast_operations, shelf)->compile(kernels, nullptr);
    RELAY_CHECK(library, "{}", render(library.errors()));
    EXPECT_EQ(run(**library, "one", 4), 5);
    return shelf->kept;
  };
  EXPECT_EQ(compile(), 1);
  std::string& object = shelf->objects.begin()->second;
  const std::string good = object;
  object = "";
  EXPECT_EQ(compile(), 2);
  object = "not an object file";
  EXPECT_EQ(compile(), 3);
  object = good.substr(0, 64);
  EXPECT_EQ(compile(), 4);
  EXPECT_EQ(compile(), 4);
}

TEST(Renamed, ChangesOneNameOnly) {
  const Result<std::string> object = object_file(std::vector<loop::Kernel>{add_number("first", 1)}, here());
  ASSERT_TRUE(object);
  EXPECT_FALSE(renamed(*object, "second", "x"));
  for (const std::string name : {"y", "a_much_longer_name_than_before"}) {
    const std::optional<std::string> other = renamed(*object, "first", name);
    ASSERT_TRUE(other);
    EXPECT_FALSE(renamed(*other, "first", "x"));
    EXPECT_TRUE(renamed(*other, name, "first"));
  }
  for (size_t bytes = 0; bytes < object->size(); bytes += 7) (void)renamed(object->substr(0, bytes), "first", "x");
}

// A sum of which an instruction is carried out 64 * `serial` times.
loop::Kernel sums(int serial, int unrolled) {
  Result<loop::Kernel> made =
      loop::parse_kernel(format("kernel sums(x: float32[4096] read, y: float32[64]), shape (), task i < 64 {{\n"
                                "  for s in 0..{} {{ for u in 0..{} unrolled {{ y[i] = y[i] + x[u] }} }}\n}}",
                                serial, unrolled));
  RELAY_CHECK(made, "{}", render(made.errors()));
  return *made;
}

// The tier of the code that a backend for the first runs makes.
Tier tier_at_first(const loop::Kernel& kernel) {
  const std::shared_ptr<Shelf> shelf = std::make_shared<Shelf>();
  EXPECT_TRUE(llvm_backend(here(), 1, Tier::Fast, most_fast_operations, shelf)->compile({&kernel, 1}, nullptr));
  RELAY_CHECK(shelf->objects.size() == 1, "{} kernels", shelf->objects.size());
  return shelf->objects.begin()->first.second;
}

TEST(ObjectStore, KernelsThatRepeatTheirInstructionsOftenHaveFullCodeAtOnce) {
  EXPECT_EQ(tier_at_first(sums(100, 1)), Tier::Fast);
  EXPECT_EQ(tier_at_first(sums(1000000, 1)), Tier::Full);
  EXPECT_EQ(tier_at_first(sums(500, 2000)), Tier::Fast) << "as many operations, but more to compile";
}

}  // namespace
}  // namespace relay::codegen
