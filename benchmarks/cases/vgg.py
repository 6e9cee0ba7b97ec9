"""VGG-16 of four images of 224 x 224 x 3."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from apps import vgg
from apps.common import Array
from benchmarks.case import Case, Image, Output, Rivals, Tolerance, resized, rng

PYTORCH = "PyTorch (oneDNN)"


def inputs(net: vgg.Network) -> Mapping[str, Image]:
    pixels = rng().random(net.shapes()["input"], np.float32)
    arrays = {"input": pixels, **vgg.weights(net)}
    return {name: Image(a) for name, a in arrays.items()}


def rivals(net: vgg.Network, images: Mapping[str, Image]) -> Rivals:
    arrays = {name: image.array for name, image in images.items()}
    found: dict[str, Callable[[], object]] = {
        "NumPy (BLAS)": lambda: vgg.with_numpy(arrays, net)
    }
    if importlib.util.find_spec("torch"):
        found[PYTORCH] = with_torch(net, arrays)
    return found


def with_torch(net: vgg.Network, arrays: Mapping[str, Array]) -> Callable[[], Array]:
    """The same by PyTorch's layers, where its CPU build calls oneDNN. The number of
    threads is OMP_NUM_THREADS."""
    run = torch_layers(net, arrays, "cpu")
    return lambda: np.asarray(run().numpy())


def torch_layers(
    net: vgg.Network, arrays: Mapping[str, Array], device: str
) -> Callable[[], Any]:
    """Runs PyTorch's layers on a device, channels innermost as in ours; returns a
    tensor there. The weights are brought into its layout beforehand."""
    import torch
    from torch.nn import functional

    inner = torch.channels_last
    layers: list[list[tuple[Any, Any]]] = []
    for b, (_, count) in enumerate(net.blocks, 1):
        names = [f"{b}_{k}" for k in range(1, count + 1)]
        layers.append(
            [
                (
                    torch.from_numpy(arrays[f"filter_{n}"].transpose(3, 0, 1, 2).copy())
                    .to(device)
                    .contiguous(memory_format=inner),
                    torch.from_numpy(arrays[f"bias_{n}"]).to(device),
                )
                for n in names
            ]
        )
    dense = [
        (
            torch.from_numpy(arrays[f"matrix_{k}"].T.copy()).to(device),
            torch.from_numpy(arrays[f"vector_{k}"]).to(device),
        )
        for k in range(1, len(net.hidden) + 2)
    ]
    # A view: its strides are those of channels that are innermost.
    images = torch.from_numpy(arrays["input"]).to(device).permute(0, 3, 1, 2)

    def run() -> Any:
        with torch.inference_mode():
            f = images * 2 - 1
            for block in layers:
                for weights, bias in block:
                    f = functional.relu_(functional.conv2d(f, weights, bias, padding=1))
                f = functional.max_pool2d(f, 2)
            f = f.permute(0, 2, 3, 1).flatten(1)
            for k, (matrix, vector) in enumerate(dense):
                f = functional.linear(f, matrix, vector)
                f = functional.relu_(f) if k < len(net.hidden) else f
            return functional.softmax(f, dim=1)

    return run


def at(scale: float = 1.0) -> Case:
    net = replace(vgg.VGG16, batch=resized(vgg.VGG16.batch, scale))
    return Case(
        name="vgg",
        size=f"{net.size} x {net.size} x 3 x {net.batch}",
        algorithm=partial(vgg.algorithm, net=net),
        schedules={"registers": vgg.schedule_registers},
        inputs=partial(inputs, net),
        outputs=(Output(np.float32, (1000, net.batch)),),
        tolerance=Tolerance(1e-5),
        rivals=partial(rivals, net),
        aims={PYTORCH: 1.0},
        at=at,
    )


CASES = (at(),)
