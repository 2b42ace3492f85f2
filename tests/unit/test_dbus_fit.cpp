#include <gmock/gmock.h>

#include <numeric>

#include "dbus/fit.h"

namespace corral::dbus {
namespace {

size_t argv_bytes(const run::Process& process) {
  return std::accumulate(process.argv.begin(), process.argv.end(), size_t{0},
                         [](size_t sum, const auto& text) { return sum + text.size(); });
}

run::Process with_argv(std::vector<std::string> argv) {
  run::Process process;
  process.argv = std::move(argv);
  fit(process);
  return process;
}

TEST(DbusFit, AnArgvWithinTheLimitStaysAsItIs) {
  const auto process = with_argv({"a", std::string(run::kArgvBytes - 1, 'x')});
  EXPECT_EQ(process.argv.size(), 2u);
  EXPECT_EQ(argv_bytes(process), run::kArgvBytes);
  EXPECT_FALSE(process.argv_truncated);
}

TEST(DbusFit, AnArgvPastTheLimitIsCutAndSaysSo) {
  const auto process = with_argv({"a", std::string(2'000'000, 'x'), "b"});
  EXPECT_EQ(process.argv.size(), 2u);
  EXPECT_EQ(argv_bytes(process), run::kArgvBytes);
  EXPECT_TRUE(process.argv_truncated);
}

TEST(DbusFit, NoCharacterAndNoEscapeIsCutInTwo) {
  for (size_t lead = 0; lead < 8; ++lead) {
    std::string text(run::kArgvBytes - lead, 'x');
    const auto umlaut = with_argv({text + "\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4\xc3\xa4"});
    EXPECT_TRUE(umlaut.argv[0].size() >= text.size());
    EXPECT_EQ((umlaut.argv[0].size() - text.size()) % 2, 0u) << lead;
    const auto escape = with_argv({text + "\\x01\\x02\\x03\\x04"});
    EXPECT_EQ((escape.argv[0].size() - text.size()) % 4, 0u) << lead;
  }
}

TEST(DbusFit, TheSizeCountsTheEscapesOfWhatIsNotUtf8) {
  run::Process plain, raw;
  plain.comm = std::string(1000, 'x');
  raw.comm = std::string(1000, '\xff');
  EXPECT_GE(wire_size(raw), wire_size(plain) + 3000);
}

TEST(DbusFit, ARowWithTooManySocketsIsCutToFit) {
  run::Process row;
  row.listening.assign(10'000, "unix:/" + std::string(200, 'x'));
  fit(row);
  EXPECT_LE(wire_size(row), kRowBytes + 1000);
  EXPECT_GT(row.listening.size(), 1000u);
}

TEST(DbusFit, AReportThatIsTooLongLeavesLeaksOutAndCountsThem) {
  run::Report report;
  report.leaks_omitted = 3;
  run::Process large;
  large.listening.assign(100, "unix:/" + std::string(8'000, 'x'));
  report.leaks.assign(20, large);
  fit(report);
  EXPECT_LT(report.leaks.size(), 15u);
  EXPECT_GT(report.leaks.size(), 5u);
  EXPECT_EQ(report.leaks.size() + report.leaks_omitted, 23u);
}

TEST(DbusFit, ACountThatDoesNotFitIsTheMostThatDoes) {
  EXPECT_EQ(count32(7), 7u);
  EXPECT_EQ(count32(uint64_t{1} << 40), UINT32_MAX);
}

}  // namespace
}  // namespace corral::dbus
