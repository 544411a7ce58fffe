"""The build steps, which ninja runs: emit copies, seal objects, write the dispatch source, audit what is linked.

Configuring copies this package and those that it imports (`model`, `binary`, `processors`, `audit`) into the build
folder, so that a build goes on working without isagen: pip's isolated build environments vanish, editable
installs stay. The steps use the standard library and, for the audit, iced-x86, which is copied with them.
"""
