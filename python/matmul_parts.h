// How a matrix product is divided among threads: a grid of parts of C. Pure arithmetic.
#ifndef ISAGEN_PYTHON_MATMUL_PARTS_H
#define ISAGEN_PYTHON_MATMUL_PARTS_H

#include <stddef.h>

// Columns are dealt in groups of so many, which are whole micro tiles at every level; rows one by one.
constexpr size_t part_columns = 64;

// A grid: into how many parts the rows and the columns of C are divided.
struct Parts {
  size_t rows, columns;
  size_t count() const { return rows * columns; }
};

// One part: rows top .. bottom - 1, columns left .. right - 1.
struct Part {
  size_t top, bottom, left, right;
};

constexpr size_t divided(size_t n, size_t by)
{
  return n / by + (n % by != 0);
}

// Where part `i` of `parts` begins among `size` units, which are dealt in groups of `group`. Parts differ by one group
// at most.
inline size_t begin_of(size_t i, size_t parts, size_t size, size_t group)
{
  const size_t begin = divided(size, group) * i / parts * group;
  return begin < size ? begin : size;
}

// How many units the largest part has.
inline size_t largest_of(size_t parts, size_t size, size_t group)
{
  const size_t last = begin_of(parts - 1, parts, size, group); // whole groups lie before it, in the other parts
  const size_t others = parts > 1 ? divided(last / group, parts - 1) * group : 0;
  return others > size - last ? others : size - last;
}

// The grid of `most` parts or fewer whose largest part is the smallest, for that is what is waited for. Of several:
// every part packs its rows of A and its columns of B, so that it should have few of both; and no more parts than that
// takes. m, n and `most` are 1 or more.
inline Parts parts_of(size_t m, size_t n, size_t most)
{
  Parts best = {1, 1};
  size_t least = m * n, packed = m + n;
  for (size_t rows = 1; rows <= most && rows <= m; rows++)
    for (size_t columns = 1; columns <= most / rows && columns <= divided(n, part_columns); columns++) {
      const size_t high = largest_of(rows, m, 1), wide = largest_of(columns, n, part_columns);
      if (high * wide < least || (high * wide == least && high + wide < packed)) {
        best = {rows, columns};
        least = high * wide;
        packed = high + wide;
      }
    }
  return best;
}

// Part `i` of a grid over C[m][n].
inline Part part_of(const Parts &parts, size_t i, size_t m, size_t n)
{
  const size_t row = i / parts.columns, column = i % parts.columns;
  return {begin_of(row, parts.rows, m, 1), begin_of(row + 1, parts.rows, m, 1),
          begin_of(column, parts.columns, n, part_columns), begin_of(column + 1, parts.columns, n, part_columns)};
}

#endif
