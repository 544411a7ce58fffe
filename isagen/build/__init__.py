"""The steps of a build: emit copies of kernel sources, seal their objects, link and audit.

Meson runs one more step after configuring (`configured`).
Configuring copies this package and all that it imports (`model`, `binary`, `processors`, `code`, `audit`) into the
build folder. An editable install needs the copy: pip removes the isolated environment that contains isagen before the
package is built again. The steps import the standard library and, to decode x86 code, iced-x86, which is copied too.
"""
