# Every option of the build, in one place. A consumer that adds iez as a subproject gets none of our warnings-as-errors, tests or
# sanitizers unless it asks.
option(IEZ_TESTS "Build the tests" ${PROJECT_IS_TOP_LEVEL})
option(IEZ_WERROR "Treat warnings as errors (our presets do)" OFF)
option(IEZ_FUZZ "Build the libFuzzer targets instead of their replay tests (clang)" OFF)
option(IEZ_TIDY "Run clang-tidy beside the compiler" OFF)
option(IEZ_COVERAGE "Instrument for gcov" OFF)
set(IEZ_SANITIZE "" CACHE STRING "Value of -fsanitize= for the whole build, e.g. address,undefined")

set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_VERIFY_INTERFACE_HEADER_SETS ON)
endif()
if(NOT CMAKE_BUILD_TYPE AND PROJECT_IS_TOP_LEVEL)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release or RelWithDebInfo" FORCE)
endif()

# What our own code is compiled with; linked privately, so that no flag leaks to a consumer. The preload library takes the warnings
# alone: it is never instrumented.
add_library(iez_warnings INTERFACE)
add_library(iez_flags INTERFACE)
target_link_libraries(iez_flags INTERFACE iez_warnings)
target_compile_options(iez_warnings INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion
                                           -Wnon-virtual-dtor -Woverloaded-virtual
                                           # every member has a default: naming only some in an initialiser is the point
                                           -Wno-missing-field-initializers)
target_compile_options(iez_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wthread-safety>)
# stable_sort() of GCC's library calls what C++23 deprecates, and clang counts that as ours.
target_compile_options(iez_warnings INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# Where -O3 inlines the copying of short texts, gcc 12 sees bounds overstepped that are not (its bugs 105329 and 105651). Debug builds keep
# these warnings.
target_compile_options(iez_warnings INTERFACE
                       $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-array-bounds;-Wno-restrict>)
if(IEZ_WERROR)
  target_compile_options(iez_warnings INTERFACE -Werror)
endif()
if(IEZ_SANITIZE)
  target_compile_options(iez_flags INTERFACE -fsanitize=${IEZ_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  target_link_options(iez_flags INTERFACE -fsanitize=${IEZ_SANITIZE})
endif()
if(IEZ_FUZZ)
  target_compile_options(iez_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(IEZ_COVERAGE)
  target_compile_options(iez_flags INTERFACE --coverage -fprofile-abs-path)
  target_link_options(iez_flags INTERFACE --coverage)
endif()
if(IEZ_TIDY)
  find_program(IEZ_CLANG_TIDY NAMES clang-tidy-19 REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY "${IEZ_CLANG_TIDY}" --quiet --warnings-as-errors=*)
endif()
