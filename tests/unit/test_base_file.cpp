#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>

#include "base/file.h"
#include "harness/temp_dir.h"

namespace corral::base {
namespace {

using testing::HasSubstr;

bool is_close_on_exec(int fd) {
  return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0;
}

// No file descriptor can be made while it lives, by anyone in this process.
class NoMoreFds {
 public:
  NoMoreFds() {
    getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{0, before_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoMoreFds() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

class File : public testing::Test {
 protected:
  auto entries() const {
    return std::distance(std::filesystem::directory_iterator(scratch_.path()), {});
  }

  harness::TempDir scratch_;
  UniqueFd dir_ = UniqueFd(open((scratch_ / ".").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
};

TEST_F(File, OpensWithCloseOnExecAndNamesThePathWhereItCannot) {
  auto made = open_at(dir_.get(), "new", O_WRONLY | O_CREAT | O_EXCL, 0640);
  ASSERT_TRUE(made);
  EXPECT_TRUE(is_close_on_exec(made->get()));

  auto missing = open_at(dir_.get(), "missing", O_RDONLY);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_EQ(missing.error().message, "open missing: No such file or directory");
}

TEST_F(File, MakesADirectoryOnceOnly) {
  auto made = make_dir_at(dir_.get(), "sub");
  ASSERT_TRUE(made);
  EXPECT_TRUE(is_close_on_exec(made->get()));
  ASSERT_TRUE(replace_at(made->get(), "inside", "x"));
  EXPECT_EQ(*read_at(dir_.get(), "sub/inside"), "x");

  auto again = make_dir_at(dir_.get(), "sub");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, EEXIST);
  EXPECT_THAT(again.error().message, HasSubstr("mkdir sub"));
}

TEST_F(File, LeavesNoDirectoryBehindThatItCouldNotOpen) {
  auto made = [&] {
    NoMoreFds guard;
    return make_dir_at(dir_.get(), "sub");
  }();
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, EMFILE);
  EXPECT_EQ(entries(), 0);
}

TEST_F(File, ReadsAWholeFileOfAnyLength) {
  for (const size_t size : {size_t{0}, size_t{1}, size_t{16384}, size_t{100'000}}) {
    const std::string text(size, 'x');
    ASSERT_TRUE(replace_at(dir_.get(), "file", text));
    EXPECT_EQ(*read_at(dir_.get(), "file"), text);
  }
}

TEST_F(File, ReadsWhatIsNoTextByteForByte) {
  const std::string garbage("\0\xff\n\0", 4);
  ASSERT_TRUE(replace_at(dir_.get(), "file", garbage));
  EXPECT_EQ(*read_at(dir_.get(), "file"), garbage);
}

TEST_F(File, ReadsNothingPastTheLimit) {
  ASSERT_TRUE(replace_at(dir_.get(), "file", std::string(100, 'x')));
  EXPECT_TRUE(read_at(dir_.get(), "file", 100));
  auto longer = read_at(dir_.get(), "file", 99);
  ASSERT_FALSE(longer);
  EXPECT_EQ(longer.error().code, EFBIG);
  EXPECT_THAT(longer.error().message, HasSubstr("read file: "));
}

TEST_F(File, SaysWhyItCannotRead) {
  auto missing = read_at(dir_.get(), "missing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);

  auto directory = read_at(AT_FDCWD, scratch_ / ".");
  ASSERT_FALSE(directory);
  EXPECT_EQ(directory.error().code, EISDIR);
}

TEST_F(File, WritesIntoAFileThatIsThereAndMakesNone) {
  ASSERT_TRUE(replace_at(dir_.get(), "file", ""));
  ASSERT_TRUE(write_at(dir_.get(), "file", "12"));
  EXPECT_EQ(*read_at(dir_.get(), "file"), "12");

  auto missing = write_at(dir_.get(), "missing", "12");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, NamesTheTextAndTheFileWhereAWriteIsRefused) {
  auto full = write_at(AT_FDCWD, "/dev/full", "12k");
  ASSERT_FALSE(full);
  EXPECT_EQ(full.error().code, ENOSPC);
  EXPECT_EQ(full.error().message, "write \"12k\" to /dev/full: No space left on device");
}

TEST_F(File, ReplacesAFileAndLeavesNoOther) {
  ASSERT_TRUE(replace_at(dir_.get(), "file", "the longer one"));
  ASSERT_TRUE(replace_at(dir_.get(), "file", "short"));
  EXPECT_EQ(*read_at(dir_.get(), "file"), "short");
  EXPECT_EQ(entries(), 1);
}

TEST_F(File, ReplacesForAReaderAtOnceWhileTheOldTextStaysWithWhoHasItOpen) {
  ASSERT_TRUE(replace_at(dir_.get(), "file", "old"));
  auto reader = open_at(dir_.get(), "file", O_RDONLY);
  ASSERT_TRUE(reader);
  ASSERT_TRUE(replace_at(dir_.get(), "file", "new"));
  char text[8] = {};
  EXPECT_EQ(read(reader->get(), text, sizeof text), 3);
  EXPECT_STREQ(text, "old");
}

TEST_F(File, KeepsTheOldFileAndNoTemporaryOneWhereAReplaceFails) {
  ASSERT_TRUE(make_dir_at(dir_.get(), "directory"));
  auto onto_directory = replace_at(dir_.get(), "directory", "text");
  ASSERT_FALSE(onto_directory);
  EXPECT_EQ(onto_directory.error().code, EISDIR);
  EXPECT_EQ(entries(), 1);

  auto nowhere = replace_at(dir_.get(), "no/file", "text");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().code, ENOENT);
}

}  // namespace
}  // namespace corral::base
