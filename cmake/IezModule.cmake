# iez_module(NAME SOURCES a.cpp.. HEADERS a.hpp.. DEPS module.. [LIBRARIES third-party..] [TESTS a_test.cpp..] [TEST_LIBRARIES ..])
#
# One call per folder of src/. It makes the library iez::NAME, puts its headers into a verified file set (each must compile alone),
# makes one GoogleTest binary of its TESTS that links only this module, and notes the row that tools/check_layers.py compares with
# the real includes. LIBRARIES are linked privately: third-party headers stay in .cpp files.
include(GNUInstallDirs)
include(IezPrecompile)
set_property(GLOBAL PROPERTY IEZ_LAYERS "")
set_property(GLOBAL PROPERTY IEZ_MODULES "")

function(iez_module name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;HEADERS;DEPS;LIBRARIES;TESTS;TEST_LIBRARIES")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "iez_module(${name}): unknown ${arg_UNPARSED_ARGUMENTS}")
  endif()
  set(target iez_${name})
  add_library(${target} STATIC ${arg_SOURCES})
  add_library(iez::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
  target_sources(${target} PUBLIC FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/src" FILES ${arg_HEADERS})
  target_compile_features(${target} PUBLIC cxx_std_23)
  list(TRANSFORM arg_DEPS PREPEND iez:: OUTPUT_VARIABLE deps)
  target_link_libraries(${target} PUBLIC ${deps} PRIVATE $<BUILD_INTERFACE:iez_flags> ${arg_LIBRARIES})
  if("fmt::fmt" IN_LIST arg_LIBRARIES)
    iez_precompile(${target} library)
  endif()

  string(JOIN "," deps_text ${arg_DEPS})
  set_property(GLOBAL APPEND PROPERTY IEZ_LAYERS "${name}:${deps_text}")
  set_property(GLOBAL APPEND PROPERTY IEZ_MODULES ${target})

  if(IEZ_TESTS AND arg_TESTS)
    iez_gtest(${name}_test SOURCES ${arg_TESTS} LIBRARIES iez::${name} ${arg_LIBRARIES} ${arg_TEST_LIBRARIES})
  endif()
endfunction()

function(iez_test_flags target)
  target_compile_definitions(${target} PRIVATE IEZ_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/fixtures")
  # GoogleTest's headers and templates are most of a test's compile time; what is tested keeps the optimisation of its build.
  if(CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${target} PRIVATE -O0)
    # GoogleTest names the line that fails; a sanitizer needs the debugger's tables for it.
    if(NOT IEZ_SANITIZE)
      target_compile_options(${target} PRIVATE -g0)
    endif()
  endif()
endfunction()

# iez_gtest(NAME SOURCES.. LIBRARIES..): a GoogleTest binary whose cases ctest lists one by one.
function(iez_gtest name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
  include(GoogleTest)
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LIBRARIES} iez_flags fmt::fmt nlohmann_json::nlohmann_json GTest::gmock_main)
  iez_test_flags(${name})
  iez_precompile(${name} test)
  if(IEZ_TIDY)
    # A test that looks into an optional without one fails, and that is what it is for; the analyser takes minutes for GoogleTest's
    # macros and finds nothing.
    set_target_properties(${name} PROPERTIES
      CXX_CLANG_TIDY "${CMAKE_CXX_CLANG_TIDY};--checks=-bugprone-unchecked-optional-access,-clang-analyzer-*")
  endif()
  gtest_discover_tests(${name} PROPERTIES TIMEOUT 120 DISCOVERY_TIMEOUT 60)
endfunction()

function(iez_write_layers)
  get_property(rows GLOBAL PROPERTY IEZ_LAYERS)
  string(JOIN "\n" text ${rows})
  file(GENERATE OUTPUT "${PROJECT_BINARY_DIR}/layers.txt" CONTENT "${text}\n")
endfunction()
