"""``parhelion forma``: programs are checked, and their sizes shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from parhelion.cli.main import main
from tests.cli.support import done, refused
from tests.forma.listings import BOUNDARY, PYRAMID


@pytest.fixture
def pyramid(tmp_path: Path) -> Path:
    path = tmp_path / "pyramid.forma"
    path.write_text(PYRAMID)
    return path


def test_check(pyramid: Path) -> None:
    said = done("forma", "check", pyramid).stdout.splitlines()
    assert said[:2] == [
        f"{pyramid}: 1 input, 27 stages, 4 outputs",
        "checked when it runs, that it is not so that",
    ]
    assert said[2] == (
        f"  {pyramid}:9:19: the domain 'gaussian<1>.sample_x' has a size of M/2, and "
        "needs a point at least"
    )
    assert len(said) == 8


def test_check_of_what_needs_nothing(tmp_path: Path) -> None:
    path = tmp_path / "one.forma"
    path.write_text("parameter M; vector#1 int x[M], y[M]; return x;")
    assert done("forma", "check", path).stdout == (
        f"{path}: 2 inputs, 0 stages, 1 output\n"
        f"{path}:1:33: the input 'y' is not used\n"
    )


def test_sizes(pyramid: Path) -> None:
    said = done("forma", "sizes", pyramid).stdout.splitlines()
    assert said[0] == "vector#2 float image[M, N]"
    assert "vector#2 float gaussian<1>[M/2, N/2]" in said
    assert "return vector#2 float laplacian<0>[2*(M/2), 2*(N/2)]" in said
    assert len(said) == 9 + 4


def test_all_sizes(tmp_path: Path) -> None:
    path = tmp_path / "boundary.forma"
    path.write_text(BOUNDARY)
    assert done("forma", "sizes", "--all", path).stdout == (
        "vector#2 int a[N, N]\n"
        "vector#2 int b[N, N]\n"
        "vector#2 int crop[2, N]\n"
        "vector#2 int bdy0[2, N]\n"
        "vector#2 int crop#2[1, N]\n"
        "vector#2 int jacobi1d[N, N]\n"
        "vector#2 int crop#3[N-2, N]\n"
        "vector#2 int crop#4[2, N]\n"
        "vector#2 int bdyN[2, N]\n"
        "vector#2 int crop#5[1, N]\n"
        "return vector#2 int b[N, N]\n"
    )


def test_what_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "wrong.forma"
    path.write_text("vector#1 int x[3];\nreturn y;\n")
    assert refused("forma", "check", path) == (
        "there is no variable 'y'\n"
        f"  --> {path}:2:8\n"
        "   |  return y;\n"
        "   |         ^\n"
        "legal here:\n"
        "  - x\n"
        "hint: assign it before it is used"
    )


def test_a_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "none.forma"
    monkeypatch.setattr("sys.argv", ["parhelion", "forma", "check", str(path)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code == 1
    assert capsys.readouterr().err == (
        f"parhelion: {path}: No such file or directory\n"
    )
