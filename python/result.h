// Results: `out`, or a new array or scalar of the argument's kind (NumPy's, PyTorch's, or memoryviews and numbers).
#ifndef ISAGEN_PYTHON_RESULT_H
#define ISAGEN_PYTHON_RESULT_H

#include "buffer.h"

// The result of a call. It converts to false with a Python exception set.
class Result {
public:
  // `by_dtype`: see Buffer.
  explicit Result(bool by_dtype = false) : out_("out", by_dtype) {}
  ~Result() { Py_XDECREF(object_); }
  Result(const Result &) = delete;
  Result &operator=(const Result &) = delete;

  explicit operator bool() const { return usable_; }
  template <typename T> T *as() { return is_number_ ? reinterpret_cast<T *>(number_) : out_.as<T>(); }
  const Buffer &buffer() const { return out_; }

  // Opens `out`, or a new array if it is None. `like` is the argument whose kind a new array has; `what` says in
  // messages why the shape must be as it is. Buffers hold the bits of a dtype that they cannot express.
  void open(PyObject *like, PyObject *out, const ItemType &type, const Shape &shape, const char *what)
  {
    if (!make(like, out, "new", shape, type.dtype))
      return;
    out_.open(object_, &type, 1, Access::write);
    usable_ = out_ && (is_new_ || out_.has_shape(shape, what));
  }

  // The same for items of the type of `source`.
  void open_like(PyObject *like, PyObject *out, const Buffer &source, const Shape &shape, const char *what)
  {
    if (!make(like, out, "new_like", shape, source.format()))
      return;
    out_.open(object_, &any_type, 1, Access::write);
    usable_ = out_ && (is_new_ || (out_.has_type_of(source, true) && out_.has_shape(shape, what)));
  }

  // The same for a number: without `out`, memory for one item, of which `take` makes a scalar.
  void open_number(PyObject *like, PyObject *out, const ItemType &type, const char *what)
  {
    if (out != Py_None)
      return open(like, out, type, Shape(), what);
    like_ = like;
    type_ = &type;
    usable_ = is_number_ = true;
  }

  // Returns whether memory of the caller's does not overlap `source`. Sets ValueError if it overlaps.
  bool is_apart_from(const Buffer &source, bool may_be_same) const
  {
    return is_number_ || is_new_ || out_.is_apart_from(source, may_be_same);
  }

  // Returns the result, a new reference.
  PyObject *take()
  {
    if (is_number_)
      return scalar();
    PyObject *const object = object_;
    object_ = nullptr;
    return object;
  }

  // Returns the result, of which a new array without axes becomes a scalar; `always` if not only for NumPy's scalars.
  PyObject *take_scalar(bool always)
  {
    if (!is_new_ || axes_ != 0)
      return take();
    PyObject *const item = helper("item");
    PyObject *const found = item ? PyObject_CallFunction(item, "OOO", like_, object_, always ? Py_True : Py_False) : nullptr;
    Py_XDECREF(item);
    return found;
  }

private:
  // Sets the object to `out`, or to what `maker` of _arrays makes of the shape and the text.
  bool make(PyObject *like, PyObject *out, const char *maker, const Shape &shape, const char *text)
  {
    like_ = like;
    axes_ = shape.axes();
    if (out != Py_None) {
      Py_INCREF(out);
      object_ = out;
      return true;
    }
    is_new_ = true;
    PyObject *const lengths = PyTuple_New(shape.axes());
    for (int i = 0; lengths != nullptr && i < shape.axes(); i++) {
      PyObject *const length = PyLong_FromSize_t(shape[i]);
      if (length == nullptr) {
        Py_DECREF(lengths);
        return false;
      }
      PyTuple_SET_ITEM(lengths, i, length);
    }
    PyObject *const create = lengths == nullptr ? nullptr : helper(maker);
    object_ = create == nullptr ? nullptr : PyObject_CallFunction(create, "OOs", like, lengths, text);
    Py_XDECREF(create);
    Py_XDECREF(lengths);
    return object_ != nullptr;
  }

  PyObject *scalar() const
  {
    PyObject *value;
    float f;
    double d;
    int32_t i;
    int64_t q;
    switch (*type_->formats) {
    case 'f': memcpy(&f, number_, sizeof f); value = PyFloat_FromDouble(static_cast<double>(f)); break;
    case 'd': memcpy(&d, number_, sizeof d); value = PyFloat_FromDouble(d); break;
    case 'i': memcpy(&i, number_, sizeof i); value = PyLong_FromLong(i); break;
    case 'b': value = PyLong_FromLong(static_cast<int8_t>(number_[0])); break;
    case 'B': value = PyLong_FromLong(number_[0]); break;
    default: memcpy(&q, number_, sizeof q); value = PyLong_FromLongLong(q);
    }
    PyObject *const create = value == nullptr ? nullptr : helper("scalar");
    PyObject *const found = create == nullptr ? nullptr : PyObject_CallFunction(create, "OOs", like_, value, type_->dtype);
    Py_XDECREF(create);
    Py_XDECREF(value);
    return found;
  }

  Buffer out_;
  PyObject *object_ = nullptr, *like_ = nullptr;
  const ItemType *type_ = nullptr;
  int axes_ = 0;
  alignas(8) unsigned char number_[8] = {};
  bool usable_ = false, is_new_ = false, is_number_ = false;
};

#endif
