#include "runs/helper_files.hpp"

#include <gtest/gtest.h>

namespace iez::runs {
namespace {

TEST(HelperFiles, OfMpiLibraries) {
  for (const char* name : {"/s/.out.h5.shfp.1804289383", "/s/.out.h5.shfp.1234.1804289383", "/s/C.locktest.0", "C.locktest.15",
                           "/s/out.nc-1325137921-4711.lock", "/tmp/x/out.nc_cid-3-4711.sm", "/s/out.nc.metadata.7"}) {
    EXPECT_TRUE(is_helper_file(name)) << name;
  }
}

TEST(HelperFiles, WhatProgramsWrite) {
  for (const char* name : {"/s/out.h5",
                           "",
                           "/",
                           "/s/.shfp.1/out",
                           "/s/out.shfp.1",
                           "/s/.shfp.1",
                           "/s/.out.shfp.",
                           "/s/.out.shfp.x.1",
                           "/s/locktest.0",
                           "/s/.locktest.0",
                           "/s/C.locktest.",
                           "/s/C.locktest.0a",
                           "/s/out.lock",
                           "/s/out-1.lock",
                           "/s/out-1-2.locked",
                           "/s/out-x-2.lock",
                           "/s/out.sm",
                           "/s/out-1-2.sm",
                           "/s/out.data.3",
                           "/s/x.locktest.0/data"}) {
    EXPECT_FALSE(is_helper_file(name)) << name;
  }
}

}  // namespace
}  // namespace iez::runs
