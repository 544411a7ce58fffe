#include "objects.h"
#include <algorithm>
#include <iostream>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <vector>

struct Shape {
  virtual ~Shape() = default;
  virtual int area() const = 0;
};
struct Square : Shape {
  explicit Square(int side) : side(side) {}
  int area() const override { return side * side; }
  int side;
};
static Noted first("first");
thread_local std::string own = "thread";
std::once_flag once;

int main()
{
  std::cout << log_of_start() << shared_value << ' ' << (address_in_other() == &shared_value) << std::endl;
  std::vector<int> numbers{ 3, 1, 2 };
  std::sort(numbers.begin(), numbers.end());
  for (int number : numbers)
    std::cout << number << ' ';
  own += "-local";
  std::call_once(once, [] { std::cout << own << '\n'; });
  std::unique_ptr<Shape> shape(new Square(7));
  std::cout << shape->area() << ' ' << 2.5 << ' ' << (dynamic_cast<Square *>(shape.get()) != nullptr) << '\n';
  try {
    throws(3);
  } catch (const std::runtime_error &error) {
    std::cout << error.what() << ", then: " << log_of_start() << std::endl;
  }
}
