// Matrix products of isagen_kernels._core.
#include "buffer.h"
#include "stubs/matmul.h"

#include <stdlib.h>

#include <memory>

ISA_DEFINE_DISPATCH(matmul_u8s8_stub)
ISA_DEFINE_DISPATCH(matmul_bf16_stub)
ISA_DEFINE_DISPATCH(matmul_fp16_stub)

extern PyMethodDef matmul_functions[];

namespace {

// The thread's memory for packed blocks; null if there is none left. It is kept for the next product.
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

// Whether `matrix` has two axes; else a ValueError.
bool is_matrix(const Buffer &matrix)
{
  if (matrix.axes() == 2)
    return true;
  PyErr_Format(PyExc_ValueError, "%s must have two axes, but has %d", matrix.name(), matrix.axes());
  return false;
}

// Whether `out` is a matrix of this shape; else a ValueError.
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

// A new memoryview of items of a type, rows x columns; of one axis if it is empty, because memoryviews of two cannot
// be.
PyObject *new_matrix(const ItemType &type, size_t rows, size_t columns)
{
  const char format[] = {type.formats[0], 0};
  const size_t item_size = static_cast<size_t>(type.size);
  if (columns != 0 && rows > static_cast<size_t>(PY_SSIZE_T_MAX) / item_size / columns)
    return PyErr_NoMemory();
  PyObject *bytes = PyByteArray_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(item_size * rows * columns));
  if (bytes == nullptr)
    return nullptr;
  PyObject *view = PyMemoryView_FromObject(bytes);
  Py_DECREF(bytes);
  if (view == nullptr)
    return nullptr;
  const Py_ssize_t m = static_cast<Py_ssize_t>(rows), n = static_cast<Py_ssize_t>(columns);
  PyObject *matrix = m == 0 || n == 0 ? PyObject_CallMethod(view, "cast", "s", format)
                                      : PyObject_CallMethod(view, "cast", "s(nn)", format, m, n);
  Py_DECREF(view);
  return matrix;
}

// For PyArg_ParseTuple("O&"): None is 0, the default number of threads; else 1 to 1024.
int take_threads(PyObject *object, void *threads)
{
  long value = 0;
  if (object != Py_None) {
    value = PyLong_AsLong(object);
    if (value == -1 && PyErr_Occurred())
      return 0;
    if (value < 1 || value > 1024) {
      PyErr_SetString(PyExc_ValueError, "threads must be None or 1 to 1024");
      return 0;
    }
  }
  *static_cast<int *>(threads) = static_cast<int>(value);
  return 1;
}

template <class C, class A, class B>
using Stub = void (*)(C *c, const A *a, const B *b, const matmul_shape *shape, void *workspace);

// C = A B, computed by as many threads; false if there is no memory. A thread computes a part of C, with the same
// additions in the same order as one thread would: results do not depend on the number of threads.
template <class C, class A, class B>
bool multiply(Stub<C, A, B> stub, C *c, const A *a, const B *b, size_t m, size_t n, size_t k, int threads)
{
  static_cast<void>(threads);
  void *const memory = workspace();
  if (memory == nullptr)
    return false;
  const matmul_shape shape = {m, n, k, k, n, n};
  stub(c, a, b, &shape, memory);
  return true;
}

struct ItemTypes {
  ItemType a, b, c;
};

// Parses the arguments (a, b, out, threads), of which out may be None, and multiplies; returns out, or what is new.
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
  const bool is_new = out_object == Py_None;
  PyObject *result = is_new ? new_matrix(types.c, m, n) : Py_NewRef(out_object);
  if (result == nullptr)
    return nullptr;
  bool done = false;
  {
    Buffer out(result, "out", types.c, Access::write);
    if (out && (is_new || has_shape(out, m, n)) && out.is_apart_from(a, false) && out.is_apart_from(b, false)) {
      Py_BEGIN_ALLOW_THREADS
      done = multiply(stub, out.as<C>(), a.as<const A>(), b.as<const B>(), m, n, k, threads);
      Py_END_ALLOW_THREADS
      if (!done)
        PyErr_NoMemory();
    }
  }
  if (!done)
    Py_CLEAR(result);
  return result;
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
