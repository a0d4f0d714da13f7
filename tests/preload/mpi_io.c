/* Every rank writes its blocks of a shared file by collective calls, reads its neighbour's, and says whether they are right.
   usage: mpi_io FILE BLOCKS BYTES [HINT VALUE] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static unsigned char value_at(long long offset) { return (unsigned char)(offset * 31 + offset / 4096); }

static void stop(int error, const char* what) {
  char text[MPI_MAX_ERROR_STRING];
  int size = 0;
  MPI_Error_string(error, text, &size);
  fprintf(stderr, "%s: %.*s\n", what, size, text);
  MPI_Abort(MPI_COMM_WORLD, 1);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 4 && argc != 6) return 2;
  const int blocks = atoi(argv[2]);
  const int bytes = atoi(argv[3]);
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char* const block = malloc((size_t)bytes);

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "2");
  if (argc == 6) MPI_Info_set(info, argv[4], argv[5]);
  MPI_File file;
  int error = MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file);
  if (error != MPI_SUCCESS) stop(error, "open");
  for (int i = 0; i < blocks; ++i) {
    const long long at = ((long long)i * ranks + rank) * bytes;
    for (int b = 0; b < bytes; ++b) block[b] = value_at(at + b);
    error = MPI_File_write_at_all(file, at, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) stop(error, "write");
  }
  MPI_File_sync(file);
  MPI_Barrier(MPI_COMM_WORLD);
  int wrong = 0;
  for (int i = 0; i < blocks; ++i) {
    const long long at = ((long long)i * ranks + (rank + 1) % ranks) * bytes;
    error = MPI_File_read_at_all(file, at, block, bytes, MPI_BYTE, MPI_STATUS_IGNORE);
    if (error != MPI_SUCCESS) stop(error, "read");
    for (int b = 0; b < bytes; ++b) wrong += block[b] != value_at(at + b);
  }
  MPI_File_close(&file);
  MPI_Info_free(&info);
  int all_wrong = 0;
  MPI_Reduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("%d ranks, %d wrong bytes\n", ranks, all_wrong);
  free(block);
  MPI_Finalize();
  return wrong != 0;
}
