"""What ninja calls during the build: emit copies, seal a level's objects, write the dispatch source.

This package, `isagen.errors` and `isagen.files` are copied into the build folder at configure time, so that a build
goes on working when isagen itself is gone (pip's isolated build environments vanish, editable installs stay). They
import nothing but the standard library and, for the audit, iced-x86, which is copied with them.
"""
