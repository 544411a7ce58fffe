/* What the two sources of a C++ program share. */
#include <string>
inline std::string &log_of_start()
{
  static std::string log;
  return log;
}
struct Noted {
  explicit Noted(const char *name) { log_of_start() += std::string(name) + ' '; }
  ~Noted() { log_of_start() += "gone "; }
};
inline int shared_value = 42;
int *address_in_other();
void throws(int);
