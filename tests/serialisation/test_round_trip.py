"""What is serialised and read again is the same pipeline, down to its machine code."""

from __future__ import annotations

import importlib
import random
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import apps
import parhelion as hl
from parhelion.codegen.llvm import emit
from parhelion.ir.target import generic_target
from parhelion.lower.passes import lower
from parhelion.schedule.serial import document_of
from parhelion.schedule.serial_reader import read_document
from parhelion.schedule.spec import PipelineSpec
from tests.fuzz.apply import Scheduler
from tests.fuzz.build import build
from tests.fuzz.draw import draw
from tests.golden.nests import CASES
from tests.golden.test_lowered import LOWERED
from tests.schedule.test_spec import Pair
from tests.support.spec import spec_of

pytestmark = pytest.mark.filterwarnings(
    "ignore::parhelion.schedule.rules.ScheduleWarning"
)
x, y = hl.vars("x y")


def sent(spec: PipelineSpec) -> PipelineSpec:
    """The pipeline, written and read; written again, it gives the same document."""
    document = document_of(spec)
    made = read_document(document, {}).spec
    assert document_of(made) == document
    assert not {*made.order} & {*spec.order, *spec.copies}
    assert made == spec and hash(made) == hash(spec)
    return made


def code(spec: PipelineSpec) -> str:
    return emit(lower(spec, name="out"), generic_target(256))


@pytest.mark.parametrize("name", LOWERED)
def test_every_golden_pipeline_comes_back(name: str) -> None:
    made = CASES[name](hl)
    outputs = made._functions() if isinstance(made, hl.Pipeline) else [made._function]
    spec = PipelineSpec.of(list(outputs))
    assert code(sent(spec)) == code(spec)


def _applications() -> list[tuple[str, str]]:
    """Every application and schedule that takes no more than the module and the app."""
    found = []
    for path in sorted(Path(apps.__file__).parent.glob("*.py")):
        module = importlib.import_module(f"apps.{path.stem}")
        if hasattr(module, "algorithm"):
            ways = [n for n in dir(module) if n.startswith("schedule_")]
            found += [(path.stem, way) for way in ways]
    return found


APPLICATIONS = _applications()


def _application(name: str, way: str) -> PipelineSpec:
    module = importlib.import_module(f"apps.{name}")
    app = module.algorithm(hl)
    getattr(module, way)(hl, app)
    return spec_of(app.output)


@pytest.mark.parametrize(("name", "way"), APPLICATIONS)
def test_every_application_comes_back(name: str, way: str) -> None:
    sent(_application(name, way))


#: One schedule of each, for this computer's processor.
COMPILED = {name: way for name, way in APPLICATIONS if "gpu" not in way}


@pytest.mark.parametrize("name", COMPILED)
def test_every_application_is_compiled_to_the_same_code(name: str) -> None:
    spec = _application(name, COMPILED[name])
    assert code(sent(spec)) == code(spec)


@pytest.mark.parametrize("seed", range(40))
def test_random_pipelines_come_back(seed: int) -> None:
    program = build(draw(random.Random(seed)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Scheduler(program).run()
        try:
            spec = spec_of(*program.outputs())
        except hl.ScheduleError:
            return  # the case is refused, before anything is written
    try:
        document = document_of(spec)
    except hl.SerialisationError as error:
        assert "foreign code" in str(error)
        return
    made = read_document(document, {}).spec
    assert made == spec and document_of(made) == document


def test_wrappers_branches_and_promises_come_back() -> None:
    it = Pair()
    it.image.dim(1).set_stride(it.image.dim(0).extent())
    it.image.dim(0).set_estimate(0, 640)
    it.image.set_host_alignment(32)
    it.gain.set_range(0.0, 3.0)
    it.gain.set_estimate(1.5)
    it.out.prefetch(it.wrapper, y, y, 2)
    it.out.output_buffer().dim(0).set_min(0)
    spec = spec_of(it.out, it.q)
    made = sent(sent(spec))
    assert code(made) == code(spec)
    (gain,) = made.assumptions.params
    assert (gain.name, gain.estimate) == (it.gain.name(), 1.5)
    images = {d.min.origin[0] for d in made.assumptions.dims}
    (image,) = [b for b in images if b.role == "input"]
    assert image.host_alignment == 32
    assert image.dims[0].estimate_extent is it.image._sym.dims[0].estimate_extent


def test_deep_trees_come_back() -> None:
    f = hl.Func("f")
    e = hl.cast(hl.Float(32), x)
    for k in range(20_000):
        e = hl.sqrt(e + k)
    f[x] = e
    sent(spec_of(f))


PROGRAM = """
import sys
from parhelion.codegen.llvm import emit
from parhelion.ir.target import generic_target
from parhelion.lower.passes import lower
from parhelion.schedule.serial_reader import read_document
spec = read_document(sys.stdin.buffer.read(), {}).spec
sys.stdout.write(emit(lower(spec, name="out"), generic_target(256)))
"""


def test_another_process_compiles_the_same_code() -> None:
    spec = spec_of(Pair().out)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=document_of(spec),
        capture_output=True,
        check=True,
    )
    assert ran.stdout.decode() == code(spec)


def test_the_lines_of_the_source_are_not_told() -> None:
    """So that a file says nothing of where it was made, and does not depend on it."""
    data = hl.serialize_pipeline(hl.Pipeline(Pair().out))
    assert __file__.encode() not in data and b"test_" not in data


# What users call.


def computed(p: hl.Pipeline, size: list[int]) -> list[np.ndarray]:
    """The pixels of all outputs."""
    found = p.realize(size)
    assert found is not None
    several = found if isinstance(found, tuple) else (found,)
    return [np.asarray(b) for b in several]


def picture() -> tuple[hl.Pipeline, hl.ImageParam, hl.Param]:
    """A pipeline of two outputs, of an image, a Param and a table, with a check."""
    image = hl.ImageParam(hl.UInt(8), 2, "photo")
    gain = hl.Param(hl.Float(32), "brightness", 1.5)
    table = hl.Buffer(np.arange(256, dtype=np.uint8)[::-1].copy(), "table")
    bright, negative = hl.Func("bright"), hl.Func("negative")
    bright[x, y] = hl.u8_sat(image[x, y] * gain)
    negative[x, y] = (table[image[x, y]], bright[x, y] > 100)
    bright.compute_root().vectorize(x, 8)
    p = hl.Pipeline([bright, negative])
    p.add_requirement(gain < 4.0, "the brightness is", gain)
    return p, image, gain


def test_a_pipeline_computes_the_same_again(tmp_path: Path) -> None:
    p, image, gain = picture()
    pixels = np.random.default_rng(1).integers(0, 256, (9, 17)).astype(np.uint8)
    image.set(pixels)
    expected = computed(p, [17, 9])
    file = tmp_path / "picture.parhelion"
    params = hl.serialize_pipeline(p, file, get_params=True)
    assert params is not None and [*params] == [image.name(), gain.name()]
    assert hl.serialize_pipeline(p, file) is None
    for again in (
        hl.deserialize_pipeline(file, params),
        hl.deserialize_pipeline(str(file), params),
        hl.deserialize_pipeline(file.read_bytes(), params),
    ):
        assert all(map(np.array_equal, computed(again, [17, 9]), expected))
    gain.set(5.0)
    with pytest.raises(hl.PipelineRuntimeError, match="the brightness is 5"):
        again.realize([17, 9])


def test_new_parameters_take_the_places_of_the_old() -> None:
    p, image, gain = picture()
    data = hl.serialize_pipeline(p)
    params = hl.deserialize_parameters(data)
    photo, brightness = params[image.name()], params[gain.name()]
    assert isinstance(photo, hl.ImageParam) and isinstance(brightness, hl.Param)
    assert brightness.get() == 1.5
    photo.set(np.full((2, 2), 50, np.uint8))
    brightness.set(3.0)
    bright, *_ = computed(hl.deserialize_pipeline(data, params), [2, 2])
    assert bright[0, 0] == 150 and gain.get() == 1.5


def test_what_was_read_can_be_scheduled_and_changes_nothing_else() -> None:
    f, g = hl.Func("f"), hl.Func("g")
    f[x] = x * 2
    g[x] = f[x] + f[x + 1]
    f.compute_root()
    again = hl.deserialize_pipeline(hl.serialize_pipeline(hl.Pipeline(g)))
    (made,) = again.outputs()
    assert made.name() != g.name()  # that name is taken in this process
    made.vectorize(made.args()[0], 4)
    made[x] += 1
    assert np.asarray(again.realize([3])).tolist() == [3, 7, 11]
    assert np.asarray(g.realize([3])).tolist() == [2, 6, 10]


@pytest.mark.parametrize(
    "t", ["uint8", "int16", "bool", "float16", "float32", "float64", "uint64"]
)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_pixels_come_back(t: str, order: tuple[int, int]) -> None:
    rng = np.random.default_rng(3)
    made = rng.integers(0, 2 if t == "bool" else 100, (5, 7)).astype(t)
    pixels = made if order == (0, 1) else np.asfortranarray(made)
    buffer = hl.Buffer(pixels)
    buffer.set_min([-2, 3])
    f = hl.Func("f")
    f[x, y] = buffer[x - 2, y + 3]
    again = hl.deserialize_pipeline(hl.serialize_pipeline(hl.Pipeline(f)))
    assert np.array_equal(np.asarray(again.realize([7, 5])), made)


def test_empty_pixels_come_back() -> None:
    buffer = hl.Buffer(np.zeros((0, 4), np.uint8))
    f = hl.Func("f")
    f[x] = buffer[x, 0]
    again = hl.deserialize_pipeline(hl.serialize_pipeline(hl.Pipeline(f)))
    with pytest.raises(hl.BoundsError):
        again.realize([2])


# What is refused.


def test_foreign_code_is_refused() -> None:
    f = hl.Func("f")
    f.define_extern(lambda out: None, [], hl.Float(32), [x, y])
    with pytest.raises(hl.SerialisationError, match="f, which foreign code computes,"):
        hl.serialize_pipeline(hl.Pipeline(f))


def test_what_is_no_pipeline_is_refused() -> None:
    f = hl.Func("f")
    f[x] = x
    with pytest.raises(hl.TypeMismatchError, match="serialize_pipeline takes a"):
        hl.serialize_pipeline(f)  # type: ignore[call-overload]
    with pytest.raises(hl.TypeMismatchError, match="bytes or the name of a file"):
        hl.deserialize_pipeline(3)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError):
        hl.deserialize_pipeline("nowhere.parhelion")
    with pytest.raises(hl.UnwritableFileError, match="cannot be written"):
        hl.serialize_pipeline(hl.Pipeline(f), "/")


def test_parameters_of_others_are_refused() -> None:
    p, image, gain = picture()
    data = hl.serialize_pipeline(p)
    with pytest.raises(hl.HalideError, match="has no ImageParam or Param 'exposure'"):
        hl.deserialize_pipeline(data, {"exposure": gain})
    with pytest.raises(hl.HalideError, match="is a Param of type float32"):
        hl.deserialize_pipeline(data, {gain.name(): hl.Param(hl.Int(32))})
    with pytest.raises(hl.HalideError, match="of type uint8 and 2 dimensions"):
        hl.deserialize_pipeline(data, {image.name(): hl.ImageParam(hl.UInt(8), 3)})
    with pytest.raises(hl.TypeMismatchError, match="is an ImageParam or a Param"):
        hl.deserialize_pipeline(data, {gain.name(): 3})  # type: ignore[dict-item]
