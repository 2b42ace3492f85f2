#include <gmock/gmock.h>
#include <sdbus-c++/Error.h>
#include <sdbus-c++/IConnection.h>

#include <set>

#include "dbus/connect.h"
#include "dbus/errors.h"
#include "dbus/guard.h"
#include "dbus/server.h"

namespace corral::dbus {
namespace {

using run::FaultKind;

TEST(DbusErrors, EveryKindHasANameOfItsOwnAndTheWayBack) {
  std::set<std::string> names;
  for (int i = 0; i <= static_cast<int>(FaultKind::pid_unknown); ++i) {
    const auto kind = static_cast<FaultKind>(i);
    EXPECT_TRUE(names.insert(error_name(kind)).second) << error_name(kind);
    EXPECT_EQ(parse_error_name(error_name(kind)), kind);
  }
  EXPECT_EQ(parse_error_name("org.freedesktop.DBus.Error.Failed"), std::nullopt);
  EXPECT_EQ(parse_error_name(""), std::nullopt);
}

TEST(DbusErrors, TheStandardHasItsNamesAndTheRestIsOurs) {
  EXPECT_STREQ(error_name(FaultKind::invalid_args), "org.freedesktop.DBus.Error.InvalidArgs");
  EXPECT_STREQ(error_name(FaultKind::pid_unknown),
               "org.freedesktop.DBus.Error.UnixProcessIdUnknown");
  EXPECT_STREQ(error_name(FaultKind::no_run_for_pid), "org.corral.Corral1.Error.NoRunForPID");
}

TEST(DbusErrors, AnErrnoSurvivesTheTripThroughAnErrorName) {
  EXPECT_EQ(errno_of("System.Error.ENOENT"), ENOENT);
  EXPECT_EQ(errno_of("org.freedesktop.DBus.Error.FileExists"), EEXIST);
  EXPECT_EQ(errno_of("com.example.Unheard"), EIO);
}

TEST(DbusPaths, EscapeTheIdAsSystemdDoes) {
  const auto invocation = run::Invocation::parse("0123456789abcdef0123456789abcdef");
  EXPECT_EQ(run_path(*run::RunId::parse("7a.b"), *invocation),
            "/org/corral/Corral1/run/_37a_2eb/0123456789abcdef0123456789abcdef");
}

TEST(DbusAddress, KnowsTwoWordsAndTakesTheRestForAnAddress) {
  EXPECT_EQ(BusAddress::parse("system").kind, BusKind::system);
  EXPECT_EQ(BusAddress::parse("user").kind, BusKind::user);
  EXPECT_EQ(BusAddress::parse("unix:path=/x").kind, BusKind::address);
  EXPECT_EQ(BusAddress::parse("unix:path=/x").address, "unix:path=/x");
}

TEST(DbusConnect, AnErrorNamesTheBusTheErrnoAndTheRemedy) {
  const auto connection = connect(BusAddress::parse("unix:path=/nonexistent/bus"));
  ASSERT_FALSE(connection);
  EXPECT_EQ(connection.error().code, ENOENT);
  EXPECT_THAT(connection.error().message,
              testing::MatchesRegex("connect to the bus at unix:path=/nonexistent/bus: "
                                    "No such file or directory; .*"));
}

TEST(DbusGuard, ABugBecomesFailedAndAnErrorGoesThrough) {
  const auto name_of = [](auto body) -> std::string {
    try {
      guarded("Test", body);
    } catch (const sdbus::Error& error) {
      EXPECT_TRUE(base::is_utf8(error.getMessage()));
      return error.getName();
    }
    return "";
  };
  EXPECT_EQ(name_of([] { throw std::runtime_error("x\xff"); }), kErrorFailed);
  EXPECT_EQ(name_of([] { throw 7; }), kErrorFailed);
  EXPECT_EQ(name_of([] { throw sdbus::Error("a.b", "x\xff"); }), "a.b");
  EXPECT_EQ(name_of([] {}), "");
}

}  // namespace
}  // namespace corral::dbus
