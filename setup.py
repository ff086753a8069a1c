"""The kernels in C, an extension that the package can do without; everything else is in pyproject.toml."""

import sys
from glob import glob

from setuptools import Extension, setup

KERNELS = Extension(
    "quorate.blocks._native",
    ["src/quorate/blocks/native.c"],
    depends=sorted(glob("src/quorate/blocks/*.h")),
    # -g0: Python's own flags include -g, and debug information is 430 of 609 kB.
    extra_compile_args=[] if sys.platform == "win32" else ["-O3", "-g0"],
    extra_link_args=["-Wl,-s"] if sys.platform == "linux" else [],  # without symbols: 180 instead of 187 kB
    py_limited_api=True,  # one wheel for every Python from 3.11 on
    optional=True,  # without a compiler, the kernels in numpy serve
)

setup(ext_modules=[KERNELS], options={"bdist_wheel": {"py_limited_api": "cp311"}})
