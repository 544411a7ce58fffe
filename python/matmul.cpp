// Matrix products of isagen_kernels._core.
#include "buffer.h"
#include "call.h"
#include "matmul_parts.h"
#include "parallel.h"
#include "stubs/matmul.h"

#include <stdlib.h>

#include <atomic>
#include <memory>

ISA_DEFINE_DISPATCH(matmul_u8s8_stub)
ISA_DEFINE_DISPATCH(matmul_bf16_stub)
ISA_DEFINE_DISPATCH(matmul_fp16_stub)

namespace {

// Returns the thread's memory for packed blocks, or null if the allocation fails. It is kept for the next product.
void *workspace()
{
  struct Free {
    void operator()(void *memory) const { free(memory); }
  };
  thread_local std::unique_ptr<void, Free> kept;
  if (!kept)
    kept.reset(aligned_alloc(matmul_workspace_alignment, matmul_workspace_bytes));
  return kept.get();
}

// Returns whether `matrix` has two axes. Sets ValueError if not.
bool is_matrix(const Buffer &matrix)
{
  if (matrix.axes() == 2)
    return true;
  PyErr_Format(PyExc_ValueError, "%s must have two axes, but has %d", matrix.name(), matrix.axes());
  return false;
}

// Returns whether `out` is a matrix of this shape. Sets ValueError if not.
bool has_shape(const Buffer &out, size_t rows, size_t columns)
{
  if (!is_matrix(out))
    return false;
  if (out.axis(0) == rows && out.axis(1) == columns)
    return true;
  PyErr_Format(PyExc_ValueError, "out must have the shape (%zu, %zu), but has (%zu, %zu)", rows, columns, out.axis(0),
               out.axis(1));
  return false;
}

template <class C, class A, class B>
using Stub = void (*)(C *c, const A *a, const B *b, const matmul_shape *shape, void *workspace);

constexpr size_t grain = 1 << 21; // multiplications per thread at least: some ten microseconds

// Computes C = A B in `threads` threads; returns false if there is no memory. A thread computes a part of C, and sums
// each element in the same order as a single thread would, so results do not depend on the number of threads.
template <class C, class A, class B>
bool multiply(Stub<C, A, B> stub, C *c, const A *a, const B *b, size_t m, size_t n, size_t k, int threads)
{
  constexpr size_t most = static_cast<size_t>(-1);
  const size_t elements = m * n, work = k > 0 && elements > most / k ? most : elements * k;
  if (elements == 0)
    return true;
  const Parts parts = parts_of(m, n, static_cast<size_t>(threads_for(work, grain, threads)));
  std::atomic<bool> done(true);
  const auto multiply_parts = [&](size_t first, size_t last) {
    void *const memory = workspace();
    if (memory == nullptr) {
      done = false;
      return;
    }
    for (size_t i = first; i < last; i++) {
      const Part part = part_of(parts, i, m, n);
      const matmul_shape shape = {part.bottom - part.top, part.right - part.left, k, k, n, n};
      stub(c + part.top * n + part.left, a + part.top * k, b + part.left, &shape, memory);
    }
  };
  parallel_for(0, parts.count(), 1, multiply_parts, static_cast<int>(parts.count()));
  return done;
}

struct ItemTypes {
  ItemType a, b, c;
};

// Parses the arguments (a, b, out, threads), and multiplies.
template <class C, class A, class B>
PyObject *product(PyObject *args, const char *parse, Stub<C, A, B> stub, const ItemTypes &types)
{
  PyObject *a_object, *b_object, *out_object;
  int threads;
  if (!PyArg_ParseTuple(args, parse, &a_object, &b_object, &out_object, take_threads, &threads))
    return nullptr;
  Buffer a(a_object, "a", types.a);
  if (!a || !is_matrix(a))
    return nullptr;
  Buffer b(b_object, "b", types.b);
  if (!b || !is_matrix(b))
    return nullptr;
  const size_t m = a.axis(0), k = a.axis(1), n = b.axis(1);
  if (b.axis(0) != k) {
    PyErr_Format(PyExc_ValueError, "b must have as many rows as a has columns (%zu), but has %zu", k, b.axis(0));
    return nullptr;
  }
  Buffer out(out_object, "out", types.c, Access::write);
  if (!out)
    return nullptr;
  if (out.items() == 0 && (m == 0 || n == 0)) // any shape is accepted: memoryviews with two axes cannot be empty
    Py_RETURN_NONE;
  if (!has_shape(out, m, n) || !out.is_apart_from(a, false) || !out.is_apart_from(b, false))
    return nullptr;
  bool done;
  Py_BEGIN_ALLOW_THREADS
  done = multiply(stub, out.as<C>(), a.as<const A>(), b.as<const B>(), m, n, k, threads);
  Py_END_ALLOW_THREADS
  if (!done)
    return PyErr_NoMemory();
  Py_RETURN_NONE;
}

PyObject *matmul_u8s8(PyObject *, PyObject *args)
{
  return product(args, "OOOO&:matmul_u8s8", matmul_u8s8_stub, {uint8, int8, int32});
}

PyObject *matmul_bf16(PyObject *, PyObject *args)
{
  return product(args, "OOOO&:matmul_bf16", matmul_bf16_stub, {bfloat16, bfloat16, float32});
}

PyObject *matmul_fp16(PyObject *, PyObject *args)
{
  return product(args, "OOOO&:matmul_fp16", matmul_fp16_stub, {float16, float16, float32});
}

} // namespace

PyMethodDef matmul_functions[] = {
    {"matmul_u8s8", matmul_u8s8, METH_VARARGS, "matmul_u8s8(a, b, out, threads)"},
    {"matmul_bf16", matmul_bf16, METH_VARARGS, "matmul_bf16(a, b, out, threads)"},
    {"matmul_fp16", matmul_fp16, METH_VARARGS, "matmul_fp16(a, b, out, threads)"},
    {nullptr, nullptr, 0, nullptr},
};
