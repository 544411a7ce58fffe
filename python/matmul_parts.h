// The division of a matrix product among threads: a grid of parts of C. Arithmetic only.
#ifndef ISAGEN_PYTHON_MATMUL_PARTS_H
#define ISAGEN_PYTHON_MATMUL_PARTS_H

#include <stddef.h>

// Columns are distributed in groups of this size, a multiple of every level's micro tiles; rows are distributed singly.
constexpr size_t part_columns = 64;

// A grid: the numbers of parts of the rows and of the columns of C.
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

// Returns the first unit of part `i` of `parts` of `size` units, distributed in groups of `group`. Parts differ by at
// most one group.
inline size_t begin_of(size_t i, size_t parts, size_t size, size_t group)
{
  const size_t begin = divided(size, group) * i / parts * group;
  return begin < size ? begin : size;
}

// Returns the number of units of the largest part.
inline size_t largest_of(size_t parts, size_t size, size_t group)
{
  const size_t last = begin_of(parts - 1, parts, size, group); // the other parts have whole groups
  const size_t others = parts > 1 ? divided(last / group, parts - 1) * group : 0;
  return others > size - last ? others : size - last;
}

// Returns the grid of at most `most` parts whose largest part is smallest, because the product takes as long as that
// part. Among equals: the one with the fewest rows of A and columns of B to pack in a part, then the one with fewer
// parts of rows. m, n and `most` are at least 1.
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

// Returns part `i` of a grid over C[m][n].
inline Part part_of(const Parts &parts, size_t i, size_t m, size_t n)
{
  const size_t row = i / parts.columns, column = i % parts.columns;
  return {begin_of(row, parts.rows, m, 1), begin_of(row + 1, parts.rows, m, 1),
          begin_of(column, parts.columns, n, part_columns), begin_of(column + 1, parts.columns, n, part_columns)};
}

#endif
