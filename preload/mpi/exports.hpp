// What the libraries for MPI show to a program; libiez-mpi.map lists it.
#pragma once

#define IEZ_EXPORT __attribute__((visibility("default")))
