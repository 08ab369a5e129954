// Reading for editors: the diagnostics of parse(), the places of names, and what is known before a mistake.
#include "relay/text/reading.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "relay/base/test_golden.h"

namespace relay::text {
namespace {

namespace fs = std::filesystem;
using test::read;

std::shared_ptr<const Source> named(std::string text) {
  return std::make_shared<const Source>(Source{"test.relay", std::move(text)});
}

std::vector<std::string> texts() {
  std::vector<std::string> out;
  for (const char* folder : {"src/relay/text/testdata", "src/relay/text/testdata/errors", "src/relay/typing/testdata",
                             "src/relay/prelude", "examples", "test/readers/corpus/relay"})
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(RELAY_SOURCE_DIR) / folder))
      if (entry.is_regular_file() && entry.path().extension() != ".expected" && entry.path().extension() != ".py")
        out.push_back(read(entry.path()));
  std::sort(out.begin(), out.end());  // folders are listed in any order
  return out;
}

void expect_same_diagnostics(const std::string& text) {
  const std::shared_ptr<const Source> source = named(text);
  const Result<ir::Module> parsed = parse(source);
  const Reading reading = relay::text::read(source);
  const std::string expected = parsed ? "" : render(parsed.errors());
  const std::string found = render(reading.diagnostics);
  EXPECT_TRUE(found == expected) << "of\n"
                                 << text.substr(0, 1000) << "\nfound\n"
                                 << found.substr(0, 1000) << "\nexpected\n"
                                 << expected.substr(0, 1000);
}

TEST(Reading, diagnostics_are_those_of_parse) {
  for (const std::string& text : texts()) expect_same_diagnostics(text);
}

TEST(Reading, diagnostics_of_cut_texts_are_those_of_parse) {
  std::mt19937 random(3);
  for (const std::string& text : texts()) {
    if (text.size() > 20000) continue;
    for (int round = 0; round < 20; ++round) {
      std::string changed = text;
      const size_t begin = random() % (text.size() + 1);
      changed.erase(begin, random() % 3 == 0 ? std::string::npos : random() % 20);
      static const char* const added[] = {"", "(", ")", "{", "}", ";", "let %a = ", "%0 = ", "match (", "fn ("};
      changed.insert(begin, added[random() % std::size(added)]);
      expect_same_diagnostics(changed);
    }
  }
}

TEST(Reading, places_hold_names) {
  for (const std::string& text : texts()) {
    const Reading reading = relay::text::read(named(text));
    uint32_t end = 0;
    for (const Occurrence& place : reading.names.places) {
      ASSERT_LE(end, place.begin) << text.substr(place.begin, 40);
      ASSERT_LT(place.begin, place.end);
      ASSERT_LE(place.end, text.size());
      end = place.end;
      const Thing& thing = reading.names.things[place.thing];
      const std::string word = text.substr(place.begin, place.end - place.begin);
      if (word.find('"') == std::string::npos && word.find('%') == std::string::npos &&
          word.find('@') == std::string::npos && thing.kind != NameKind::Operator)
        EXPECT_EQ(word, thing.name);
      EXPECT_EQ(reading.names.at(place.begin), &place);
    }
  }
}

// Uses of a name and its definition have one thing; names that hide it have another.
TEST(Reading, things) {
  const std::string text =
      "#[version = \"0.0.5\"]\ndef @f(%x: Tensor[(n), float32]) { let %y = add(%x, %x); let %x = %y; (%x, @f(%y), @f) "
      "}";
  const Reading reading = relay::text::read(named(text));
  std::string shown;
  for (const Occurrence& place : reading.names.places)
    shown += format("{}#{} ", text.substr(place.begin, place.end - place.begin), place.thing);
  EXPECT_EQ(shown, "@f#0 %x#2 n#1 %y#3 add#4 %x#2 %x#2 %x#5 %y#3 %x#5 @f#0 %y#3 @f#0 ");
}

TEST(Reading, variables_at_the_end) {
  const Reading reading = relay::text::read(
      named("#[version = \"0.0.5\"]\ndef @f(%x: int32) { let %y = 1; %0 = 2; if (%x < 3) { let %z = add(%y, axis="));
  std::string shown;
  for (const ir::VarRef& var : reading.end.variables) shown += var->name + " ";
  EXPECT_EQ(shown, "x y ");
  ASSERT_EQ(reading.end.graphs.size(), 1u);
  ASSERT_TRUE(reading.end.call);
  EXPECT_EQ(reading.end.call->argument, 1u);
  EXPECT_EQ(reading.end.call->attributes, std::vector<std::string>{"axis"});
  EXPECT_TRUE(reading.module.functions.count("f"));
}

}  // namespace
}  // namespace relay::text
