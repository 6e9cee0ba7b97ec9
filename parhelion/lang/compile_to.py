"""`compile_to_…`: what Func and Pipeline write to files, by Halide's names."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parhelion.lang.callable import Argument, ArgumentLike
    from parhelion.lang.module import Module, OutputFileType
    from parhelion.lang.target_api import Target

_Path = str | os.PathLike[str]


class CompileTo:
    """Methods that write files, for a class that makes Modules.

    All take the arguments of the compiled function in order (ImageParams, Params, or
    what `infer_arguments` gives; without any, all that are needed, in the order of
    their first use), its name (else the first output's) and the target (else this
    computer). They raise DefinitionError if an argument is missing, and HalideError for
    a target or a Func that code cannot be made for.
    """

    __slots__ = ()

    def compile_to_module(
        self,
        arguments: Sequence[ArgumentLike],
        fn_name: str = "",
        target: Target | None = None,
    ) -> Module:
        raise NotImplementedError

    def infer_arguments(self) -> list[Argument]:
        raise NotImplementedError

    def _default_name(self) -> str:
        """What the function is called where no name is given."""
        raise NotImplementedError

    def _module(
        self,
        arguments: Sequence[ArgumentLike],
        fn_name: str | Target,
        target: Target | None,
    ) -> Module:
        """The Module; the name may be left out, as some of Halide's overloads do."""
        from parhelion.lang.module import named

        name, goal = named(fn_name, target)
        return self.compile_to_module(arguments or self.infer_arguments(), name, goal)

    def compile_to(
        self,
        outputs: Mapping[OutputFileType, _Path],
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str = "",
        target: Target | None = None,
    ) -> None:
        """Writes several files of one compilation.

        ``compile_to({hl.OutputFileType.object: "f.o", hl.OutputFileType.c_header:
        "f.h"})`` writes an object file and its header. The function in it takes the
        `arguments` in order, or without any all that are needed, in the order of their
        first use. It is called `fn_name`, or else as the first output. `target` is this
        computer unless another one is given.

        Raises DefinitionError if an argument is missing, TypeMismatchError for
        arguments of other kinds, and HalideError for a target or Func that code cannot
        be made for.

        >>> f = hl.Func("f")
        >>> f[x] = x + 1
        >>> f.compile_to({hl.OutputFileType.object: "f.o"}, [], "plus_one")
        """
        self._module(arguments, fn_name, target).compile(outputs)

    def compile_to_file(
        self,
        filename_prefix: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes an object file, ``PREFIX.o``, and its header, ``PREFIX.h``.

        For Windows it is ``PREFIX.obj``. Other arguments and errors are those of
        `compile_to`.
        """
        from parhelion.lang.loop_dump import file_name
        from parhelion.lang.module import OutputFileType as Kind

        module = self._module(arguments, fn_name, target)
        prefix = file_name(filename_prefix)
        windows = module.target().os.value == "windows"
        object_file = f"{prefix}.obj" if windows else f"{prefix}.o"
        module.compile({Kind.object: object_file, Kind.c_header: f"{prefix}.h"})

    def compile_to_static_library(
        self,
        filename_prefix: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes a static library, ``PREFIX.a``, and its header, ``PREFIX.h``.

        For Windows it is ``PREFIX.lib``. Other arguments and errors are those of
        `compile_to`.
        """
        from parhelion.lang.loop_dump import file_name
        from parhelion.lang.module import OutputFileType as Kind

        module = self._module(arguments, fn_name, target)
        prefix = file_name(filename_prefix)
        windows = module.target().os.value == "windows"
        library = f"{prefix}.lib" if windows else f"{prefix}.a"
        module.compile({Kind.static_library: library, Kind.c_header: f"{prefix}.h"})

    def compile_to_multitarget_static_library(
        self,
        filename_prefix: _Path,
        arguments: Sequence[ArgumentLike],
        targets: Sequence[Target],
    ) -> None:
        """Writes a static library with a function for each target, and its header.

        The files are ``PREFIX.a`` (``PREFIX.lib`` for Windows) and ``PREFIX.h``. The
        function that has the first output's name calls the first one whose features the
        processor has; the last target must serve all processors. Errors are those of
        `compile_to`.
        """
        from parhelion.lang.multitarget import write_library

        given = arguments or self.infer_arguments()
        write_library(
            lambda name, target: self.compile_to_module(given, name, target),
            self._default_name(),
            filename_prefix,
            targets,
        )

    def compile_to_multitarget_object_files(
        self,
        filename_prefix: _Path,
        arguments: Sequence[ArgumentLike],
        targets: Sequence[Target],
        suffixes: Sequence[str],
    ) -> None:
        """Writes an object file for each target, and their header.

        ``PREFIX-SUFFIX.o`` has the function for a target, ``PREFIX.o`` the one that
        chooses, and ``PREFIX.h`` declares it; for Windows they end in ``.obj``.
        Otherwise it is as `compile_to_multitarget_static_library`.
        """
        from parhelion.lang.multitarget import write_objects

        given = arguments or self.infer_arguments()
        write_objects(
            lambda name, target: self.compile_to_module(given, name, target),
            self._default_name(),
            filename_prefix,
            targets,
            suffixes,
        )

    def compile_to_object(
        self,
        filename: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes an object file, which needs nothing but libc, libm and pthreads.

        Other arguments and errors are those of `compile_to`.
        """
        from parhelion.lang.module import OutputFileType as Kind

        self._module(arguments, fn_name, target).compile({Kind.object: filename})

    def compile_to_header(
        self,
        filename: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str = "",
        target: Target | None = None,
    ) -> None:
        """Writes the C header of the compiled function.

        Other arguments and errors are those of `compile_to`.
        """
        from parhelion.lang.module import OutputFileType as Kind

        self._module(arguments, fn_name, target).compile({Kind.c_header: filename})

    def compile_to_bitcode(
        self,
        filename: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes the bitcode of the whole LLVM module, run time included.

        Other arguments and errors are those of `compile_to`.
        """
        from parhelion.lang.module import OutputFileType as Kind

        self._module(arguments, fn_name, target).compile({Kind.bitcode: filename})

    def compile_to_llvm_assembly(
        self,
        filename: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes the whole LLVM module as text, optimised and run time included; before
        it, in comments, the PTX of kernels for a GPU.

        Other arguments and errors are those of `compile_to`.
        """
        from parhelion.lang.module import OutputFileType as Kind

        self._module(arguments, fn_name, target).compile({Kind.llvm_assembly: filename})

    def compile_to_assembly(
        self,
        filename: _Path,
        arguments: Sequence[ArgumentLike] = (),
        fn_name: str | Target = "",
        target: Target | None = None,
    ) -> None:
        """Writes the machine code as assembly, run time included; before it, in
        comments, the PTX of kernels for a GPU.

        Other arguments and errors are those of `compile_to`.
        """
        from parhelion.lang.module import OutputFileType as Kind

        self._module(arguments, fn_name, target).compile({Kind.assembly: filename})


__all__ = ["CompileTo"]
