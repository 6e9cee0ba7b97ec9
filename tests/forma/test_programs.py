"""The programs of `apps.forma`: against NumPy, OpenCV and SciPy, and their sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import parhelion as hl
from apps import camera_pipe
from apps.forma import counts, edges, loops, pyramids, rician, scenes, stencils
from apps.forma.exposures import weight
from apps.forma.program import apart, plain, structs
from apps.forma.programs import PROGRAMS
from parhelion import forma
from parhelion.forma.reference import evaluate

Array = npt.NDArray[Any]

PAGE = Path(__file__).parent.parent.parent / "docs" / "apps.md"
#: By program, where it is not as for the others: an even size, and one that is none.
SIZES: dict[str, tuple[tuple[int, ...], ...]] = {
    # The computation in NumPy is one of whole pairs.
    "camera_pipe": ((96, 80),),
    "rician_3d": ((24, 20, 16), (21, 18, 3)),
}
#: How far fused images may be apart where operations are rounded in another way: where
#: all weights are close to the 1e-6 that is added to each, contrasts are differences of
#: what is almost the same.
FUSED = 1e-3
CASES = [
    (name, size) for name in PROGRAMS for size in SIZES.get(name, ((96, 80), (101, 83)))
]


def run(name: str, size: tuple[int, ...], **inputs: Array) -> list[Array]:
    """What the reference evaluator makes of a program, as plain arrays."""
    program = PROGRAMS[name]
    given = inputs or program.inputs(size)
    graph = forma.check_file(program.path)
    return [plain(out) for out in evaluate(graph, given, program.parameters(size))]


@pytest.mark.parametrize(("name", "size"), CASES)
def test_reference_agrees_with_numpy(name: str, size: tuple[int, ...]) -> None:
    program = PROGRAMS[name]
    wanted = program.expected(program.inputs(size))
    for got, want in zip(run(name, size), wanted, strict=True):
        assert apart(got, want) <= program.bound
        assert np.ptp(got.astype(float)) > 0.1


def test_every_program_is_listed() -> None:
    files = Path(stencils.__file__).parent.glob("*.forma")
    assert sorted(PROGRAMS) == sorted([path.stem for path in files])


def test_the_page_has_the_sizes() -> None:
    assert counts.table() in PAGE.read_text()


@pytest.mark.parametrize(
    ("name", "most"),
    [
        ("canny", {"pipeline": 9}),
        ("pyramid", {"lines": 26}),
        ("pyramid_mirror", {"lines": 26}),
        ("exposure_pyramid", {"lines": 184, "stencils": 25, "vectors": 9, "loops": 2}),
        ("camera_pipe", {"stencils": 12, "vectors": 1}),
    ],
)
def test_programs_are_no_longer_than_the_papers(
    name: str, most: dict[str, int]
) -> None:
    found = counts.counts(PROGRAMS[name])
    for what, limit in most.items():
        assert getattr(found, what) <= limit


def test_comments_are_no_lines() -> None:
    assert counts.lines_of("// a\n\nx = 1; // b\n/* c\nd */\ny = /* e */ 2;\n") == 2


def test_differences_are_found() -> None:
    a = np.array([0, 127, -128], np.int8)
    assert apart(a, np.array([0, -128, -128], np.int8)) == 1
    assert apart(a, np.array([3, 127, -128], np.int8)) == 3
    with pytest.raises(ValueError, match="int8"):
        apart(a, a[:2])


def test_structs_and_plain_arrays_share_memory() -> None:
    image = np.arange(24, dtype=np.float32).reshape(2, 4, 3)
    made = structs(image, "rgb")
    assert made.shape == (2, 4) and made["g"][1, 2] == image[1, 2, 1]
    assert np.shares_memory(plain(made), image)
    assert np.array_equal(plain(made), image)


# Others that do the same


def test_emboss_and_blur_as_opencv_has_them() -> None:
    cv2 = pytest.importorskip("cv2")
    image = scenes.grey((96, 80))
    kernel = np.array([[0, -1, 0], [-1, 1, 1], [0, 1, 0]], np.float32)
    inside = np.s_[1:-1, 1:-1]
    (got,) = run("emboss", (96, 80))
    assert apart(got[inside], cv2.filter2D(image, -1, kernel)[inside]) < 1e-6
    (got,) = run("blur", (96, 80))
    want = cv2.boxFilter(image, -1, (3, 3), normalize=False)
    assert apart(got[inside], want[inside]) < 2e-6


def test_loops_in_python() -> None:
    image = scenes.grey((40, 30))
    (got,) = run("emboss", (40, 30))
    assert apart(got, np.array(loops.emboss(image.tolist()), "f")) < 1e-6
    images = [plain(one).tolist() for one in scenes.exposures((40, 30)).values()]
    (got,) = run("exposure_fusion", (40, 30))
    assert apart(got, np.array(loops.exposure_fusion(images), "f")) < FUSED
    for name, steps, size in (("rician_2d", 10, (20, 15)), ("rician_3d", 5, (9, 8, 7))):
        given = PROGRAMS[name].inputs(size)["f"]
        (got,) = run(name, size)
        volume = given.reshape(-1, *given.shape[-2:]).tolist()
        values = rician.VALUES["sigma"], rician.VALUES["lambda"]
        found = np.array(loops.rician(volume, *values, steps), "f")
        assert apart(got, found.reshape(got.shape)) < PROGRAMS[name].bound


def test_pyramid_as_opencv_has_it() -> None:
    cv2 = pytest.importorskip("cv2")
    image = scenes.grey((96, 80))
    details = run("pyramid_mirror", (96, 80))
    kernel = np.array([0.25, 0.5, 0.25])
    for detail in details[:-1]:
        low = cv2.sepFilter2D(image, -1, kernel, kernel, borderType=cv2.BORDER_REFLECT)
        low = np.ascontiguousarray(low[::2, ::2])
        # Between two pixels, linear interpolation has the weights 3 and 1.
        wide = cv2.resize(low, None, fx=2, fy=2, interpolation=cv2.INTER_LINEAR)
        assert apart(detail, image - wide) < 1e-6
        image = low
    assert apart(details[-1], image) < 1e-6


def test_the_pyramid_is_the_image() -> None:
    image = scenes.grey((96, 80))
    *details, low = run("pyramid_mirror", (96, 80))
    for detail in reversed(details):
        low = detail + pyramids.upsample(low, True)
    assert apart(low, image) < 1e-6


def test_without_mirrors_edges_are_dark() -> None:
    with_, without = run("pyramid_mirror", (96, 80)), run("pyramid", (96, 80))
    assert not without[-1][0].any() and with_[-1][0].all()
    # What the missing edge of a level does reaches two of the next finer one's points.
    inside = np.s_[4:-4, 4:-4]
    assert apart(with_[0][inside], without[0][inside]) < 1e-6


def test_canny_as_opencv_has_it() -> None:
    cv2 = pytest.importorskip("cv2")
    image = scenes.levels((200, 160), np.int16)
    smooth = edges.blurred(image)
    kernel = np.array([1, 4, 6, 4, 1]) / 16
    edge = cv2.BORDER_REPLICATE
    soft = cv2.sepFilter2D(image, cv2.CV_32F, kernel, kernel, borderType=edge)
    # Rounded along x, and then along y.
    assert apart(smooth.astype(np.float32), soft) <= 1
    x, y = [
        cv2.Sobel(smooth, cv2.CV_16S, *order, borderType=edge)
        for order in ((1, 0), (0, 1))
    ]
    for found, want in zip(edges.gradient(smooth), (x, y), strict=True):
        assert np.array_equal(found, want)

    def ours(low: int, high: int) -> Array:
        graph = forma.check_file(PROGRAMS["canny"].path)
        values = {"M": 200, "N": 160, "low": low, "high": high}
        (found,) = evaluate(graph, {"image": image}, values)
        return found.astype(bool)

    def theirs(low: int, high: int) -> Array:
        found = cv2.Canny(x, y, low, high, L2gradient=True)
        return np.asarray(found != 0)

    # With one threshold nothing grows.
    assert np.array_equal(ours(90, 90), theirs(90, 90))
    assert np.array_equal(ours(150, 150), theirs(150, 150))
    # With two, edges grow here by one point, there as far as they reach.
    low, grown, whole, high = (
        ours(150, 150),
        ours(60, 150),
        theirs(60, 150),
        ours(60, 60),
    )
    assert low.sum() < grown.sum() < whole.sum() < high.sum()
    assert not (low & ~grown).any() and not (grown & ~whole).any()


def test_exposure_fusion_beside_opencvs() -> None:
    """OpenCV's has deeper pyramids, of five points instead of three, and its measure
    of saturation is longer by a factor: the images are alike, not the same."""
    cv2 = pytest.importorskip("cv2")
    images = [plain(one) for one in scenes.exposures((256, 192)).values()]
    merged = cv2.createMergeMertens().process(
        [np.rint(one * 255).astype(np.uint8) for one in images]
    )
    (got,) = run("exposure_pyramid", (256, 192))
    assert np.corrcoef(got.ravel(), merged.ravel())[0, 1] > 0.95
    # It is closer to OpenCV's than any of the exposures is to either.
    nearest = np.abs(got - merged).mean()
    for one in images:
        assert min(np.abs(one - got).mean(), np.abs(one - merged).mean()) > nearest


def test_fusion_of_one_image_is_that_image() -> None:
    (image,) = list(scenes.exposures((96, 80)).values())[1:2]
    same = {f"image{k}": image for k in (1, 2, 3, 4)}
    for name in ("exposure_fusion", "exposure_pyramid"):
        (got,) = run(name, (96, 80), **same)
        assert apart(got, plain(image)) < 1e-6


def test_weights_prefer_what_is_well_exposed() -> None:
    images = [
        np.moveaxis(plain(one), -1, 0) for one in scenes.exposures((96, 80)).values()
    ]
    dark, *_, bright = [weight(one).mean() for one in images]
    middle = max([weight(one).mean() for one in images])
    assert middle > dark and middle > bright


def test_pyramids_are_without_seams() -> None:
    """Four flat images whose weights are noise: point by point, that noise chooses
    among four levels of grey."""
    random = np.random.default_rng(1)
    flat = {
        f"image{k}": structs(random.normal(level, 0.01, (80, 96, 3)).astype("f"), "rgb")
        for k, level in enumerate((0.2, 0.4, 0.6, 0.8), start=1)
    }
    (direct,) = run("exposure_fusion", (96, 80), **flat)
    (smooth,) = run("exposure_pyramid", (96, 80), **flat)
    assert smooth.std() < direct.std() / 2


def test_camera_pipe_develops_a_photograph() -> None:
    (got,) = run("camera_pipe", (160, 120))
    assert got.shape == (96, 128, 3)
    image = scenes.colours((128, 96))
    developed = np.moveaxis(got.view(np.uint8), -1, 0) / 255
    assert np.corrcoef(developed.ravel(), image.ravel())[0, 1] > 0.9


@pytest.mark.parametrize("kelvin", [3200.0, 5000.0, 7000.0])
def test_camera_pipe_at_other_temperatures(kelvin: float) -> None:
    raw = scenes.mosaic((96, 80))
    app = camera_pipe.algorithm(hl)
    camera_pipe.schedule_root(hl, app)
    app.params["color_temp"].set(kelvin)
    images: dict[str, Array] = {
        "input": raw.view(np.uint16),
        "matrix_3200": camera_pipe.MATRIX_3200,
        "matrix_7000": camera_pipe.MATRIX_7000,
    }
    want = np.moveaxis(app.run(images, (64, 56, 3)), 0, -1)
    program = PROGRAMS["camera_pipe"]
    parameters = program.parameters((96, 80)) | {"kelvin": kelvin}
    graph = forma.check_file(program.path)
    (got,) = evaluate(graph, {"raw": raw}, parameters)
    assert apart(plain(got), np.ascontiguousarray(want).view(np.int8)) <= 1


@pytest.mark.parametrize("name", ["rician_2d", "rician_3d"])
def test_denoising_takes_noise_away(name: str) -> None:
    size = (192, 160) if name == "rician_2d" else (128, 96, 24)
    clean = scenes.grey(size) if name == "rician_2d" else scenes.volume(size)
    noisy = PROGRAMS[name].inputs(size)["f"]
    (got,) = run(name, size)
    assert np.abs(got - clean).mean() < 0.8 * np.abs(noisy - clean).mean()


def test_the_quotient_of_bessel_functions() -> None:
    special = pytest.importorskip("scipy.special")
    text = PROGRAMS["rician_2d"].text
    start = text.index("stencil bessel_ratio")
    stencil = text[start : text.index("}", start) + 1]
    program = f"""
        {stencil}
        parameter M; vector#2 float u[M,1], f[M,1];
        return bessel_ratio(u, f, 1.0);
    """
    s = np.linspace(0, 50, 400, dtype=np.float32)[None]
    inputs = {"u": s, "f": np.ones_like(s)}
    (got,) = evaluate(forma.check(program), inputs, {"M": 400})
    assert np.abs(got - special.i1e(s) / special.i0e(s)).max() < 0.01


def test_a_step_lowers_what_is_minimized() -> None:
    special = pytest.importorskip("scipy.special")
    sigma, trust = rician.VALUES["sigma"], rician.VALUES["lambda"]
    f = rician.image((96, 80))["f"]

    def energy(u: Array) -> float:
        wide, high = np.diff(u, axis=1)[:-1], np.diff(u, axis=0)[:, :-1]
        product = u.astype(float) * f / sigma**2
        log_i0 = np.log(special.i0e(product)) + product
        data = (u**2 + f**2) / (2 * sigma**2) - log_i0
        return float(np.hypot(wide, high).sum() + trust * data.sum())

    steps = [energy(rician.denoised(f, sigma, trust, n)) for n in (0, 1, 10)]
    assert steps[0] > steps[1] > steps[2]
