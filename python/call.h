// Helpers of the extension's functions: their tables, the argument `threads`, scratch memory, and the choice to write a
// result past the caches.
#ifndef ISAGEN_PYTHON_CALL_H
#define ISAGEN_PYTHON_CALL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#if !defined(_WIN32)
#include <unistd.h>
#endif

// The function table of each source; a null entry ends it.
extern PyMethodDef channels_functions[], convert_functions[], matmul_functions[], reduce_functions[], scan_functions[],
    softmax_functions[];

// A function that takes its arguments by position, as the Python functions above it call it.
using Positional = PyObject *(*)(PyObject *, PyObject *const *args, Py_ssize_t count);

// Returns the entry of a function table. The Python function of the same name has the documentation.
inline PyMethodDef positional(const char *name, Positional function, const char *arguments)
{
  return {name, reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function)), METH_FASTCALL, arguments};
}

// Returns whether a call has so many arguments. Sets TypeError if not.
inline bool has_arguments(Py_ssize_t count, Py_ssize_t wanted)
{
  if (count != wanted)
    PyErr_Format(PyExc_TypeError, "needs %zd arguments, not %zd", wanted, count);
  return count == wanted;
}

// An integer and its name in messages. The value is clamped to LONG_MIN .. LONG_MAX.
struct Integer {
  const char *name;
  long value = 0;
};

// Converter for PyArg_ParseTuple("O&") to an Integer.
inline int take_integer(PyObject *object, void *to)
{
  Integer *const integer = static_cast<Integer *>(to);
  bool is_integer = PyIndex_Check(object) && !PyBool_Check(object);
  if (is_integer) {
    int over = 0;
    integer->value = PyLong_AsLongAndOverflow(object, &over);
    if (over != 0)
      integer->value = over > 0 ? LONG_MAX : LONG_MIN;
    if (integer->value != -1 || !PyErr_Occurred())
      return 1;
    is_integer = !PyErr_ExceptionMatches(PyExc_TypeError); // NumPy's for an array, which does not name the argument
  }
  if (!is_integer)
    PyErr_Format(PyExc_TypeError, "%s must be an integer, not %.100s", integer->name, Py_TYPE(object)->tp_name);
  return 0;
}

// Converter for PyArg_ParseTuple("O&"): None gives 0, the default number of threads; else 1 to 1024.
inline int take_threads(PyObject *object, void *threads)
{
  Integer count{"threads"};
  if (object != Py_None) {
    if (!take_integer(object, &count))
      return 0;
    if (count.value < 1 || count.value > 1024) {
      PyErr_Format(PyExc_ValueError, "threads must be None or 1 to 1024, not %.100R", object);
      return 0;
    }
  }
  *static_cast<int *>(threads) = static_cast<int>(count.value);
  return 1;
}

// The last level cache's size in bytes; 0 before the first use. Tests set it so that small arrays are written past the
// caches.
inline size_t last_cache = 0;

// Returns whether a call that reads and writes `bytes` bytes exceeds the last level cache, which then would not keep
// the result.
inline bool is_past_caches(size_t bytes)
{
  if (last_cache == 0) {
    long size = 0;
#ifdef _SC_LEVEL3_CACHE_SIZE
    size = sysconf(_SC_LEVEL3_CACHE_SIZE);
#endif
    last_cache = size > 0 ? static_cast<size_t>(size) : size_t(32) << 20;
  }
  return bytes > last_cache;
}

// Memory for the partial results of a call. Converts to false if the allocation fails; sets no exception, so threads
// without the GIL may construct it.
template <typename T> class Scratch {
public:
  explicit Scratch(size_t items) : items_(static_cast<T *>(malloc((items > 0 ? items : 1) * sizeof(T)))) {}
  ~Scratch() { free(items_); }
  Scratch(const Scratch &) = delete;
  Scratch &operator=(const Scratch &) = delete;
  explicit operator bool() const { return items_ != nullptr; }
  T *data() { return items_; }
  T &operator[](size_t i) { return items_[i]; }

private:
  T *items_;
};

#endif
