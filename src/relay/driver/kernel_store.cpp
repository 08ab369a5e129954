#include "relay/driver/kernel_store.h"

#include <list>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "relay/base/fork_guard.h"

namespace relay::driver {

namespace {

// The most recently used files of this process.
class Memory {
 public:
  static Memory& shared() {
    static Memory* const one = new Memory;  // compilations may go on while the process ends
    return *one;
  }
  std::optional<std::string> find(const std::string& key) {
    const ForkSafeLock lock(mutex_);
    const auto known = by_key_.find(key);
    if (known == by_key_.end()) return std::nullopt;
    recent_.splice(recent_.begin(), recent_, known->second);
    return known->second->object;
  }
  void keep(const std::string& key, const std::string& object) {
    const ForkSafeLock lock(mutex_);
    if (by_key_.contains(key) || object.size() > most_bytes) return;
    recent_.push_front({key, object});
    by_key_[key] = recent_.begin();
    bytes_ += object.size();
    while (bytes_ > most_bytes) {
      bytes_ -= recent_.back().object.size();
      by_key_.erase(recent_.back().key);
      recent_.pop_back();
    }
  }

 private:
  static constexpr size_t most_bytes = size_t{32} << 20;
  std::mutex mutex_;  // guards the following
  std::list<cache::CachedKernel> recent_;
  std::unordered_map<std::string, std::list<cache::CachedKernel>::iterator> by_key_;
  size_t bytes_ = 0;
};

class Store final : public codegen::ObjectStore {
 public:
  Store(std::string target, OpenCache open) : target_(std::move(target)), open_(std::move(open)) {}
  ~Store() override {
    const ForkGuard guard;
    if (new_.empty() && used_.empty() && taken_ == 0) return;
    cache::Cache* const keeps = this->cache();
    if (!keeps) return;
    (void)keeps->keep_kernels(new_, used_);  // else compiled again next time
    if (taken_ > 0) (void)keeps->count_taken(package_->folder(), taken_);
  }

  std::optional<std::string> find(const std::string& key, runtime::Tier tier) override {
    const std::string mine = of_target(key, tier);
    std::optional<std::string> object = Memory::shared().find(mine);
    if (object || tier == runtime::Tier::Fast) return object;
    const ForkSafeLock lock(mutex_);
    if (cache::Cache* package = this->package()) {
      Result<std::optional<std::string>> kept = package->find_kernel(mine);
      if (kept && *kept) {
        Memory::shared().keep(mine, **kept);
        ++taken_;
        return *std::move(*kept);
      }
    }
    if (cache::Cache* cache = this->cache()) {
      Result<std::optional<std::string>> kept = cache->find_kernel(mine);
      if (kept && *kept) {
        Memory::shared().keep(mine, **kept);
        used_.push_back(mine);
        return *std::move(*kept);
      }
    }
    return std::nullopt;
  }

  // Full code replaces fast code soon, so the cache has only the former.
  void keep(const std::string& key, runtime::Tier tier, const std::string& object) override {
    const std::string mine = of_target(key, tier);
    Memory::shared().keep(mine, object);
    if (tier == runtime::Tier::Fast) return;
    const ForkSafeLock lock(mutex_);
    if (open_) new_.push_back({mine, object});
  }

 private:
  std::string of_target(const std::string& key, runtime::Tier tier) const {
    return format("{} {} {}", key, runtime::name(tier), target_);
  }
  // Null if there is none, or it cannot be used.
  cache::Cache* cache() {
    if (!open_ || cache_) return cache_.get();
    if (Result<std::unique_ptr<cache::Cache>> opened = open_())
      cache_ = *std::move(opened);
    else
      open_ = nullptr;
    return cache_.get();
  }

  // The same for the package. One that is being written needs all kernels, whatever another one has.
  cache::Cache* package() {
    if (looks_for_package_) {
      looks_for_package_ = false;
      const std::optional<std::string> path = cache::default_kernel_package();
      const cache::Cache* const keeps = this->cache();
      if (path && !(keeps && keeps->is_package()))
        if (Result<std::unique_ptr<cache::Cache>> opened = cache::Cache::open_package(*path))
          package_ = *std::move(opened);
    }
    return package_.get();
  }

  const std::string target_;
  OpenCache open_;
  std::mutex mutex_;  // guards the following
  std::unique_ptr<cache::Cache> cache_, package_;
  bool looks_for_package_ = true;
  int64_t taken_ = 0;  // kernels of the package
  std::vector<cache::CachedKernel> new_;
  std::vector<std::string> used_;
};

}  // namespace

std::optional<std::string> problem_of_kernel_package() {
  const std::optional<std::string> path = cache::default_kernel_package();
  if (!path) return std::nullopt;
  const Result<std::unique_ptr<cache::Cache>> opened = cache::Cache::open_package(*path);
  return opened ? std::nullopt : std::optional(opened.errors()[0].message);
}

std::shared_ptr<codegen::ObjectStore> kernel_store(const TargetDesc& target, OpenCache open) {
  return std::make_shared<Store>(target_key(target), std::move(open));
}

}  // namespace relay::driver
