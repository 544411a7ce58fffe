// Matrix products of isagen_kernels._core.
#include "call.h"
#include "matmul_parts.h"
#include "parallel.h"
#include "result.h"
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

// Takes the arguments (a, b, out, threads), and multiplies.
template <class C, class A, class B>
PyObject *product(PyObject *const *args, Py_ssize_t count, Stub<C, A, B> stub, const ItemTypes &types)
{
  int threads;
  if (!has_arguments(count, 4) || !take_threads(args[3], &threads))
    return nullptr;
  Buffer a(args[0], "a", types.a);
  if (!a || !is_matrix(a))
    return nullptr;
  Buffer b(args[1], "b", types.b);
  if (!b || !is_matrix(b))
    return nullptr;
  const size_t m = a.axis(0), k = a.axis(1), n = b.axis(1);
  if (b.axis(0) != k) {
    PyErr_Format(PyExc_ValueError, "b must have as many rows as a has columns (%zu), but has %zu", k, b.axis(0));
    return nullptr;
  }
  Shape shape;
  shape.add(m);
  shape.add(n);
  Result out;
  out.open(args[0], args[2], types.c, shape, "that of the product");
  if (!out || !out.is_apart_from(a, false) || !out.is_apart_from(b, false))
    return nullptr;
  bool done;
  Py_BEGIN_ALLOW_THREADS
  done = multiply(stub, out.as<C>(), a.as<const A>(), b.as<const B>(), m, n, k, threads);
  Py_END_ALLOW_THREADS
  return done ? out.take() : PyErr_NoMemory();
}

PyObject *matmul_u8s8(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return product(args, count, matmul_u8s8_stub, {uint8, int8, int32});
}

PyObject *matmul_bf16(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return product(args, count, matmul_bf16_stub, {bfloat16, bfloat16, float32});
}

PyObject *matmul_fp16(PyObject *, PyObject *const *args, Py_ssize_t count)
{
  return product(args, count, matmul_fp16_stub, {float16, float16, float32});
}

} // namespace

PyMethodDef matmul_functions[] = {
    positional("matmul_u8s8", matmul_u8s8, "matmul_u8s8(a, b, out, threads)"),
    positional("matmul_bf16", matmul_bf16, "matmul_bf16(a, b, out, threads)"),
    positional("matmul_fp16", matmul_fp16, "matmul_fp16(a, b, out, threads)"),
    {nullptr, nullptr, 0, nullptr},
};
