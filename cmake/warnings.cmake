# corral_target(<target>): what every C++ target of ours is compiled with. Warnings are errors.
function(corral_target target)
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR})
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Werror -Wshadow -Wnon-virtual-dtor -Wold-style-cast -Wcast-qual -Wconversion
    -Wsign-conversion -Wdouble-promotion -Wimplicit-fallthrough)
  if(CORRAL_SANITIZE)
    # GCC 12 cannot tell with a sanitizer's code in between, and warns of what is initialized.
    target_compile_options(${target} PUBLIC -fsanitize=${CORRAL_SANITIZE} -fno-omit-frame-pointer
      -Wno-maybe-uninitialized)
    target_link_options(${target} PUBLIC -fsanitize=${CORRAL_SANITIZE})
  endif()
endfunction()
