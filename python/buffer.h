// Arguments of the extension's functions: checked C-contiguous views of objects with the buffer protocol. An error is
// one message that names the argument.
#ifndef ISAGEN_PYTHON_BUFFER_H
#define ISAGEN_PYTHON_BUFFER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A type of items: its name in messages, and its struct-module formats; `size` selects the width.
struct ItemType {
  const char *name, *formats;
  Py_ssize_t size;
};

constexpr ItemType float32 = {"float32", "f", 4};
constexpr ItemType float64 = {"float64", "d", 8};
constexpr ItemType int8 = {"int8", "b", 1};
constexpr ItemType uint8 = {"uint8", "B", 1};
constexpr ItemType int32 = {"int32", "il", 4};
constexpr ItemType int64 = {"int64", "lq", 8};
constexpr ItemType bfloat16 = {"16-bit integers (the bits of bfloat16)", "Hh", 2};
constexpr ItemType float16 = {"float16 or 16-bit integers (its bits)", "eHh", 2};

// Items of any type.
constexpr ItemType any_type = {"items of 1, 2, 4 or 8 bytes, no Python objects", nullptr, 0};

enum class Access { read, write };

// The layout of items: without gaps, or in rows (along the last axis) at equal distances.
enum class Layout { contiguous, rows };

// A view that is released at the end of its scope. It converts to false with a Python exception set: TypeError for an
// object without buffer or a wrong item type, ValueError for a layout that is not C-contiguous, BufferError for a
// buffer that is read-only.
class Buffer {
public:
  template <size_t n>
  Buffer(PyObject *object, const char *name, const ItemType (&types)[n], Access access = Access::read,
         Layout layout = Layout::contiguous)
      : name_(name)
  {
    open(object, types, n, access, layout);
  }
  Buffer(PyObject *object, const char *name, const ItemType &type, Access access = Access::read,
         Layout layout = Layout::contiguous)
      : name_(name)
  {
    open(object, &type, 1, access, layout);
  }
  ~Buffer()
  {
    if (held_)
      PyBuffer_Release(&view_);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  explicit operator bool() const { return usable_; }

  template <typename T> T *as() const { return static_cast<T *>(view_.buf); }
  size_t items() const { return view_.itemsize > 0 ? static_cast<size_t>(view_.len / view_.itemsize) : 0; }
  size_t item_size() const { return static_cast<size_t>(view_.itemsize); }
  const char *name() const { return name_; }
  // The index of its type among the types given.
  int type() const { return type_; }

  int axes() const { return view_.ndim; }
  size_t axis(int i) const { return static_cast<size_t>(view_.shape[i]); }
  // The length of the last axis; a single item is a row of one item.
  size_t columns() const { return view_.ndim > 0 ? axis(view_.ndim - 1) : 1; }
  // The product of the lengths of the other axes.
  size_t rows() const
  {
    size_t product = 1;
    for (int i = 0; i + 1 < view_.ndim; i++)
      product *= axis(i);
    return product;
  }

  // Bytes from one row to the next.
  size_t row_stride() const { return row_stride_; }

  // Returns whether its items have the type of those of `other`, or are unsigned integers for their bits. Sets
  // TypeError if not.
  bool has_type_of(const Buffer &other, bool may_be_bits) const
  {
    const char *ours = format(), *theirs = other.format();
    const bool same = strcmp(ours, theirs) == 0 || (is_one_of(ours, "bhilq") && is_one_of(theirs, "bhilq"));
    const bool bits = is_one_of(ours, "BHILQ") && (may_be_bits || is_one_of(theirs, "BHILQ"));
    if (item_size() == other.item_size() && (same || bits))
      return true;
    PyErr_Format(PyExc_TypeError, "%s must hold items of the type of %s, '%s' of %zu bytes, but holds '%s' of %zu", name_,
                 other.name_, theirs, other.item_size(), ours, item_size());
    return false;
  }

  // Returns whether it has the shape of `other`. Sets ValueError if not.
  bool has_shape_of(const Buffer &other) const
  {
    bool same = axes() == other.axes();
    for (int i = 0; same && i < axes(); i++)
      same = axis(i) == other.axis(i);
    if (!same)
      PyErr_Format(PyExc_ValueError, "%s must have the shape of %s", name_, other.name_);
    return same;
  }

  // Returns whether it has `wanted` items. Sets ValueError if not; `what` is the reason: "as many as src".
  bool has_items(size_t wanted, const char *what) const
  {
    if (items() == wanted)
      return true;
    PyErr_Format(PyExc_ValueError, "%s must hold %zu items, %s, but holds %zu", name_, wanted, what, items());
    return false;
  }

  // Returns whether it does not overlap `source`; `may_be_same` allows the same items. Sets ValueError if it overlaps.
  bool is_apart_from(const Buffer &source, bool may_be_same) const
  {
    const uintptr_t a = reinterpret_cast<uintptr_t>(view_.buf), b = reinterpret_cast<uintptr_t>(source.view_.buf);
    const uintptr_t a_end = a + extent(), b_end = b + source.extent();
    if (a_end <= b || b_end <= a || (may_be_same && a == b && a_end == b_end))
      return true;
    PyErr_Format(PyExc_ValueError, may_be_same ? "%s overlaps %s without being the same" : "%s overlaps %s", name_,
                 source.name_);
    return false;
  }

private:
  void open(PyObject *object, const ItemType *types, size_t count, Access access, Layout layout)
  {
    if (!PyObject_CheckBuffer(object)) {
      PyErr_Format(PyExc_TypeError, "%s must be an array or another bytes-like object, not %.100s", name_,
                   Py_TYPE(object)->tp_name);
      return;
    }
    if (PyObject_GetBuffer(object, &view_, access == Access::write ? PyBUF_FULL : PyBUF_FULL_RO) < 0) {
      name_the_argument();
      return;
    }
    held_ = true;
    for (size_t i = 0; i < count && type_ < 0; i++)
      if (is_of(types[i]))
        type_ = static_cast<int>(i);
    if (type_ < 0)
      refuse_type(types, count);
    else if (PyBuffer_IsContiguous(&view_, 'C')) {
      row_stride_ = columns() * item_size();
      usable_ = true;
    } else if (layout == Layout::rows && is_in_rows())
      usable_ = true;
    else
      PyErr_Format(PyExc_ValueError, layout == Layout::rows ? "%s must be C-contiguous, but for gaps between its rows"
                                                            : "%s must be C-contiguous", name_);
  }

  // Returns whether rows have no gaps and equal distances; sets the distance.
  bool is_in_rows()
  {
    const int last = view_.ndim - 1;
    if (view_.suboffsets != nullptr || view_.strides == nullptr || last < 0)
      return false;
    if (view_.shape[last] > 1 && view_.strides[last] != view_.itemsize)
      return false;
    Py_ssize_t apart = 0, expected = 0; // 0: no axis yet
    for (int i = last - 1; i >= 0; i--) {
      if (view_.shape[i] == 1)
        continue;
      if (view_.strides[i] <= 0) // a repeated row, or rows in reverse order
        return false;
      if (apart == 0)
        expected = apart = view_.strides[i];
      if (view_.strides[i] != expected)
        return false;
      expected *= view_.shape[i];
    }
    row_stride_ = apart != 0 ? static_cast<size_t>(apart) : columns() * item_size();
    return row_stride_ >= columns() * item_size();
  }

  // Bytes from the first item to the end of the last.
  size_t extent() const
  {
    return view_.len == 0 ? 0 : (rows() - 1) * row_stride_ + columns() * item_size();
  }

  // Puts the argument's name before the text of the exporter's exception.
  void name_the_argument()
  {
#if PY_VERSION_HEX >= 0x030c0000
    PyObject *value = PyErr_GetRaisedException();
    PyObject *type = Py_NewRef(reinterpret_cast<PyObject *>(Py_TYPE(value)));
#else
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_XDECREF(traceback);
#endif
    PyErr_Format(type, "%s: %S", name_, value);
    Py_DECREF(type);
    Py_XDECREF(value);
  }

  static bool is_one_of(const char *format, const char *formats)
  {
    return *format && !format[1] && strchr(formats, *format) != nullptr;
  }

  // The struct-module format without native byte order, which may be '@', '=' or absent, and with ctypes '<' or '>'.
  const char *format() const
  {
    const char *format = view_.format ? view_.format : "B";
    const int one = 1;
    const char native = *reinterpret_cast<const char *>(&one) ? '<' : '>';
    return *format == '@' || *format == '=' || *format == native ? format + 1 : format;
  }

  // Returns whether items hold references to Python objects, which copies would have to count. Ignores field names,
  // :name:.
  bool has_objects() const
  {
    bool in_name = false;
    for (const char *c = format(); *c; c++) {
      if (*c == ':')
        in_name = !in_name;
      else if (*c == 'O' && !in_name)
        return true;
    }
    return false;
  }

  bool is_of(const ItemType &type) const
  {
    const Py_ssize_t size = view_.itemsize;
    if (type.formats == nullptr)
      return (size == 1 || size == 2 || size == 4 || size == 8) && !has_objects();
    return size == type.size && is_one_of(format(), type.formats);
  }

  void refuse_type(const ItemType *types, size_t count)
  {
    char names[200] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
      const char *between = i == 0 ? "" : i + 1 < count ? ", " : " or ";
      used += static_cast<size_t>(PyOS_snprintf(names + used, sizeof names - used, "%s%s", between, types[i].name));
    }
    PyErr_Format(PyExc_TypeError, "%s must hold %s, but its buffer format is '%s'", name_, names,
                 view_.format ? view_.format : "B");
  }

  const char *name_;
  Py_buffer view_ = {};
  int type_ = -1;
  size_t row_stride_ = 0;
  bool held_ = false, usable_ = false;
};

#endif
