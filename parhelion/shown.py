"""What draws things for notebooks, by names.

The drawing is in `parhelion.views`, above all that is drawn: it is loaded when
something is first shown.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Where each view is, as "module:function".
_VIEWS = {
    "animation": "parhelion.views.animation:animate",
    "array": "parhelion.views.pictures:array_html",
    "buffer": "parhelion.views.pictures:buffer_html",
    "error": "parhelion.views.tables:error_html",
    "explanation": "parhelion.views.tables:explanation_html",
    "func": "parhelion.views.notebook:func_html",
    "graph": "parhelion.views.svg:graph_svg",
    "image": "parhelion.views.pictures:image_html",
    "nest": "parhelion.views.nest:nest_html",
    "pipeline": "parhelion.views.notebook:pipeline_html",
    "profile": "parhelion.views.tables:profile_html",
    "report": "parhelion.views.tables:report_html",
    "result": "parhelion.views.tables:result_html",
}


def view(name: str) -> Any:
    """The function that draws it."""
    module, _, function = _VIEWS[name].partition(":")
    return getattr(importlib.import_module(module), function)


__all__ = ["view"]
