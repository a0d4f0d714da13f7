/* Arrays of all processes in one HDF5 file, by collective calls: rows, interleaved columns, chunks, blocks with a margin in memory, and
   an array of which some processes have nothing. All is read back in another cut and compared. The file has no times in it: the same
   run makes the same bytes. usage: hdf5_arrays FILE */
#include <hdf5.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank = 0;
static int ranks = 1;
static int wrong = 0;
static hid_t file = -1;
static hid_t transfer = -1;
static hid_t creation = -1;

static void expect(int well, const char* what) {
  if (well) return;
  ++wrong;
  fprintf(stderr, "hdf5_arrays: rank %d: %s\n", rank, what);
}

static double value_at(int array, hsize_t element) { return array * 1e9 + (double)element * 0.5; }

/* One array of so many rows and columns. Each process takes the hyperslab that starts, strides, counts and blocks say. */
typedef struct {
  hsize_t start[2], stride[2], count[2], block[2];
} Slab;

static hsize_t elements_of(const Slab* slab) { return slab->count[0] * slab->block[0] * slab->count[1] * slab->block[1]; }

/* visits in the order of the selection: rows first */
static void each(const Slab* slab, hsize_t columns, double* values, int array, int compare) {
  hsize_t i = 0;
  for (hsize_t r = 0; r < slab->count[0] * slab->block[0]; ++r) {
    const hsize_t row = slab->start[0] + r / slab->block[0] * slab->stride[0] + r % slab->block[0];
    for (hsize_t c = 0; c < slab->count[1] * slab->block[1]; ++c, ++i) {
      const hsize_t column = slab->start[1] + c / slab->block[1] * slab->stride[1] + c % slab->block[1];
      const double value = value_at(array, row * columns + column);
      if (!compare) {
        values[i] = value;
      } else if (values[i] != value) {
        ++wrong;
      }
    }
  }
}

static void move(hid_t data, const Slab* slab, hsize_t columns, int array, int write) {
  const hsize_t count = elements_of(slab);
  double* const values = calloc(count + 1, sizeof(double));
  const hid_t space = H5Dget_space(data);
  const hid_t memory = H5Screate_simple(1, &count, NULL);
  if (count == 0) {
    H5Sselect_none(space);
    H5Sselect_none(memory);
  } else {
    H5Sselect_hyperslab(space, H5S_SELECT_SET, slab->start, slab->stride, slab->count, slab->block);
  }
  if (write) {
    each(slab, columns, values, array, 0);
    expect(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "H5Dwrite");
  } else {
    expect(H5Dread(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "H5Dread");
    each(slab, columns, values, array, 1);
  }
  H5Sclose(memory);
  H5Sclose(space);
  free(values);
}

static hid_t made(const char* name, hsize_t rows, hsize_t columns, hid_t properties) {
  const hsize_t size[2] = {rows, columns};
  const hid_t space = H5Screate_simple(2, size, NULL);
  const hid_t data = H5Dcreate2(file, name, H5T_IEEE_F64LE, space, H5P_DEFAULT, properties, H5P_DEFAULT);
  expect(data >= 0, name);
  H5Sclose(space);
  return data;
}

/* A block of a 2-D array from the middle of a larger one in memory. */
static void write_with_margin(hid_t data, hsize_t columns, int array) {
  const hsize_t size[2] = {12, columns + 4};
  const hsize_t from[2] = {1, 2};
  const hsize_t part[2] = {10, columns};
  const hsize_t to[2] = {10 * (hsize_t)rank, 0};
  double* const values = calloc(size[0] * size[1], sizeof(double));
  for (hsize_t r = 0; r < part[0]; ++r) {
    for (hsize_t c = 0; c < part[1]; ++c) values[(r + from[0]) * size[1] + c + from[1]] = value_at(array, (to[0] + r) * columns + c);
  }
  const hid_t memory = H5Screate_simple(2, size, NULL);
  const hid_t space = H5Dget_space(data);
  H5Sselect_hyperslab(memory, H5S_SELECT_SET, from, NULL, part, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, to, NULL, part, NULL);
  expect(H5Dwrite(data, H5T_NATIVE_DOUBLE, memory, space, transfer, values) >= 0, "H5Dwrite with a margin");
  H5Sclose(space);
  H5Sclose(memory);
  free(values);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 2) return 2;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const hid_t access = H5Pcreate(H5P_FILE_ACCESS);
  H5Pset_fapl_mpio(access, MPI_COMM_WORLD, MPI_INFO_NULL);
  H5Pset_coll_metadata_write(access, 1);
  creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_obj_track_times(creation, 0);
  transfer = H5Pcreate(H5P_DATASET_XFER);
  H5Pset_dxpl_mpio(transfer, H5FD_MPIO_COLLECTIVE);
  const hid_t chunked = H5Pcopy(creation);
  const hsize_t chunk[2] = {16, 24};
  H5Pset_chunk(chunked, 2, chunk);

  file = H5Fcreate(argv[1], H5F_ACC_TRUNC, H5P_DEFAULT, access);
  expect(file >= 0, "H5Fcreate");
  const hsize_t me = (hsize_t)rank;
  const hsize_t all = (hsize_t)ranks;
  const Slab rows = {{me * 50, 0}, {1, 1}, {50, 100}, {1, 1}};
  const Slab stripes = {{0, me * 3}, {1, all * 3}, {60, 11}, {1, 3}};
  const Slab chunks = {{me * 20, 0}, {1, 1}, {20, 42}, {1, 1}};
  const hsize_t even = (all + 1) / 2; /* every byte is written by somebody: what nobody writes may be anything */
  const Slab some = {{me / 2, 0}, {even, 1}, {rank % 2 == 0 ? 4 : 0, 33}, {1, 1}};
  hid_t data[5] = {made("rows", 50 * all, 100, creation), made("stripes", 60, 33 * all, creation),
                   made("chunks", 20 * all, 42, chunked), made("margin", 10 * all, 77, creation), made("some", 4 * even, 33, creation)};
  move(data[0], &rows, 100, 1, 1);
  move(data[1], &stripes, 33 * all, 2, 1);
  move(data[2], &chunks, 42, 3, 1);
  write_with_margin(data[3], 77, 4);
  move(data[4], &some, 33, 5, 1);
  for (int i = 0; i < 5; ++i) H5Dclose(data[i]);
  expect(H5Fclose(file) >= 0, "H5Fclose");

  file = H5Fopen(argv[1], H5F_ACC_RDONLY, access);
  expect(file >= 0, "H5Fopen");
  const Slab columns = {{me, 0}, {all, 1}, {50, 100}, {1, 1}};
  const Slab blocks = {{0, me * 33}, {1, 1}, {60, 33}, {1, 1}};
  const Slab margin = {{me * 10, 0}, {1, 2}, {10, 39}, {1, 1}};
  const char* const names[5] = {"rows", "stripes", "chunks", "margin", "some"};
  for (int i = 0; i < 5; ++i) data[i] = H5Dopen2(file, names[i], H5P_DEFAULT);
  move(data[0], &columns, 100, 1, 0);
  move(data[1], &blocks, 33 * all, 2, 0);
  move(data[2], &chunks, 42, 3, 0);
  move(data[3], &margin, 77, 4, 0);
  move(data[4], &some, 33, 5, 0);
  for (int i = 0; i < 5; ++i) H5Dclose(data[i]);
  expect(H5Fclose(file) >= 0, "H5Fclose");
  H5Pclose(chunked);
  H5Pclose(transfer);
  H5Pclose(creation);
  H5Pclose(access);
  int all_wrong = 0;
  MPI_Allreduce(&wrong, &all_wrong, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("hdf5_arrays: %d ranks, %d wrong\n", ranks, all_wrong);
  MPI_Finalize();
  return all_wrong != 0;
}
