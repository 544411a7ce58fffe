// Shapes of arrays, and their text in messages.
#ifndef ISAGEN_PYTHON_SHAPE_H
#define ISAGEN_PYTHON_SHAPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>

// The lengths of at most 64 axes, the limit of buffers.
class Shape {
public:
  Shape() = default;
  Shape(int axes, const Py_ssize_t *lengths)
  {
    for (int i = 0; i < axes; i++)
      add(static_cast<size_t>(lengths[i]));
  }
  void add(size_t length)
  {
    if (axes_ < PyBUF_MAX_NDIM)
      lengths_[axes_++] = length;
  }

  int axes() const { return axes_; }
  size_t operator[](int i) const { return lengths_[i]; }
  size_t items() const
  {
    size_t product = 1;
    for (int i = 0; i < axes_; i++)
      product *= lengths_[i];
    return product;
  }
  bool operator==(const Shape &other) const
  {
    bool same = axes_ == other.axes_;
    for (int i = 0; same && i < axes_; i++)
      same = lengths_[i] == other.lengths_[i];
    return same;
  }

private:
  int axes_ = 0;
  size_t lengths_[PyBUF_MAX_NDIM];
};

// A shape as Python writes a tuple, cut after some 200 characters.
struct ShapeText {
  char text[240] = "(";
  explicit ShapeText(const Shape &shape)
  {
    size_t used = 1;
    for (int i = 0; i < shape.axes() && used < 200; i++)
      used += static_cast<size_t>(PyOS_snprintf(text + used, sizeof text - used, i == 0 ? "%zu" : ", %zu", shape[i]));
    PyOS_snprintf(text + used, sizeof text - used, shape.axes() == 1 ? ",)" : ")");
  }
};

#endif
