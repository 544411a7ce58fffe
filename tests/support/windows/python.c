/* python.exe, beside the DLL of Python. */
#include <wchar.h>

int Py_Main(int argc, wchar_t **argv);

int wmain(int argc, wchar_t **argv)
{
  return Py_Main(argc, argv);
}
