"""Which queries can be answered together, and the plan that does so."""

from eddyline.sharing.shape import Shape, slide_of, with_forms, with_windows
from eddyline.sharing.together import shape_of

__all__ = ["Shape", "shape_of", "slide_of", "with_forms", "with_windows"]
