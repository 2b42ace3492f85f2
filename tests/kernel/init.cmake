# corral-init against the real kernel. Its plain C, which no sanitizer sees when it runs, is compiled once more for the
# fuzz of its parser.
enable_language(C)
add_library(init_parser STATIC ${PROJECT_SOURCE_DIR}/init/spec.c)
target_compile_definitions(init_parser PRIVATE _GNU_SOURCE)
target_include_directories(init_parser PUBLIC ${PROJECT_SOURCE_DIR})
if(CORRAL_SANITIZE)
  target_compile_options(init_parser PRIVATE -fsanitize=${CORRAL_SANITIZE} -fno-omit-frame-pointer)
endif()

# Never sanitized: it prints what it was given, and a sanitizer's runtime gives itself more.
add_executable(init_witness ${CMAKE_CURRENT_LIST_DIR}/init_witness.c)
target_compile_definitions(init_witness PRIVATE _GNU_SOURCE)
target_compile_options(init_witness PRIVATE -Wall -Wextra -Werror -Wshadow -Wconversion)
set_target_properties(init_witness PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})

file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/test_init_*.cpp)
add_executable(kernel_init ${sources} ${CMAKE_CURRENT_LIST_DIR}/init_client.cpp)
target_link_libraries(kernel_init PRIVATE cgroup run base init_parser misbehave_path GTest::gmock_main fmt::fmt)
target_compile_definitions(kernel_init PRIVATE CORRAL_INIT="$<TARGET_FILE:corral-init>"
  CORRAL_WITNESS="$<TARGET_FILE:init_witness>")
corral_target(kernel_init)
add_dependencies(kernel_init corral-init init_witness)
gtest_discover_tests(kernel_init TEST_PREFIX init/ DISCOVERY_TIMEOUT 30
  PROPERTIES LABELS kernel RUN_SERIAL ON TIMEOUT 120)
