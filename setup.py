"""The compiled passes of pairscore.core: optional, with twins in NumPy where no compiler is."""

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

# sums may be taken in another order, several at once; they stay the same for any number of threads
GROUPED_SUMS = [
    "-O3", "-fassociative-math", "-fno-signed-zeros", "-fno-trapping-math", "-fno-math-errno"
]  # fmt: skip
KERNELS = Extension("pairscore.core._kernels", ["src/pairscore/core/_kernels.pyx"])


class BuildIfPossible(build_ext):
    """Leaves out what cannot be compiled; ``optional=True`` does not in an editable install."""

    def build_extension(self, ext):
        """Build one, or say that NumPy stands in for it."""
        if self.compiler.compiler_type == "unix":
            ext.extra_compile_args = GROUPED_SUMS
        try:
            super().build_extension(ext)
        except Exception as error:  # compilers fail in many ways
            print(f"{ext.name} was not compiled ({error}); its twins in NumPy will run.")
            self.extensions = [other for other in self.extensions if other is not ext]


setup(ext_modules=cythonize([KERNELS], build_dir="build"), cmdclass={"build_ext": BuildIfPossible})
