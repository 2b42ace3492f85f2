#include <gtest/gtest.h>

#include <string>

#include "base/span.h"
#include "daemon/config_file.h"
#include "daemon/config_line.h"
#include "daemon/setting.h"
#include "fuzz.h"

namespace corral::daemon {
namespace {

using fuzz::fuzz;
using fuzz::is_clean;

TEST(FuzzSpan, WhatItTakesIsWrittenAndReadTheSame) {
  fuzz({"500ms", "1min 30s", "7d", "1.5h"}, [](std::string_view text) {
    const auto span = base::parse_span(text);
    if (!span) return false;
    EXPECT_GE(span->count(), 0);
    // Past this a double does not hold every microsecond.
    if (span->count() < int64_t{1} << 52) {
      EXPECT_EQ(base::parse_span(base::exact_span(*span)), span);
    }
    return true;
  });
}

TEST(FuzzConfigLine, WhatItFindsStandsInTheLine) {
  fuzz({"[Runs]", "SettleSec=5s", "# all", "  GraceSec = 1min 30s ; long"},
       [](std::string_view text) {
         const auto line = parse_line(text);
         if (!line) return false;
         EXPECT_NE(text.find(line->name), std::string_view::npos);
         EXPECT_NE(text.find(line->value), std::string_view::npos);
         if (line->kind == ConfigLine::Kind::assignment) {
           EXPECT_NE(text.find('='), std::string_view::npos);
         }
         return true;
       });
}

TEST(FuzzConfig, WhatItSetsIsInRangeAndReadTheSameAgain) {
  Instance instance;
  instance.state_directory = instance.spawner_socket = "/x";
  fuzz({"[Runs]\nSettleSec=5s\nOnDriverExit=kill\nKeepReports=7\nRuntimeMaxSec=infinity\n",
        "[Service]\nStateDirectory=/var/lib/x\n[Bounds]\nProofSec=3s\nSyncSec=\n"},
       [&](std::string_view text) {
         Configuration configuration(instance);
         std::vector<std::string> problems;
         read_config({"f"}, text, configuration, problems);
         for (const auto& problem : problems) {
           EXPECT_TRUE(problem.starts_with("f:")) << problem;
           EXPECT_TRUE(is_clean(problem)) << problem;
         }
         Configuration again(instance);
         for (const auto& row : configuration.rows()) {
           if (row.value.empty()) continue;
           EXPECT_TRUE(again.assign(*find_setting(row.section, row.key), row.value, "again"))
               << row.key << "=" << row.value;
         }
         EXPECT_EQ(again.values().settle, configuration.values().settle);
         return problems.empty();
       });
}

}  // namespace
}  // namespace corral::daemon
