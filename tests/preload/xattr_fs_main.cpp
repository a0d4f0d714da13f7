// usage: preload_xattr_fs ROOT MOUNT_POINT
#include "xattr_fs.hpp"

int main(int argc, char** argv) { return argc == 3 ? iez::testing::serve_xattr_fs(argv[1], argv[2]) : 2; }
