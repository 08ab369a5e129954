#include "relay/op/sort/radix.h"

namespace relay::op {

namespace {

constexpr int digit_bits = 8;
constexpr int64_t digits = int64_t{1} << digit_bits;
// The highest bits of all words, which determine the buckets. Fewer bits distinguish floats too little: sign and
// exponent alone take 12 bits of a double. With more bits the counts no longer fit in the L1 cache.
constexpr int high_bits = 14;
constexpr int64_t highs = int64_t{1} << high_bits;
// Each bucket is another place in memory that is written to, and another page to translate: 256 take a quarter more
// time than 64, 2048 four times as much (Emerald Rapids, 10^6 words). A bucket number is a byte.
constexpr int64_t buckets = 256;
// Up to this number, words and as many more stay in the L2 cache of every described processor, and buckets save
// nothing. They are sorted through a small array, which stays in the cache from bucket to bucket.
constexpr int64_t few_words = 1 << 15;
// The most steps back of a word in the walk; so few words are never sorted by digits.
constexpr int64_t furthest = 16;
constexpr int64_t lanes = 8;

const DType i64 = DType::int64();

Expr bit_and(const Expr& a, int64_t mask) { return scalar::binary(BinaryOp::BitAnd, a, dim(mask)); }
// A shift by at most 63, made explicit so that no code is generated for more.
Expr shifted(const Expr& a, const Expr& by) { return scalar::binary(BinaryOp::Shr, a, bit_and(by, 63)); }

Stmt clear(const BufferRef& counts, int64_t size) {
  return each("line", dim(size / lanes), [&](const Expr& line) {
    const Expr lane = scalar::var("lane");
    const Stmt zero = loop::store(counts, {line * lanes + lane}, imm(0, counts->dtype));
    return loop::for_(lane, dim(0), dim(lanes), loop::ForKind::Vectorised, zero);
  });
}

// The work on one line. Its steps share buffers and cells.
class Work {
 public:
  explicit Work(const RadixSort& sort) : sort_(sort), n_(sort.count) {}

  Stmt all() const {
    const Stmt sorted = with_cell("many", dim(1), [&](const Cell& many) {
      const Stmt prepared = loop::if_(lt(dim(few_words), n_), distribute(many), one_bucket());
      return loop::block({prepared, finish_all(many)});
    });
    Stmt s = sorted;
    for (const BufferRef& b : {tops_, bases_, begins_, counts_, small_}) s = loop::alloc(b, s);
    return loop::if_(lt(dim(0), n_), s);
  }

 private:
  Expr load(const Expr& k) const { return scalar::load(sort_.result, sort_.at(dim(0), k)); }
  Stmt store(const Expr& k, const Expr& word) const { return loop::store(sort_.result, sort_.at(dim(0), k), word); }
  Expr lowest() const { return sort_.lowest ? sort_.lowest : dim(0); }
  Expr number(const Expr& word) const {
    return word->dtype.bits == 64 ? scalar::reinterpret(i64, word) : cast(i64, word);
  }
  Expr before(const Expr& a, const Expr& b) const { return sort_.before ? sort_.before(a, b) : lt(a, b); }
  Expr at(const BufferRef& table, const Expr& k) const { return cast(i64, scalar::load(table, {k})); }

  // Makes everything the first bucket, in half 0.
  Stmt one_bucket() const {
    const Stmt copy = each("i", n_, [&](const Expr& i) { return store(i, sort_.first(i)); });
    return loop::block({loop::store(begins_, {dim(0)}, dim(0)), loop::store(begins_, {dim(1)}, n_),
                        loop::store(bases_, {dim(0)}, dim(0)), loop::store(tops_, {dim(0)}, sort_.highest), copy});
  }

  // Counts the words for each value of their highest bits, and moves them to their buckets.
  Stmt distribute(const Cell& many) const {
    const BufferRef high = loop::buffer("high", DType::int32(), {dim(highs)}, loop::Scope::Scratch);
    const BufferRef bucket = loop::buffer("bucket", DType::uint8(), {dim(highs)}, loop::Scope::Scratch);
    const Stmt steps = let("shift", max(sort_.highest - high_bits, dim(0)), [&](const Expr& shift) {
      auto value = [&](const Expr& word) { return bit_and(shifted(number(word), shift), highs - 1); };
      const Stmt count = each("i", n_, [&](const Expr& i) {
        return let("value", value(sort_.first(i)),
                   [&](const Expr& v) { return loop::store(high, {v}, scalar::load(high, {v}) + 1); });
      });
      const Stmt move = let("wanted", many.get(), [&](const Expr& wanted) {
        return each("i", n_, [&](const Expr& i) {
          return let("word", sort_.first(i), [&](const Expr& word) {
            return let("to", at(bucket, value(word)), [&](const Expr& to) {
              const Stmt one = let("place", at(offsets_, to), [&](const Expr& place) {
                return loop::block({store(place, word), loop::store(offsets_, {to}, place + 1)});
              });
              return sort_.needed ? loop::if_(lt(to, wanted), one) : one;
            });
          });
        });
      });
      return loop::block({clear(high, highs), count, choose_buckets(high, bucket, shift, many), move});
    });
    return loop::alloc(high, loop::alloc(bucket, loop::alloc(offsets_, steps)));
  }

  // A bucket begins where the preceding words fill another equal part of all words.
  Stmt choose_buckets(const BufferRef& high, const BufferRef& bucket, const Expr& shift, const Cell& many) const {
    auto begin_at = [&](const Expr& number, const Expr& words, const Expr& value) {
      return loop::block({loop::store(begins_, {number}, words), loop::store(offsets_, {number}, words),
                          loop::store(bases_, {number}, value)});
    };
    const Stmt choose = with_cell("words", dim(0), [&](const Cell& words) {
      return with_cell("part", dim(-1), [&](const Cell& part) {
        const Stmt values = each("value", dim(highs), [&](const Expr& value) {
          return let(
              "next", min(floordiv(words.get() * buckets, max(n_, dim(1))), dim(buckets - 1)), [&](const Expr& next) {
                const Stmt begin =
                    loop::block({begin_at(many.get(), words.get(), value), many.set(many.get() + 1), part.set(next)});
                return loop::block({loop::if_(lt(part.get(), next), begin),
                                    loop::store(bucket, {value}, cast(DType::uint8(), many.get() - 1)),
                                    words.set(words.get() + at(high, value))});
              });
        });
        return loop::block({values, begin_at(many.get(), n_, dim(highs))});
      });
    });
    const Stmt tops = let("last", many.get(), [&](const Expr& last) {
      return each("b", last, [&](const Expr& b) {
        return with_bits_of(at(bases_, b + 1) - at(bases_, b) - 1, [&](const Expr& bits) {
          const Stmt top = loop::store(tops_, {b}, shift + bits);
          const Stmt base = loop::store(bases_, {b}, scalar::binary(BinaryOp::Shl, at(bases_, b), shift));
          const Stmt both = loop::block({top, base});
          if (!sort_.needed) return both;
          return loop::block({both, loop::if_(lt(at(begins_, b), sort_.needed), many.set(b + 1))});
        });
      });
    });
    return loop::block({many.set(dim(0)), choose, tops});
  }

  Stmt finish_all(const Cell& many) const {
    return let("of", many.get(), [&](const Expr& of) {
      return each("b", of, [&](const Expr& b) {
        return let("begin", at(begins_, b), [&](const Expr& begin) {
          return let("size", at(begins_, b + 1) - begin, [&](const Expr& size) {
            return let("base", at(bases_, b), [&](const Expr& base) {
              return let("top", at(tops_, b), [&](const Expr& top) { return finish({begin, size, base, top}); });
            });
          });
        });
      });
    });
  }

  struct Bucket {
    Expr begin, size, base, top;  // `base` is subtracted from its words, which then have `top` bits
  };

  // The memory of the words of a bucket: the indices of the k-th one.
  struct Place {
    BufferRef buffer;
    std::function<Exprs(const Expr& k)> at;
    Expr load(const Expr& k) const { return scalar::load(buffer, at(k)); }
    Stmt store(const Expr& k, const Expr& word) const { return loop::store(buffer, at(k), word); }
  };
  Place half(const Bucket& b, int64_t which) const {
    return {sort_.result, [this, b, which](const Expr& k) { return sort_.at(dim(which), b.begin + k); }};
  }
  Place small() const {
    return {small_, [](const Expr& k) { return Exprs{k}; }};
  }

  // Digits of the words minus `base`, below bit `top`: `many` of them.
  struct Digits {
    Expr many, top, base;
  };

  // Sorts a bucket in half 0: by few digits, and if these do not suffice, by the omitted bits and by all digits.
  Stmt finish(const Bucket& b) const {
    auto digits_of = [](const Expr& bits) { return floordiv(max(bits, dim(0)) + (digit_bits - 1), digit_bits); };
    auto with = [](const Expr& condition) { return cast(i64, condition); };
    const Expr all = digits_of(b.top - lowest());
    const Expr few = with(le(dim(furthest), b.size)) + with(le(dim(1 << 7), b.size)) + with(le(dim(1 << 15), b.size)) +
                     with(le(dim(1 << 23), b.size));
    const Expr one_more = with(le(n_, dim(few_words)));
    return with_cell("far", dim(1), [&](const Cell& far) {
      // `attempt` 0: few digits, 1: the omitted bits, 2: all digits
      return each("attempt", dim(3), [&](const Expr& attempt) {
        const Expr first = eq(attempt, dim(0)), second = eq(attempt, dim(1));
        const Expr left_out = sort_.left_out ? sort_.left_out : dim(0);
        const Expr many = select(first, min(all, few + one_more), select(second, digits_of(left_out), all));
        const Expr top = select(second, lowest() + left_out, b.top), base = select(second, dim(0), b.base);
        const Stmt passes = let("many", many, [&](const Expr& m) {
          return let("top", top, [&](const Expr& t) {
            return let("base", base, [&](const Expr& from) {
              const Digits digits{m, t, from};
              return loop::if_(le(b.size, dim(few_words)), by_digits(b, digits, small()),
                               by_digits(b, digits, half(b, 1)));
            });
          });
        });
        Stmt steps = loop::block({passes, loop::if_(second, loop::block({}), walk(b, far))});
        if (sort_.left_out) steps = loop::block({loop::if_(first, loop::block({}), rewrite(b, second)), steps});
        const Expr retry = logical_or(lt(dim(1), attempt), lt(dim(0), left_out));
        return loop::if_(logical_or(first, logical_and(eq(far.get(), dim(1)), retry)), steps);
      });
    });
  }

  // Sorts from half 0 to `scratch` and back, by one digit per pass; ends in half 0.
  Stmt by_digits(const Bucket& b, const Digits& digits, const Place& scratch) const {
    const Place main = half(b, 0);
    return with_cell("moved", dim(0), [&](const Cell& moved) {
      const Stmt passes = each("pass", digits.many, [&](const Expr& pass) {
        const Expr shift = max(digits.top - (digits.many - pass) * digit_bits, lowest());
        return let("shift", shift, [&](const Expr& s) {
          return loop::if_(eq(moved.get(), dim(0)), by_digit(b, digits.base, s, main, scratch, moved.set(dim(1))),
                           by_digit(b, digits.base, s, scratch, main, moved.set(dim(0))));
        });
      });
      const Stmt back = each("i", b.size, [&](const Expr& i) { return main.store(i, scratch.load(i)); });
      return loop::block({passes, loop::if_(eq(moved.get(), dim(1)), back)});
    });
  }

  // Replaces the words' bits by those that decide next.
  Stmt rewrite(const Bucket& b, const Expr& low) const {
    return each("i", b.size, [&](const Expr& i) {
      return let("word", load(b.begin + i), [&](const Expr& word) {
        return loop::if_(low, store(b.begin + i, sort_.with_low_bits(word)),
                         store(b.begin + i, sort_.with_high_bits(word)));
      });
    });
  }

  // Sorts by one digit, from one place to the other; skips that and `then` if all words have the same digit.
  Stmt by_digit(const Bucket& b, const Expr& base, const Expr& shift, const Place& from, const Place& to,
                const Stmt& then) const {
    auto digit = [&](const Expr& word) { return bit_and(shifted(number(word) - base, shift), digits - 1); };
    const Stmt count = each("i", b.size, [&](const Expr& i) {
      return let("digit", digit(from.load(i)),
                 [&](const Expr& d) { return loop::store(counts_, {d}, scalar::load(counts_, {d}) + 1); });
    });
    const Stmt sums = with_cell("sum", dim(0), [&](const Cell& sum) {
      return each("digit", dim(digits), [&](const Expr& d) {
        return let("count", scalar::load(counts_, {d}), [&](const Expr& many) {
          return loop::block({loop::store(counts_, {d}, sum.get()), sum.set(sum.get() + many)});
        });
      });
    });
    const Stmt move = each("i", b.size, [&](const Expr& i) {
      return let("word", from.load(i), [&](const Expr& word) {
        return let("digit", digit(word), [&](const Expr& d) {
          return let("place", scalar::load(counts_, {d}), [&](const Expr& place) {
            return loop::block({to.store(place, word), loop::store(counts_, {d}, place + 1)});
          });
        });
      });
    });
    const Expr same = eq(scalar::load(counts_, {digit(from.load(dim(0)))}), b.size);
    return loop::block(
        {clear(counts_, digits), count, loop::if_(same, loop::block({}), loop::block({sums, move, then}))});
  }

  // Moves words back to their places in front of preceding words; sets `far` to 1 if a word has not reached its place.
  Stmt walk(const Bucket& b, const Cell& far) const {
    auto go_back = [&](const Expr& i, const Expr& word) {
      const Expr place = b.begin + i;
      auto step = [&](const Expr& from, const Cell& to) {
        return let("other", load(from), [&](const Expr& other) {
          return loop::if_(before(word, other), loop::block({store(from + 1, other), to.set(from)}));
        });
      };
      return with_cell("to", place, [&](const Cell& to) {
        const Stmt further =
            each("j", min(dim(furthest), i) - 1, [&](const Expr& j) { return step(place - 2 - j, to); });
        const Stmt more = loop::if_(eq(to.get(), place - 1), further);
        const Stmt stop = let("front", to.get() - 1,
                              [&](const Expr& front) { return loop::if_(before(word, load(front)), far.set(dim(1))); });
        const Stmt at_end = loop::if_(logical_and(lt(dim(furthest), i), eq(to.get(), place - furthest)), stop);
        return loop::block({step(place - 1, to), more, at_end, store(to.get(), word)});
      });
    };
    return with_cell("last", load(b.begin), [&](const Cell& last) {
      const Stmt words = each("i", b.size, [&](const Expr& i) {
        return let("word", load(b.begin + i), [&](const Expr& word) {
          const Expr moves = before(word, last.get());
          return loop::if_(moves, loop::if_(eq(far.get(), dim(0)), go_back(i, word), last.set(word)), last.set(word));
        });
      });
      return loop::block({far.set(dim(0)), words});
    });
  }

  static BufferRef table(const char* name, int64_t size) {
    return loop::buffer(name, i64, {dim(size)}, loop::Scope::Scratch);
  }

  const RadixSort& sort_;
  const Expr n_;
  // For each bucket, and after the last: its first position, the position of its next word, the value subtracted from
  // its words, their bits.
  BufferRef begins_ = table("begins", buckets + 1), offsets_ = table("offsets", buckets + 1),
            bases_ = table("bases", buckets + 1), tops_ = table("tops", buckets + 1), counts_ = table("counts", digits);
  BufferRef small_ = loop::buffer("small", sort_.word, {dim(few_words)}, loop::Scope::Scratch);
};

}  // namespace

Stmt RadixSort::loops() const { return Work(*this).all(); }

Stmt with_bits_of(const Expr& n, const std::function<Stmt(const Expr& bits)>& steps) {
  std::function<Stmt(int64_t, const Expr&, const Expr&)> next = [&](int64_t half, const Expr& rest, const Expr& bits) {
    if (half == 0) return let("bits", bits + cast(i64, lt(dim(0), rest)), steps);
    const Expr longer = le(dim(int64_t{1} << half), rest);
    return let("rest", select(longer, shifted(rest, dim(half)), rest), [&](const Expr& left) {
      return let("bits", bits + select(longer, dim(half), dim(0)),
                 [&](const Expr& found) { return next(half / 2, left, found); });
    });
  };
  // A 64-bit number with the highest bit set is negative as int64.
  return let("number", n, [&](const Expr& number) {
    const Expr rest = select(lt(number, dim(0)), dim(1), number);
    return next(32, rest, select(lt(number, dim(0)), dim(63), dim(0)));
  });
}

}  // namespace relay::op
