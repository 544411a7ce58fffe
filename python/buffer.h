// Arguments of the extension's functions: checked views of objects with the buffer protocol or DLPack. An
// error is one message that names the argument, and the call that mends it.
#ifndef ISAGEN_PYTHON_BUFFER_H
#define ISAGEN_PYTHON_BUFFER_H

#include "dlpack.h"
#include "items.h"
#include "shape.h"

enum class Access { read, write };

// The layout of items: without gaps in C order, in rows (along the last axis) at equal distances, or any.
enum class Layout { contiguous, rows, any };

// Returns a function of isagen_kernels._arrays: what a call needs of Python.
inline PyObject *helper(const char *name)
{
  static PyObject *module = nullptr;
  if (module == nullptr && (module = PyImport_ImportModule("isagen_kernels._arrays")) == nullptr)
    return nullptr;
  return PyObject_GetAttrString(module, name);
}

// A view that is released at the end of its scope. It converts to false with a Python exception set: TypeError for an
// object that is no array and for a wrong item type, ValueError for a layout that the function does not take,
// BufferError for a buffer that is read-only.
class Buffer {
public:
  // `by_dtype` says that the function has an argument `dtype`, which makes results of float32 or float64.
  explicit Buffer(const char *name, bool by_dtype = false) : name_(name), by_dtype_(by_dtype) {}
  Buffer(PyObject *object, const char *name, const ItemType *types, size_t count, Access access = Access::read,
         Layout layout = Layout::contiguous)
      : name_(name)
  {
    open(object, types, count, access, layout);
  }
  Buffer(PyObject *object, const char *name, const ItemType &type, Access access = Access::read,
         Layout layout = Layout::contiguous)
      : name_(name)
  {
    open(object, &type, 1, access, layout);
  }
  // `src` of a function on rows: items of the function's own types, the first of number_types, or with `dtype` of all of
  // them. `widened` is the type in which the function gives NumPy's numbers for small integers, which a message names.
  Buffer(PyObject *object, TypeCount own_types, PyObject *dtype, const char *widened) : name_("src"), widened_(widened)
  {
    const char *const given = dtype == Py_None ? nullptr : PyUnicode_AsUTF8(dtype);
    to_integer_ = given != nullptr && strncmp(given, "int", 3) == 0;
    open(object, number_types, dtype == Py_None ? own_types : ALL_NUMBERS, Access::read, Layout::any);
  }
  ~Buffer()
  {
    if (held_)
      PyBuffer_Release(&view_);
    Py_XDECREF(owner_);
  }
  Buffer(const Buffer &) = delete;
  Buffer &operator=(const Buffer &) = delete;

  explicit operator bool() const { return usable_; }

  template <typename T> T *as() const { return static_cast<T *>(view_.buf); }
  size_t items() const { return view_.itemsize > 0 ? static_cast<size_t>(view_.len / view_.itemsize) : 0; }
  size_t item_size() const { return static_cast<size_t>(view_.itemsize); }
  const char *name() const { return name_; }
  // The index of its type among the types given, and the text of its type.
  int type() const { return type_; }
  ItemText type_text() const { return {format(), view_.itemsize}; }
  // The struct-module format; `E` is bfloat16.
  const char *format() const { return format_ ? format_ : view_.format ? view_.format : "B"; }

  int axes() const { return view_.ndim; }
  size_t axis(int i) const { return static_cast<size_t>(view_.shape[i]); }
  Shape shape() const { return Shape(view_.ndim, view_.shape); }
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

  // Bytes from one index of an axis to the next. A view without strides has no gaps.
  ptrdiff_t stride(int i) const
  {
    if (view_.strides != nullptr)
      return view_.strides[i];
    ptrdiff_t bytes = view_.itemsize;
    while (++i < view_.ndim)
      bytes *= view_.shape[i];
    return bytes;
  }
  bool is_contiguous() const { return PyBuffer_IsContiguous(&view_, 'C') != 0; }

  // Bytes from one row to the next.
  size_t row_stride() const { return row_stride_; }

  // Returns whether its items have the type of those of `other`, or are unsigned integers for their bits. Sets
  // TypeError if not.
  bool has_type_of(const Buffer &other, bool may_be_bits) const
  {
    const char *ours = native_format(format()), *theirs = native_format(other.format());
    const bool same = strcmp(ours, theirs) == 0 || (is_one_of(ours, "bhilq") && is_one_of(theirs, "bhilq"));
    const bool bits = is_one_of(ours, "BHILQ") && (may_be_bits || is_one_of(theirs, "BHILQ"));
    if (item_size() == other.item_size() && (same || bits))
      return true;
    PyErr_Format(PyExc_TypeError, "%s must hold items of the type of %s, %s, but holds %s", name_, other.name_,
                 other.type_text().text, type_text().text);
    return false;
  }

  // Returns whether it has this shape. Memory without items may have one axis, because memoryviews cannot be cast to
  // several without items. Sets ValueError if not; `what` is the reason: "that of src".
  bool has_shape(const Shape &wanted, const char *what) const
  {
    const Shape ours = shape();
    if (ours == wanted || (items() == 0 && wanted.items() == 0 && axes() == 1))
      return true;
    PyErr_Format(PyExc_ValueError, "%s must have the shape %s, %s, but has %s", name_, ShapeText(wanted).text, what,
                 ShapeText(ours).text);
    return false;
  }

  // Returns whether it does not overlap `source`; `may_be_same` allows the same items. Sets ValueError if it overlaps.
  bool is_apart_from(const Buffer &source, bool may_be_same) const
  {
    uintptr_t a, a_end, b, b_end;
    find_bounds(&a, &a_end);
    source.find_bounds(&b, &b_end);
    if (a_end <= b || b_end <= a || (may_be_same && a == b && a_end == b_end && source.is_contiguous()))
      return true;
    PyErr_Format(PyExc_ValueError, may_be_same ? "%s overlaps %s without being the same; %s"
                                               : "%s overlaps %s; %s",
                 name_, source.name_, "pass an array with memory of its own");
    return false;
  }

  // Opens a view that was constructed with its name alone.
  void open(PyObject *object, const ItemType *types, size_t count, Access access, Layout layout = Layout::contiguous)
  {
    if (!acquire(object, access, types, count))
      return;
    const char *const native = native_format(format());
    for (size_t i = 0; i < count && type_ < 0; i++)
      if (is_of(types[i], native, view_.itemsize))
        type_ = static_cast<int>(i);
    if (type_ < 0)
      refuse_type(object, type_text().text, types, count, access);
    else if (is_contiguous()) {
      row_stride_ = columns() * item_size();
      usable_ = true;
    } else if (layout == Layout::any ? view_.suboffsets == nullptr : layout == Layout::rows && is_in_rows())
      usable_ = true;
    else
      refuse_layout(access, layout);
  }

private:
  // Fills the view. Objects other than NumPy's plain arrays and those of Python go through _arrays.adapted, which
  // refuses masked arrays, for example.
  bool acquire(PyObject *object, Access access, const ItemType *types, size_t count)
  {
    const char *const kind = Py_TYPE(object)->tp_name;
    if (!PyMemoryView_Check(object) && !PyBytes_CheckExact(object) && strcmp(kind, "numpy.ndarray") != 0 &&
        strcmp(kind, "array.array") != 0) {
      PyObject *const adapted = helper("adapted");
      if (adapted == nullptr)
        return false;
      object = owner_ = PyObject_CallFunction(adapted, "OsO", object, name_, access == Access::write ? Py_True : Py_False);
      Py_DECREF(adapted);
      if (object == nullptr)
        return false;
    }
    if (!PyObject_CheckBuffer(object)) {
      const bool is_open = dlpack_.open(object, name_, view_);
      if (!is_open)
        name_the_argument();
      return is_open;
    }
    if (PyObject_GetBuffer(object, &view_, access == Access::write ? PyBUF_FULL : PyBUF_FULL_RO) < 0)
      return acquire_bits(object, access, types, count);
    held_ = true;
    return true;
  }

  // Fills the view after PyObject_GetBuffer failed: with the bits of an array of bfloat16, which buffers cannot
  // express. Else sets the exception again, or TypeError if the items' type is its reason.
  bool acquire_bits(PyObject *object, Access access, const ItemType *types, size_t count)
  {
    const int flags = access == Access::write ? PyBUF_FULL : PyBUF_FULL_RO;
    PyErr_Clear();
    PyObject *const beyond_buffers = helper("beyond_buffers");
    PyObject *const found = beyond_buffers ? PyObject_CallFunctionObjArgs(beyond_buffers, object, nullptr) : nullptr;
    Py_XDECREF(beyond_buffers);
    const char *dtype = nullptr, *integers = nullptr;
    PyObject *bits = Py_None;
    if (found != nullptr && found != Py_None && !PyArg_ParseTuple(found, "sOs", &dtype, &bits, &integers))
      dtype = nullptr;
    else if (found == Py_None || bits != Py_None) {
      if (PyObject_GetBuffer(dtype == nullptr ? object : bits, &view_, flags) == 0) {
        held_ = true;
        format_ = dtype == nullptr ? nullptr : "E";
      } else
        name_the_argument();
    } else if (dtype != nullptr)
      refuse_type(object, dtype, types, count, access, integers);
    Py_XDECREF(found);
    return held_;
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

  // Sets the addresses of the lowest item and behind the highest.
  void find_bounds(uintptr_t *begin, uintptr_t *end) const
  {
    *begin = *end = reinterpret_cast<uintptr_t>(view_.buf);
    if (view_.len == 0)
      return;
    *end += item_size();
    for (int i = 0; i < view_.ndim; i++)
      *(stride(i) < 0 ? begin : end) += static_cast<uintptr_t>((view_.shape[i] - 1) * stride(i));
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

  void refuse_layout(Access access, Layout layout)
  {
    const char *const but = layout == Layout::rows ? ", but for gaps between its rows" : "";
    if (access == Access::write)
      PyErr_Format(PyExc_ValueError, "%s must be C-contiguous%s; pass an array that is, and copy from it", name_, but);
    else if (dlpack_.is_open())
      PyErr_Format(PyExc_ValueError, "%s must be C-contiguous%s; %s.contiguous() makes a copy that is", name_, but, name_);
    else
      PyErr_Format(PyExc_ValueError, "%s must be C-contiguous%s; np.ascontiguousarray(%s) makes a copy that is", name_,
                   but, name_);
  }

  // Sets TypeError: which types it must hold, which it holds, and the call that converts it, if one keeps the numbers or
  // rounds them. `integers` has the bits of items that buffers cannot express.
  void refuse_type(PyObject *object, const char *held, const ItemType *types, size_t count, Access access,
                   const char *integers = nullptr)
  {
    char names[200] = "", remedy[160] = "";
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
      const char *between = i == 0 ? "" : i + 1 < count ? ", " : " or ";
      used += static_cast<size_t>(PyOS_snprintf(names + used, sizeof names - used, "%s%s", between, types[i].name));
    }
    if (access == Access::read)
      suggest(remedy, sizeof remedy, object, held, types, count, integers);
    else if (by_dtype_ && (strcmp(held, "float32") == 0 || strcmp(held, "float64") == 0))
      PyOS_snprintf(remedy, sizeof remedy, "; dtype='%s' gives such a result", held);
    PyErr_Format(PyExc_TypeError, "%s must hold %s, but holds %s%s", name_, names, held, remedy);
  }

  void suggest(char *remedy, size_t size, PyObject *object, const char *held, const ItemType *types, size_t count,
               const char *integers)
  {
    const bool is_float = strstr(held, "float") != nullptr || strcmp(held, "longdouble") == 0;
    const bool is_bf16 = types[0].dtype != nullptr && strcmp(types[0].dtype, "bfloat16") == 0;
    const bool is_long = strcmp(held, "int64") == 0 || strcmp(held, "uint64") == 0;
    const bool is_bytes = PyBytes_Check(object) || PyByteArray_Check(object);
    if (types[0].dtype == nullptr) {
      if (integers != nullptr)
        PyOS_snprintf(remedy, size, "; %.30s.view(np.%s) has its bits", name_, integers);
      return;
    }
    if (is_bytes && count == 1) {
      PyOS_snprintf(remedy, size, "; np.frombuffer(%.30s, np.%s) reads its bytes so", name_,
                    is_bf16 ? "uint16" : types[0].dtype);
      return;
    }
    const bool is_tensor = dlpack_.is_open() && PyObject_HasAttrString(object, "to");
    const char *const maker = PyObject_HasAttrString(object, "astype") ? ""
                              : dlpack_.is_open()                      ? "np.from_dlpack("
                                                                       : "np.asarray(";
    char array[60]; // what has the method `astype`
    PyOS_snprintf(array, sizeof array, "%s%.30s%s", maker, name_, *maker ? ")" : "");
    if (const char *const swapped = strstr(held, " in the other byte order")) {
      PyOS_snprintf(remedy, size, "; %s.astype(np.%.*s) converts it", array, static_cast<int>(swapped - held), held);
      return;
    }
    if (is_bf16) {
      if (strcmp(held, "float32") == 0)
        PyOS_snprintf(remedy, size, "; cvt_fp32_to_bf16(%.30s) rounds it", name_);
      else if (is_float && is_tensor)
        PyOS_snprintf(remedy, size, "; %.30s.to(torch.bfloat16) rounds it", name_);
      else if (is_float)
        PyOS_snprintf(remedy, size, "; cvt_fp32_to_bf16(%s.astype(np.float32)) rounds it", array);
      return;
    }
    const char *dtype = exact_dtype(held, types, count, widened_), *effect = "converts it";
    for (size_t i = count; widened_ != nullptr && i < ALL_NUMBERS; i++)
      if (strcmp(held, number_types[i].dtype) == 0) {
        PyOS_snprintf(remedy, size, "; dtype='%s' reads it", dtype != nullptr && i == INT32 ? dtype : widened_);
        return;
      }
    if (dtype == nullptr && is_long) {
      dtype = dtype_among(types, count, "float64");
      effect = "is exact up to 2**53";
    } else if (dtype == nullptr && is_float && strchr(held, '_') != nullptr && dtype_among(types, count, "float32")) {
      dtype = "float32"; // of float8_e4m3fn, for example, it has every value
    } else if (dtype == nullptr && is_float) {
      dtype = dtype_among(types, count, "float64 float32 float16");
      effect = "rounds it";
    }
    if (dtype == nullptr)
      return;
    const char *const without = to_integer_ && strstr(dtype, "float") != nullptr ? ", without dtype," : "";
    if (is_tensor)
      PyOS_snprintf(remedy, size, "; %.30s.to(torch.%s)%s %s", name_, dtype, without, effect);
    else
      PyOS_snprintf(remedy, size, "; %s.astype(np.%s)%s %s", array, dtype, without, effect);
  }

  const char *name_, *format_ = nullptr;
  Py_buffer view_ = {};
  PyObject *owner_ = nullptr;
  DlView dlpack_;
  int type_ = -1;
  size_t row_stride_ = 0;
  const char *widened_ = nullptr; // of a function on rows: see its constructor
  bool by_dtype_ = false, to_integer_ = false, held_ = false, usable_ = false;
};

#endif
