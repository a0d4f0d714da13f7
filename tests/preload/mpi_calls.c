/* Calls of MPI-IO that libiez-mpi-*.so has to do more for than to move data.
   usage: mpi_calls FILE info|off|requests|pattern [BLOCKS BYTES] */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank;
static int ranks;
static int wrong;

static void check(int right, const char* what) {
  if (right) return;
  ++wrong;
  printf("rank %d is wrong: %s\n", rank, what);
}

static void check_count(MPI_Status* status, int expected, const char* what) {
  int count = -1;
  MPI_Get_count(status, MPI_BYTE, &count);
  check(count == expected, what);
}

static unsigned char value_at(long long offset, int seed) { return (unsigned char)(offset * 31 + offset / 4096 + seed * 7); }

/* Pieces of `bytes` of all ranks take turns, from `start` on. */
static void set_view(MPI_File file, MPI_Offset start, int bytes, MPI_Info info) {
  MPI_Datatype piece;
  MPI_Datatype filetype;
  MPI_Type_contiguous(bytes, MPI_BYTE, &piece);
  MPI_Type_create_resized(piece, 0, (MPI_Aint)ranks * bytes, &filetype);
  MPI_Type_commit(&filetype);
  check(MPI_File_set_view(file, start + (MPI_Offset)rank * bytes, MPI_BYTE, filetype, "native", info) == MPI_SUCCESS, "set_view");
  MPI_Type_free(&piece);
  MPI_Type_free(&filetype);
}

static void fill(unsigned char* data, int blocks, int bytes, int seed) {
  for (int i = 0; i < blocks; ++i) {
    for (int b = 0; b < bytes; ++b) data[i * bytes + b] = value_at(((long long)i * ranks + rank) * bytes + b, seed);
  }
}

static void show(MPI_File file, const char* when) {
  MPI_Info info;
  check(MPI_File_get_info(file, &info) == MPI_SUCCESS, "get_info");
  int keys = 0;
  MPI_Info_get_nkeys(info, &keys);
  for (int i = 0; i < keys && rank == 0; ++i) {
    char key[MPI_MAX_INFO_KEY + 1];
    char value[256] = "";
    int found = 0;
    MPI_Info_get_nthkey(info, i, key);
    MPI_Info_get(info, key, sizeof value - 1, value, &found);
    printf("%s %s=%s\n", when, key, value);
  }
  MPI_Info_free(&info);
}

static void write_and_read(MPI_File file, unsigned char* data, unsigned char* back, int blocks, int bytes, int seed) {
  MPI_Status status;
  fill(data, blocks, bytes, seed);
  check(MPI_File_write_at_all(file, 0, data, blocks * bytes, MPI_BYTE, &status) == MPI_SUCCESS, "write_at_all");
  check_count(&status, blocks * bytes, "write_at_all: count");
  memset(back, 0, (size_t)blocks * bytes);
  check(MPI_File_read_at_all(file, 0, back, blocks * bytes, MPI_BYTE, &status) == MPI_SUCCESS, "read_at_all");
  check_count(&status, blocks * bytes, "read_at_all: count");
  check(memcmp(data, back, (size_t)blocks * bytes) == 0, "read_at_all: data");
}

/* Hints given at each of the three places, and told in between. */
static void hints(MPI_File file, unsigned char* data, unsigned char* back, int blocks, int bytes) {
  show(file, "open");
  set_view(file, 0, bytes, MPI_INFO_NULL);
  write_and_read(file, data, back, blocks, bytes, 1);
  show(file, "written");
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_nodes", "1");
  MPI_Info_set(info, "striping_unit", "131072");
  set_view(file, 0, bytes, info);
  write_and_read(file, data, back, blocks, bytes, 2);
  show(file, "viewed");
  MPI_Info_set(info, "cb_buffer_size", "32768");
  MPI_Info_set(info, "iez_mode", "collective");
  /* What other ranks say does not count, but must not confuse anybody. */
  if (rank == 1) MPI_Info_set(info, "cb_nodes", "7");
  check(MPI_File_set_info(file, info) == MPI_SUCCESS, "set_info");
  write_and_read(file, data, back, blocks, bytes, 3);
  show(file, "informed");
  MPI_Info_free(&info);
}

/* Served by nobody, until a hint says otherwise. */
static void off(MPI_File file, unsigned char* data, unsigned char* back, int blocks, int bytes) {
  set_view(file, 0, bytes, MPI_INFO_NULL);
  write_and_read(file, data, back, blocks, bytes, 1);
  show(file, "off");
  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "iez_mode", "collective");
  check(MPI_File_set_info(file, info) == MPI_SUCCESS, "set_info");
  write_and_read(file, data, back, blocks, bytes, 2);
  show(file, "on");
  MPI_Info_set(info, "iez_mode", "off");
  check(MPI_File_set_info(file, info) == MPI_SUCCESS, "set_info");
  write_and_read(file, data, back, blocks, bytes, 3);
  MPI_Info_free(&info);
}

static void await(MPI_Request* requests, MPI_Status* statuses, int way) {
  int done = 0;
  int index = 0;
  switch (way) {
    case 0:
      for (int i = 0; i < 2; ++i) MPI_Wait(&requests[i], &statuses[i]);
      break;
    case 1:
      MPI_Waitall(2, requests, statuses);
      break;
    case 2:
      while (!done) MPI_Testall(2, requests, &done, statuses);
      break;
    case 3:
      for (int i = 0; i < 2; ++i) {
        MPI_Status status;
        MPI_Waitany(2, requests, &index, &status);
        check(index == 0 || index == 1, "waitany");
        if (index == 0 || index == 1) statuses[index] = status;
      }
      break;
    default:
      for (int i = 0; i < 2; ++i) {
        for (done = 0; !done;) MPI_Test(&requests[i], &done, &statuses[i]);
      }
  }
  check(requests[0] == MPI_REQUEST_NULL && requests[1] == MPI_REQUEST_NULL, "requests that are complete");
}

static void requests(MPI_File file, unsigned char* data, unsigned char* back, int blocks, int bytes) {
  const int all = blocks * bytes;
  unsigned char* const more = malloc((size_t)all);
  unsigned char* const back2 = malloc((size_t)all);
  set_view(file, 0, bytes, MPI_INFO_NULL);
  for (int way = 0; way < 5; ++way) {
    MPI_Request two[2];
    MPI_Status statuses[2];
    fill(data, blocks, bytes, 10 + way);
    fill(more, blocks, bytes, 20 + way);
    MPI_File_seek(file, 0, MPI_SEEK_SET);
    check(MPI_File_iwrite_all(file, data, all, MPI_BYTE, &two[0]) == MPI_SUCCESS, "iwrite_all");
    check(MPI_File_iwrite_at_all(file, all, more, all, MPI_BYTE, &two[1]) == MPI_SUCCESS, "iwrite_at_all");
    await(two, statuses, way);
    for (int i = 0; i < 2; ++i) check_count(&statuses[i], all, "count of a write");
    memset(back, 0, (size_t)all);
    memset(back2, 0, (size_t)all);
    MPI_File_iread_at_all(file, 0, back, all, MPI_BYTE, &two[0]);
    MPI_File_iread_all(file, back2, all, MPI_BYTE, &two[1]);
    await(two, statuses, way);
    for (int i = 0; i < 2; ++i) check_count(&statuses[i], all, "count of a read");
    check(memcmp(data, back, (size_t)all) == 0 && memcmp(more, back2, (size_t)all) == 0, "data of a read");
  }

  /* A rank that waits for its write works for one that sends to it before it writes, however large the message is. */
  const int large = 4 << 20;
  unsigned char* const message = malloc((size_t)large);
  memset(message, rank, (size_t)large);
  MPI_Request receive = MPI_REQUEST_NULL;
  MPI_Request write;
  if (rank == 0) MPI_Irecv(message, large, MPI_BYTE, 1, 5, MPI_COMM_WORLD, &receive);
  if (rank == 1) MPI_Send(message, large, MPI_BYTE, 0, 5, MPI_COMM_WORLD);
  MPI_File_iwrite_at_all(file, 0, data, all, MPI_BYTE, &write);
  MPI_Wait(&write, MPI_STATUS_IGNORE);
  MPI_Wait(&receive, MPI_STATUS_IGNORE);
  if (rank == 0) check(message[0] == 1 && message[large - 1] == 1, "a message beside a write");
  free(message);
  free(more);
  free(back2);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3 && argc != 5) return 2;
  const char* const what = argv[2];
  const int blocks = argc == 5 ? atoi(argv[3]) : 64;
  const int bytes = argc == 5 ? atoi(argv[4]) : 1000;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  unsigned char* const data = malloc((size_t)blocks * bytes);
  unsigned char* const back = malloc((size_t)blocks * bytes);

  MPI_Info info;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  if (strcmp(what, "off") == 0) MPI_Info_set(info, "iez_mode", "off");
  if (strcmp(what, "pattern") == 0) MPI_Info_set(info, "cb_buffer_size", "8388608");
  MPI_File file;
  check(MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, info, &file) == MPI_SUCCESS, "open");
  if (strcmp(what, "info") == 0) hints(file, data, back, blocks, bytes);
  if (strcmp(what, "off") == 0) off(file, data, back, blocks, bytes);
  if (strcmp(what, "requests") == 0) requests(file, data, back, blocks, bytes);
  if (strcmp(what, "pattern") == 0) {
    set_view(file, 0, bytes, MPI_INFO_NULL);
    write_and_read(file, data, back, blocks, bytes, 1);
  }
  check(MPI_File_close(&file) == MPI_SUCCESS && file == MPI_FILE_NULL, "close");
  MPI_Info_free(&info);
  int all = 0;
  MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("%d wrong\n", all);
  free(data);
  free(back);
  MPI_Finalize();
  return all != 0;
}
