/* Variables of all processes in one netCDF file by PnetCDF: blocks, interleaved columns, nonblocking puts that are written together,
   records, and independent access. All is read back in another cut and compared. usage: pnetcdf_arrays FILE */
#include <mpi.h>
#include <pnetcdf.h>
#include <stdio.h>
#include <stdlib.h>

static int rank = 0;
static int ranks = 1;
static int wrong = 0;

static void check(int code, const char* what) {
  if (code == NC_NOERR) return;
  ++wrong;
  fprintf(stderr, "pnetcdf_arrays: rank %d: %s: %s\n", rank, what, ncmpi_strerror(code));
}

static double value_at(int variable, MPI_Offset element) { return variable * 1e9 + (double)element * 0.25; }

/* The values of a part of a 2-D variable, rows first. */
static double* part_of(int variable, MPI_Offset columns, const MPI_Offset* start, const MPI_Offset* count, const MPI_Offset* stride) {
  double* const values = calloc((size_t)(count[0] * count[1]) + 1, sizeof(double));
  size_t i = 0;
  for (MPI_Offset r = 0; r < count[0]; ++r) {
    for (MPI_Offset c = 0; c < count[1]; ++c, ++i) {
      values[i] = value_at(variable, (start[0] + r * stride[0]) * columns + start[1] + c * stride[1]);
    }
  }
  return values;
}

static void put(int file, int variable, int id, MPI_Offset columns, const MPI_Offset* start, const MPI_Offset* count,
                const MPI_Offset* stride) {
  double* const values = part_of(variable, columns, start, count, stride);
  check(ncmpi_put_vars_double_all(file, id, start, count, stride, values), "put");
  free(values);
}

static void compare(int file, int variable, int id, MPI_Offset columns, const MPI_Offset* start, const MPI_Offset* count,
                    const MPI_Offset* stride) {
  double* const values = part_of(variable, columns, start, count, stride);
  double* const found = calloc((size_t)(count[0] * count[1]) + 1, sizeof(double));
  check(ncmpi_get_vars_double_all(file, id, start, count, stride, found), "get");
  for (MPI_Offset i = 0; i < count[0] * count[1]; ++i) wrong += found[i] != values[i];
  free(found);
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const MPI_Offset me = rank;
  const MPI_Offset all = ranks;
  const MPI_Offset one[2] = {1, 1};
  enum { kBlocks, kStripes, kLater, kMore, kAlone, kRecords, kVariables };
  const char* const names[kVariables] = {"blocks", "stripes", "later", "more", "alone", "records"};
  int file = 0;
  int ids[kVariables];
  int dimensions[4];

  check(ncmpi_create(MPI_COMM_WORLD, argv[1], NC_CLOBBER | NC_64BIT_DATA, MPI_INFO_NULL, &file), "create");
  check(ncmpi_def_dim(file, "rows", 40 * all, &dimensions[0]), "def_dim");
  check(ncmpi_def_dim(file, "columns", 50, &dimensions[1]), "def_dim");
  check(ncmpi_def_dim(file, "wide", 7 * all, &dimensions[2]), "def_dim");
  check(ncmpi_def_dim(file, "time", NC_UNLIMITED, &dimensions[3]), "def_dim");
  for (int i = 0; i < kVariables; ++i) {
    int used[2] = {dimensions[0], i == kStripes ? dimensions[2] : dimensions[1]};
    if (i == kRecords) used[0] = dimensions[3];
    check(ncmpi_def_var(file, names[i], NC_DOUBLE, 2, used, &ids[i]), "def_var");
  }
  check(ncmpi_put_att_text(file, NC_GLOBAL, "title", 5, "seven"), "put_att");
  check(ncmpi_enddef(file), "enddef");

  const MPI_Offset block_start[2] = {40 * me, 0};
  const MPI_Offset block_count[2] = {40, 50};
  put(file, kBlocks, ids[kBlocks], 50, block_start, block_count, one);
  const MPI_Offset stripe_start[2] = {0, me};
  const MPI_Offset stripe_count[2] = {40 * all, 7};
  const MPI_Offset stripe_stride[2] = {1, all};
  put(file, kStripes, ids[kStripes], 7 * all, stripe_start, stripe_count, stripe_stride);

  double* const later = part_of(kLater, 50, block_start, block_count, one);
  double* const more = part_of(kMore, 50, block_start, block_count, one);
  int requests[2];
  check(ncmpi_iput_vara_double(file, ids[kLater], block_start, block_count, later, &requests[0]), "iput");
  check(ncmpi_iput_vara_double(file, ids[kMore], block_start, block_count, more, &requests[1]), "iput");
  int statuses[2] = {NC_NOERR, NC_NOERR};
  check(ncmpi_wait_all(file, 2, requests, statuses), "wait_all");
  check(statuses[0], "first iput");
  check(statuses[1], "second iput");
  free(more);
  free(later);

  /* PnetCDF opens the file a second time for this, each process by itself. */
  double* const alone = part_of(kAlone, 50, block_start, block_count, one);
  check(ncmpi_begin_indep_data(file), "begin_indep_data");
  check(ncmpi_put_vara_double(file, ids[kAlone], block_start, block_count, alone), "put_vara");
  double first = 0;
  check(ncmpi_get_var1_double(file, ids[kBlocks], block_start, &first), "get_var1");
  wrong += first != value_at(kBlocks, block_start[0] * 50);
  check(ncmpi_end_indep_data(file), "end_indep_data");
  free(alone);

  const MPI_Offset record_start[2] = {me, 0};
  const MPI_Offset record_count[2] = {1, 50};
  put(file, kRecords, ids[kRecords], 50, record_start, record_count, one);
  check(ncmpi_close(file), "close");

  check(ncmpi_open(MPI_COMM_WORLD, argv[1], NC_NOWRITE, MPI_INFO_NULL, &file), "open");
  for (int i = 0; i < kVariables; ++i) check(ncmpi_inq_varid(file, names[i], &ids[i]), "inq_varid");
  const MPI_Offset row_start[2] = {me, 0};
  const MPI_Offset row_stride[2] = {all, 1};
  for (int i = 0; i < kRecords; ++i) {
    const MPI_Offset columns = i == kStripes ? 7 * all : 50;
    const MPI_Offset count[2] = {40, columns};
    compare(file, i, ids[i], columns, row_start, count, row_stride);
  }
  const MPI_Offset record_back[2] = {all - 1 - me, 0};
  compare(file, kRecords, ids[kRecords], 50, record_back, record_count, one);
  check(ncmpi_close(file), "close");
  int all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("pnetcdf_arrays: %d ranks, %d wrong\n", ranks, all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
