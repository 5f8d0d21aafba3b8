"""The compiled passes of pairscore.core: optional, with twins in NumPy where no compiler is."""

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

KERNELS = Extension("pairscore.core._kernels", ["src/pairscore/core/_kernels.pyx"])


class BuildIfPossible(build_ext):
    """Leaves out what cannot be compiled; ``optional=True`` does not in an editable install."""

    def build_extension(self, ext):
        """Build one, or say that NumPy stands in for it."""
        try:
            super().build_extension(ext)
        except Exception as error:  # compilers fail in many ways
            print(f"{ext.name} was not compiled ({error}); its twins in NumPy will run.")
            self.extensions = [other for other in self.extensions if other is not ext]


setup(ext_modules=cythonize([KERNELS], build_dir="build"), cmdclass={"build_ext": BuildIfPossible})
