// Calls functions of rows for rows along any axes of an array. Rows are copied in blocks if their items are not
// neighbours, or have another type than the function computes with.
#ifndef ISAGEN_PYTHON_ALONG_H
#define ISAGEN_PYTHON_ALONG_H

#include "buffer.h"
#include "call.h"
#include "parallel.h"

#include <algorithm>
#include <atomic>

// Some axes of an array, in order: their lengths, the bytes from one index to the next, and the items from one to the
// next in an array of the same shape without gaps.
struct Axes {
  int count = 0;
  size_t positions = 1, lengths[PyBUF_MAX_NDIM];
  ptrdiff_t bytes[PyBUF_MAX_NDIM], dense[PyBUF_MAX_NDIM];
  void add(size_t length, ptrdiff_t byte_step, ptrdiff_t dense_step)
  {
    positions *= length;
    lengths[count] = length;
    bytes[count] = byte_step;
    dense[count++] = dense_step;
  }
  void take_last(size_t *length, ptrdiff_t *byte_step, ptrdiff_t *dense_step)
  {
    if (count == 0)
      return;
    *length = lengths[--count];
    *byte_step = bytes[count];
    *dense_step = dense[count];
  }
};

// Calls f(offset) for `count` positions of some axes in C order, from the one numbered `first`. `steps` are those of the
// axes, `bytes` or `dense`. No axis is empty.
template <typename F>
void for_positions(const Axes &axes, const ptrdiff_t *steps, size_t first, size_t count, const F &f)
{
  size_t index[PyBUF_MAX_NDIM];
  ptrdiff_t offset = 0;
  for (int i = axes.count - 1; i >= 0; i--) {
    index[i] = first % axes.lengths[i];
    first /= axes.lengths[i];
    offset += static_cast<ptrdiff_t>(index[i]) * steps[i];
  }
  for (; count > 0; count--) {
    f(offset);
    for (int i = axes.count - 1; i >= 0; i--) {
      offset += steps[i];
      if (++index[i] < axes.lengths[i])
        break;
      offset -= static_cast<ptrdiff_t>(axes.lengths[i]) * steps[i];
      index[i] = 0;
    }
  }
}

// The order in which the axes of an array are walked: that of its shape. A reduction walks in the order of memory if the
// items have no gaps there, and the axes that are not reduced keep their order. Then the results keep their order too.
struct Walk {
  int axes[PyBUF_MAX_NDIM] = {};
  bool is_dense; // the items are neighbours in this order
  explicit Walk(const Buffer &src) : is_dense(src.is_contiguous())
  {
    for (int i = 0; i < src.axes(); i++)
      axes[i] = i;
  }
  Walk(const Buffer &src, uint64_t along) : Walk(src)
  {
    Walk other = *this;
    std::sort(other.axes, other.axes + src.axes(), [&](int a, int b) {
      return src.stride(a) != src.stride(b) ? src.stride(a) > src.stride(b) : a < b;
    });
    ptrdiff_t step = static_cast<ptrdiff_t>(src.item_size());
    int next_kept = src.axes(); // the axis after the current one in memory that is not reduced
    other.is_dense = true;
    for (int i = src.axes() - 1; i >= 0; i--) {
      const int axis = other.axes[i];
      const bool is_kept = src.axis(axis) != 1 && !(along >> axis & 1);
      other.is_dense = other.is_dense && (src.axis(axis) == 1 || src.stride(axis) == step) && !(is_kept && axis > next_kept);
      step *= static_cast<ptrdiff_t>(src.axis(axis));
      next_kept = is_kept ? axis : next_kept;
    }
    if (!is_dense && other.is_dense)
      *this = other;
  }
};

// The rows of an array: the items along some of its axes, a row for each position of the other axes. Bit i of `along`
// stands for axis i. A regular array is [outer][n][inner] without gaps; of others, outer is the number of rows, n their
// length, and inner 1. `across` has the other axes. `within` has the axes of a row; unless the array is regular, without the
// last one, along which the items are a run.
struct Span {
  size_t outer = 1, n = 1, inner = 1, run = 1;
  ptrdiff_t run_bytes = 0, run_dense = 0;
  bool is_regular;
  Axes across, within;
  Span(const Buffer &src, uint64_t along) : Span(src, along, Walk(src)) {}
  Span(const Buffer &src, uint64_t along, const Walk &walk) : is_regular(walk.is_dense)
  {
    ptrdiff_t dense = static_cast<ptrdiff_t>(src.items());
    size_t *part = &outer;
    for (int at = 0; at < src.axes(); at++) {
      const int i = walk.axes[at];
      const size_t length = src.axis(i);
      const bool is_along = along >> i & 1;
      dense = length > 0 ? dense / static_cast<ptrdiff_t>(length) : 0;
      (is_along ? within : across).add(length, src.stride(i), dense);
      if (is_along && part == &outer)
        part = &n;
      else if (!is_along && part == &n)
        part = &inner;
      is_regular = is_regular && is_along == (part == &n);
      *part *= length;
    }
    if (!is_regular) {
      outer = across.positions;
      n = within.positions;
      inner = 1;
      within.take_last(&run, &run_bytes, &run_dense);
    }
  }
  size_t rows() const { return outer * inner; }
};

// `object` is the number of an axis, whose bit is set in *along. Returns false with an exception set if there is no such
// axis, or if its bit is set already. An item without axes counts as having one.
inline bool take_axis(PyObject *object, int axes, uint64_t *along)
{
  Integer axis{"axis"};
  if (!take_integer(object, &axis))
    return false;
  const int most = axes > 0 ? axes : 1;
  if (axis.value < -most || axis.value >= most) {
    PyObject *const refuse = helper("refuse_axis");
    Py_XDECREF(refuse ? PyObject_CallFunction(refuse, "Oi", object, axes) : nullptr);
    Py_XDECREF(refuse);
    return false;
  }
  const uint64_t bit = uint64_t(1) << (axis.value < 0 ? axis.value + most : axis.value);
  if (*along & bit) {
    PyErr_Format(PyExc_ValueError, "duplicate value in 'axis': name axis %ld once", axis.value);
    return false;
  }
  *along |= bit;
  return true;
}

// Sets the bits of the axes that the argument `axis` names: all for None, none for an empty tuple. Returns false with an
// exception set.
inline bool take_axes(PyObject *axis, bool may_be_tuple, const Buffer &src, uint64_t *along)
{
  *along = 0;
  if (axis == Py_None) {
    *along = ~uint64_t(0);
    return true;
  }
  if (may_be_tuple && PyTuple_Check(axis)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(axis); i++)
      if (!take_axis(PyTuple_GET_ITEM(axis, i), src.axes(), along))
        return false;
    return true;
  }
  if (PyIndex_Check(axis))
    return take_axis(axis, src.axes(), along);
  PyErr_Format(PyExc_TypeError, "axis must be None%s, not %.100s",
               may_be_tuple ? ", an integer or a tuple of integers" : " or an integer", Py_TYPE(axis)->tp_name);
  return false;
}

// A block of rows: those of `outers` x `inners` positions.
struct Block {
  size_t outer, outers, inner, inners;
  size_t rows() const { return outers * inners; }
};

// The division of an array into blocks of some 16384 items. Long rows are copied together with
// their neighbours: as many as a cache line has items, if there are so many.
struct Blocks {
  size_t outers, inners, across, count;
  Blocks(const Span &span, size_t item_size)
  {
    constexpr size_t target = 16384, line = 64;
    const size_t fit = target / span.n, least = line / item_size, wide = fit > least ? fit : least;
    inners = span.inner < wide ? span.inner : wide;
    outers = inners < span.inner || fit < span.inner ? 1 : fit / span.inner;
    across = (span.inner + inners - 1) / inners;
    count = (span.outer + outers - 1) / outers * across;
  }
  Block operator()(size_t i, const Span &span) const
  {
    const size_t outer = i / across * outers, inner = i % across * inners;
    return {outer, span.outer - outer < outers ? span.outer - outer : outers, inner,
            span.inner - inner < inners ? span.inner - inner : inners};
  }
};

// Writes to[j][i] = from[i][j], i < lines and j < items, converted to T; lines begin `stride` items apart. Pointers may
// have any alignment. Tiles of 8 x 8 fit into the registers. Their eight lines also fit into one set of
// the cache, which they share if the stride is a power of two.
template <typename T, typename From>
void transpose(char *to, size_t to_stride, const char *from, size_t from_stride, size_t lines, size_t items)
{
  constexpr size_t most = 8;
  for (size_t i = 0; i < lines; i += most)
    for (size_t j = 0; j < items; j += most) {
      const size_t high = lines - i < most ? lines - i : most, wide = items - j < most ? items - j : most;
      From tile[most][most];
      T turned[most][most];
      if (high == most && wide == most) {
        for (size_t u = 0; u < most; u++)
          memcpy(tile[u], from + ((i + u) * from_stride + j) * sizeof(From), sizeof tile[u]);
        for (size_t v = 0; v < most; v++)
          for (size_t u = 0; u < most; u++)
            turned[v][u] = static_cast<T>(tile[u][v]);
        for (size_t v = 0; v < most; v++)
          memcpy(to + ((j + v) * to_stride + i) * sizeof(T), turned[v], sizeof turned[v]);
        continue;
      }
      for (size_t u = 0; u < high; u++)
        for (size_t v = 0; v < wide; v++) {
          memcpy(tile[0], from + ((i + u) * from_stride + j + v) * sizeof(From), sizeof(From));
          turned[0][0] = static_cast<T>(tile[0][0]);
          memcpy(to + ((j + v) * to_stride + i + u) * sizeof(T), turned[0], sizeof(T));
        }
    }
}

// Copies a block of `items` to rows without gaps, converted to T.
template <typename T, typename From> void gather(T *rows, const void *items, const Span &span, const Block &block)
{
  const char *const from = static_cast<const char *>(items);
  char *const to = reinterpret_cast<char *>(rows);
  for (size_t o = 0; o < block.outers; o++)
    transpose<T, From>(to + o * block.inners * span.n * sizeof(T), span.n,
                       from + ((block.outer + o) * span.n * span.inner + block.inner) * sizeof(From), span.inner, span.n,
                       block.inners);
}

// Copies `count` items that are `step` bytes apart, converted to T.
template <typename T, typename From> void convert_items(T *to, const char *from, ptrdiff_t step, size_t count)
{
  for (size_t i = 0; i < count; i++) {
    From item;
    memcpy(&item, from + static_cast<ptrdiff_t>(i) * step, sizeof item);
    to[i] = static_cast<T>(item);
  }
}

// Copies a block of rows whose items are neighbours.
template <typename T, typename From> void convert_rows(T *rows, const void *items, const Span &span, const Block &block)
{
  const char *const from = static_cast<const char *>(items) + block.outer * span.n * sizeof(From);
  convert_items<T, From>(rows, from, sizeof(From), block.outers * span.n);
}

// Copies a block of rows of an array that is not regular.
template <typename T, typename From> void gather_strided(T *rows, const void *items, const Span &span, const Block &block)
{
  const char *const from = static_cast<const char *>(items);
  for_positions(span.across, span.across.bytes, block.outer, block.outers, [&](ptrdiff_t row) {
    for_positions(span.within, span.within.bytes, 0, span.n / span.run, [&](ptrdiff_t place) {
      if (span.run_bytes == sizeof(From))
        convert_items<T, From>(rows, from + row + place, sizeof(From), span.run);
      else
        convert_items<T, From>(rows, from + row + place, span.run_bytes, span.run);
      rows += span.run;
    });
  });
}

// Copies rows without gaps to a block of `items`, an array of the shape of src without gaps.
template <typename T> void scatter(T *items, const T *rows, const Span &span, const Block &block)
{
  if (!span.is_regular) {
    for_positions(span.across, span.across.dense, block.outer, block.outers, [&](ptrdiff_t row) {
      for_positions(span.within, span.within.dense, 0, span.n / span.run, [&](ptrdiff_t place) {
        char *const to = reinterpret_cast<char *>(items) + (row + place) * static_cast<ptrdiff_t>(sizeof(T));
        const ptrdiff_t step = span.run_dense * static_cast<ptrdiff_t>(sizeof(T));
        if (span.run_dense == 1)
          memcpy(to, rows, span.run * sizeof(T));
        else
          for (size_t i = 0; i < span.run; i++)
            memcpy(to + static_cast<ptrdiff_t>(i) * step, rows + i, sizeof(T));
        rows += span.run;
      });
    });
    return;
  }
  const char *const from = reinterpret_cast<const char *>(rows);
  char *const to = reinterpret_cast<char *>(items);
  for (size_t o = 0; o < block.outers; o++)
    transpose<T, T>(to + ((block.outer + o) * span.n * span.inner + block.inner) * sizeof(T), span.inner,
                    from + o * block.inners * span.n * sizeof(T), span.n, block.inners, span.n);
}

template <typename T> using Gather = void (*)(T *rows, const void *items, const Span &span, const Block &block);

template <typename T, typename From> Gather<T> gather_of(const Span &span)
{
  return !span.is_regular ? gather_strided<T, From> : span.inner == 1 ? convert_rows<T, From> : gather<T, From>;
}

// Returns the function that copies items of a type of number_types.
template <typename T> Gather<T> gather_from(int type, const Span &span)
{
  switch (type) {
  case FLOAT32: return gather_of<T, float>(span);
  case FLOAT64: return gather_of<T, double>(span);
  case INT32: return gather_of<T, int32_t>(span);
  case INT8: return gather_of<T, int8_t>(span);
  default: return gather_of<T, uint8_t>(span);
  }
}

// The index of T in number_types.
template <typename T> constexpr int number_type_of();
template <> constexpr int number_type_of<float>() { return FLOAT32; }
template <> constexpr int number_type_of<double>() { return FLOAT64; }
template <> constexpr int number_type_of<int32_t>() { return INT32; }
template <> constexpr int number_type_of<int8_t>() { return INT8; }
template <> constexpr int number_type_of<uint8_t>() { return UINT8; }

// Returns whether the rows can be read where they are: they have no gaps, their items are neighbours and of type T.
template <typename T> bool is_in_place(const Buffer &src, const Span &span)
{
  return span.n == 0 || (span.is_regular && (span.inner == 1 || span.n == 1) && src.type() == number_type_of<T>());
}

// Calls f(rows, block, threads) for every block of rows, copied and converted to T, in threads. Returns false if there
// is no memory or f returns false.
template <typename T, typename F> bool for_blocks(const Buffer &src, const Span &span, int threads, const F &f)
{
  const Blocks blocks(span, sizeof(T));
  const Gather<T> copy = gather_from<T>(src.type(), span);
  const void *const items = src.as<const void>();
  std::atomic<bool> done(true);
  const size_t rows = blocks.outers * blocks.inners, block_items = rows * span.n;
  const bool is_single = blocks.count == 1; // then its rows are divided, and otherwise the blocks
  parallel_for(
      0, blocks.count, grain_of(block_items, 65536),
      [&](size_t first, size_t last) {
        Scratch<T> scratch(block_items);
        bool all = static_cast<bool>(scratch);
        for (size_t i = first; all && i < last; i++) {
          const Block block = blocks(i, span);
          copy(scratch.data(), items, span, block);
          all = f(scratch.data(), block, is_single ? threads : 1);
        }
        if (!all)
          done = false;
      },
      threads);
  return done;
}

// Writes f of every row to a row of dst, which has the shape of src: f(dst, src, rows, columns, threads).
template <typename T, typename F> bool scan_along(T *dst, const Buffer &src, const Span &span, int threads, const F &f)
{
  if (is_in_place<T>(src, span))
    return f(dst, src.as<const T>(), span.rows(), span.n, threads);
  return for_blocks<T>(src, span, threads, [&](T *rows, const Block &block, int few) {
    if (!f(rows, rows, block.rows(), span.n, few))
      return false;
    scatter(dst, rows, span, block);
    return true;
  });
}

// Writes f of every row to an item of dst: f(dst, src, rows, columns, threads).
template <typename T, typename Out, typename F>
bool reduce_along(Out *dst, const Buffer &src, const Span &span, int threads, const F &f)
{
  if (is_in_place<T>(src, span))
    return f(dst, src.as<const T>(), span.rows(), span.n, threads);
  return for_blocks<T>(src, span, threads, [&](const T *rows, const Block &block, int few) {
    char *const to = reinterpret_cast<char *>(dst) + (block.outer * span.inner + block.inner) * sizeof(Out);
    return f(reinterpret_cast<Out *>(to), rows, block.rows(), span.n, few);
  });
}

#endif
