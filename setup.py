"""The compiled passes of pairscore.core: optional, with twins in NumPy where no compiler is."""

from Cython.Build import cythonize
from setuptools import Extension, setup

KERNELS = Extension("pairscore.core._kernels", ["src/pairscore/core/_kernels.pyx"], optional=True)

setup(ext_modules=cythonize([KERNELS], build_dir="build"))
