#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "base/file.h"
#include "cgroup/usage.h"

namespace corral::cgroup {
namespace {

// A directory with control files in it, read as if it were a cgroup.
class UsageTest : public testing::Test {
 protected:
  UsageTest() : directory_(std::filesystem::temp_directory_path() / "corral-usage-XXXXXX") {
    if (!mkdtemp(directory_.data())) throw std::runtime_error("mkdtemp " + directory_);
  }
  ~UsageTest() override { std::filesystem::remove_all(directory_); }

  void put(const std::string& file, const std::string& text) {
    std::ofstream(directory_ + "/" + file) << text;
  }
  Usage usage() const {
    auto fd = base::open_at(AT_FDCWD, directory_, O_RDONLY | O_DIRECTORY);
    return read_usage(Group::adopt(std::move(fd.value()), "fake").value());
  }

 private:
  std::string directory_;
};

TEST_F(UsageTest, EveryFigureIsRead) {
  put("cpu.stat", "usage_usec 1234\nuser_usec 1000\nsystem_usec 234\nnr_periods 0\n");
  put("memory.peak", "40960\n");
  put("memory.events", "low 0\nhigh 0\nmax 4\noom 2\noom_kill 1\noom_group_kill 0\n");
  put("pids.peak", "17\n");
  put("io.stat",
      "8:0 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n"
      "253:0 rbytes=5 wbytes=7 rios=1 wios=1 dbytes=3 dios=1\n");
  const Usage all = usage();
  EXPECT_EQ(all.cpu_usec, 1234U);
  EXPECT_EQ(all.memory_peak, 40960U);
  EXPECT_EQ(all.oom_kills, 1U);
  EXPECT_EQ(all.pids_peak, 17U);
  EXPECT_EQ(all.io_read_bytes, 15U);
  EXPECT_EQ(all.io_write_bytes, 27U);
}

TEST_F(UsageTest, AMissingFileIsAnAbsentFigureAndNotZero) {
  const Usage none = usage();
  EXPECT_FALSE(none.cpu_usec);
  EXPECT_FALSE(none.memory_peak);
  EXPECT_FALSE(none.oom_kills);
  EXPECT_FALSE(none.pids_peak);
  EXPECT_FALSE(none.io_read_bytes);
  EXPECT_FALSE(none.io_write_bytes);
}

TEST_F(UsageTest, GarbageIsAnAbsentFigure) {
  put("cpu.stat", "usage_usec x\n");
  put("memory.peak", "max\n");
  put("memory.events", "oom 1\noom_group_kill 2\n");
  put("pids.peak", "-1\n");
  put("io.stat", "8:0 rbytes= wbytes=20\n");
  const Usage none = usage();
  EXPECT_FALSE(none.cpu_usec);
  EXPECT_FALSE(none.memory_peak);
  EXPECT_FALSE(none.oom_kills);
  EXPECT_FALSE(none.pids_peak);
  EXPECT_FALSE(none.io_read_bytes);
  EXPECT_FALSE(none.io_write_bytes);
}

TEST_F(UsageTest, OneBadFileDoesNotHideTheOthers) {
  put("cpu.stat", "");
  put("pids.peak", "3\n");
  EXPECT_FALSE(usage().cpu_usec);
  EXPECT_EQ(usage().pids_peak, 3U);
}

TEST(IoStat, NoLineIsNoBytesAndADeviceWithoutFiguresIsPassedOver) {
  EXPECT_EQ(parse_io_stat("").value().read, 0U);
  const auto bytes = parse_io_stat("8:16\n8:0 rbytes=1 wbytes=2 rios=1 cost.usage=9\n");
  ASSERT_TRUE(bytes);
  EXPECT_EQ(bytes->read, 1U);
  EXPECT_EQ(bytes->write, 2U);
}

TEST(IoStat, ABadFigureIsNoSum) {
  EXPECT_FALSE(parse_io_stat("8:0 rbytes=1 wbytes=2\n8:1 rbytes=x wbytes=2\n"));
  EXPECT_FALSE(parse_io_stat("8:0 wbytes=18446744073709551616\n"));
}

}  // namespace
}  // namespace corral::cgroup
