// Types of items: their names in messages, and the struct-module formats of buffers.
#ifndef ISAGEN_PYTHON_ITEMS_H
#define ISAGEN_PYTHON_ITEMS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stddef.h>
#include <stdint.h>
#include <string.h>

// A type of items: its name in messages, and its formats, of which `size` selects the width. `E` stands for bfloat16,
// which the struct module does not have. `dtype` is NumPy's name.
struct ItemType {
  const char *name, *formats;
  Py_ssize_t size;
  const char *dtype;
};

constexpr ItemType float32 = {"float32", "f", 4, "float32"};
constexpr ItemType float64 = {"float64", "d", 8, "float64"};
constexpr ItemType int8 = {"int8", "b", 1, "int8"};
constexpr ItemType uint8 = {"uint8", "B", 1, "uint8"};
constexpr ItemType int32 = {"int32", "il", 4, "int32"};
constexpr ItemType int64 = {"int64", "lq", 8, "int64"};
constexpr ItemType bfloat16 = {"bfloat16 or 16-bit integers (its bits)", "HhE", 2, "bfloat16"};
constexpr ItemType float16 = {"float16 or 16-bit integers (its bits)", "eHh", 2, "float16"};
constexpr ItemType uint16 = {"uint16", "H", 2, "uint16"};

// Items of any type.
constexpr ItemType any_type = {"items of 1, 2, 4 or 8 bytes, no Python objects", nullptr, 0, nullptr};

// The types of numbers that the functions on rows read. A function's own types are the first few.
constexpr ItemType number_types[] = {float32, float64, int32, int8, uint8};
enum NumberType { FLOAT32, FLOAT64, INT32, INT8, UINT8 };
// How many of them a function has; with `dtype`, each reads all.
enum TypeCount { FLOATS = 2, FLOATS_AND_INT32 = 3, ALL_NUMBERS = 5 };

inline bool is_one_of(const char *format, const char *formats)
{
  return *format && !format[1] && strchr(formats, *format) != nullptr;
}

// Returns a format without native byte order, which may be '@', '=' or absent, and with ctypes '<' or '>'.
inline const char *native_format(const char *format)
{
  const int one = 1;
  const char native = *reinterpret_cast<const char *>(&one) ? '<' : '>';
  return *format == '@' || *format == '=' || *format == native ? format + 1 : format;
}

// Returns whether items hold references to Python objects, which copies would have to count. Ignores field names,
// :name:.
inline bool has_objects(const char *format)
{
  bool in_name = false;
  for (const char *c = format; *c; c++) {
    if (*c == ':')
      in_name = !in_name;
    else if (*c == 'O' && !in_name)
      return true;
  }
  return false;
}

inline bool is_of(const ItemType &type, const char *format, Py_ssize_t size)
{
  if (type.formats == nullptr)
    return (size == 1 || size == 2 || size == 4 || size == 8) && !has_objects(format);
  return size == type.size && is_one_of(format, type.formats);
}

// Returns the first of `names`, separated by spaces, that one of `types` has; null if none has one.
inline const char *dtype_among(const ItemType *types, size_t count, const char *names)
{
  while (*names != 0) {
    const size_t length = strcspn(names, " ");
    for (size_t i = 0; i < count; i++)
      if (strlen(types[i].dtype) == length && strncmp(types[i].dtype, names, length) == 0)
        return types[i].dtype;
    names += length + (names[length] == ' ');
  }
  return nullptr;
}

// Returns the dtype of `types` that has every value of the type called `held`, integers before floats, but for integers
// `widened` if it is one; null if none has.
inline const char *exact_dtype(const char *held, const ItemType *types, size_t count, const char *widened)
{
  static const char *const exact[][2] = {
      {"int2", "int32 int8 float32 float16"},       {"uint2", "int32 uint8 int8 float32 float16"},
      {"int4", "int32 int8 float32 float16"},       {"uint4", "int32 uint8 int8 float32 float16"},
      {"bool", "int32 uint8 int8 float32 float64"}, {"int8", "int32 float32 float16 float64"},
      {"uint8", "int32 float32 float16 float64"},   {"int16", "int32 float32 float64"},
      {"uint16", "int32 float32 float64"},          {"int32", "float64"},
      {"uint32", "float64"},                        {"float16", "float32 float64"},
      {"bfloat16", "float32 float64"},              {"float32", "float64"},
  };
  for (const auto &row : exact)
    if (strcmp(row[0], held) == 0) {
      const bool suits = widened != nullptr && strstr(held, "float") == nullptr && strstr(row[1], widened) != nullptr;
      const char *const wanted = suits ? dtype_among(types, count, widened) : nullptr;
      return wanted != nullptr ? wanted : dtype_among(types, count, row[1]);
    }
  return nullptr;
}

// Returns NumPy's name of a native format, or null if it has none.
inline const char *name_of_format(const char *format, Py_ssize_t size)
{
  static const struct {
    const char *formats, *names[4]; // of 1, 2, 4 and 8 bytes
  } numbers[] = {
      {"bhilq", {"int8", "int16", "int32", "int64"}},
      {"BHILQ", {"uint8", "uint16", "uint32", "uint64"}},
      {"efd", {nullptr, "float16", "float32", "float64"}},
      {"?", {"bool", nullptr, nullptr, nullptr}},
      {"E", {nullptr, "bfloat16", nullptr, nullptr}},
      {"O", {nullptr, nullptr, nullptr, "Python objects"}},
  };
  const int width = size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : -1;
  for (const auto &some : numbers)
    if (width >= 0 && is_one_of(format, some.formats))
      return some.names[width];
  if (strcmp(format, "g") == 0)
    return "longdouble";
  return strcmp(format, "Zf") == 0 ? "complex64" : strcmp(format, "Zd") == 0 ? "complex128" : nullptr;
}

// The text of a type of items in messages.
struct ItemText {
  char text[100];
  ItemText(const char *format, Py_ssize_t size)
  {
    const char *const native = native_format(format), *const name = name_of_format(native, size);
    const bool is_swapped = (*native == '<' || *native == '>') && name_of_format(native + 1, size) != nullptr;
    if (name != nullptr)
      PyOS_snprintf(text, sizeof text, "%s", name);
    else if (is_swapped)
      PyOS_snprintf(text, sizeof text, "%s in the other byte order", name_of_format(native + 1, size));
    else
      PyOS_snprintf(text, sizeof text, "items of the buffer format '%.40s', of %zd bytes", format, size);
  }
};

#endif
