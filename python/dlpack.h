// Views of objects with __dlpack__ and without a buffer, such as PyTorch's tensors: the C structures of DLPack, and a
// Py_buffer of one.
#ifndef ISAGEN_PYTHON_DLPACK_H
#define ISAGEN_PYTHON_DLPACK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include <memory>

// A DLManagedTensor begins with this; the rest belongs to its capsule's destructor.
struct DlTensor {
  void *data;
  struct {
    int32_t type, id;
  } device;
  int32_t axes;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } items;
  int64_t *shape, *strides; // in items; strides may be null
  uint64_t offset;          // in bytes
};

// A borrowed view: the capsule, which is never consumed, keeps the memory alive and frees it.
class DlView {
public:
  ~DlView() { Py_XDECREF(capsule_); }
  DlView() = default;
  DlView(const DlView &) = delete;
  DlView &operator=(const DlView &) = delete;

  bool is_open() const { return capsule_ != nullptr; }

  // Fills `view` with the memory of `object`. Returns false with an exception set if it is not in the CPU's memory.
  bool open(PyObject *object, const char *name, Py_buffer &view)
  {
    capsule_ = PyObject_CallMethod(object, "__dlpack__", nullptr);
    const void *const managed = capsule_ == nullptr ? nullptr : PyCapsule_GetPointer(capsule_, "dltensor");
    if (managed == nullptr)
      return false;
    const DlTensor &tensor = *static_cast<const DlTensor *>(managed);
    constexpr int32_t cpu = 1, pinned = 3; // memory of the CPU; that which CUDA has locked
    if (tensor.device.type != cpu && tensor.device.type != pinned) {
      PyErr_Format(PyExc_ValueError, "it is not in the CPU's memory; %s.cpu() makes a copy that is", name);
      return false;
    }
    if (tensor.axes > PyBUF_MAX_NDIM) {
      PyErr_Format(PyExc_ValueError, "it has %d axes, and %d are the most", tensor.axes, PyBUF_MAX_NDIM);
      return false;
    }
    fill(tensor, view);
    return true;
  }

private:
  void fill(const DlTensor &tensor, Py_buffer &view)
  {
    view.buf = static_cast<char *>(tensor.data) + tensor.offset;
    view.itemsize = tensor.items.bits * tensor.items.lanes / 8;
    view.format = const_cast<char *>(tensor.items.lanes == 1 ? format_of(tensor.items.code, tensor.items.bits) : "T{}");
    view.ndim = tensor.axes;
    sizes_.reset(new Py_ssize_t[2 * static_cast<size_t>(tensor.axes) + 1]);
    view.shape = sizes_.get();
    view.strides = sizes_.get() + tensor.axes;
    Py_ssize_t items = 1;
    for (int i = tensor.axes - 1; i >= 0; i--) {
      view.shape[i] = static_cast<Py_ssize_t>(tensor.shape[i]);
      view.strides[i] = (tensor.strides ? static_cast<Py_ssize_t>(tensor.strides[i]) : items) * view.itemsize;
      items *= view.shape[i];
    }
    view.len = items * view.itemsize;
  }

  // The struct-module format of a type; `E` is bfloat16.
  static const char *format_of(int code, int bits)
  {
    const int width = bits == 8 ? 0 : bits == 16 ? 1 : bits == 32 ? 2 : bits == 64 ? 3 : 4;
    static const char *const formats[][5] = {
        {"b", "h", "i", "q", "T{}"},   // signed integers
        {"B", "H", "I", "Q", "T{}"},   // unsigned integers
        {"T{}", "e", "f", "d", "T{}"}, // floats
        {"T{}", "T{}", "T{}", "T{}", "T{}"},
        {"T{}", "E", "T{}", "T{}", "T{}"}, // bfloat16
        {"T{}", "T{}", "T{}", "Zf", "Zd"}, // complex numbers
        {"?", "T{}", "T{}", "T{}", "T{}"}, // truth values
    };
    return code < static_cast<int>(sizeof formats / sizeof *formats) ? formats[code][width] : "T{}";
  }

  PyObject *capsule_ = nullptr;
  std::unique_ptr<Py_ssize_t[]> sizes_;
};

#endif
