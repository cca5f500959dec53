"""All perturbations: those with a name on the command line, those that combine others, and more."""

from surefoot.perturb.adapters import from_albumentations, from_maite, from_nrtk, from_torchvision
from surefoot.perturb.compose import Chain, Mixture, RandomLevel
from surefoot.perturb.grid import GaussianGrid, GaussianShift, UniformGrid
from surefoot.perturb.image.blur import DefocusBlur, GaussianBlur, GlassBlur, MotionBlur, ZoomBlur
from surefoot.perturb.image.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from surefoot.perturb.image.digital import JPEG, Pixelate
from surefoot.perturb.image.geometry import (
    Elastic,
    Perspective,
    Rotation,
    Shear,
    TranslationX,
    TranslationY,
    Zoom,
)
from surefoot.perturb.image.lens import (
    BrokenLens,
    ChromaticAberration,
    Condensation,
    Dirt,
    Flare,
    LensDistortion,
    Vignetting,
    WhiteBalance,
)
from surefoot.perturb.image.occlusion import Dropout, Occlusion
from surefoot.perturb.image.sensor import (
    Banding,
    Bayer,
    DeadLines,
    DeadPixels,
    ImpulseNoise,
    ShotNoise,
    SpeckleNoise,
)
from surefoot.perturb.image.weather import Fog, Frost, Snow, Spatter
from surefoot.perturb.noise import (
    GaussianNoise,
    L1Noise,
    L2Noise,
    LinfNoise,
    NoPerturbation,
    UniformNoise,
)
from surefoot.perturb.own_function import Batched, InputFormat, OneByOne, custom
from surefoot.perturb.signal import (
    BandPass,
    ClipSignal,
    Dropouts,
    Gain,
    Jitter,
    NoiseAtSNR,
    Speed,
    TimeShift,
)
from surefoot.perturb.table import TableNoise
from surefoot.perturb.table_columns import Feature, OneHot, load_features
from surefoot.perturb.text import (
    OCR,
    Case,
    Deletions,
    Homoglyphs,
    Insertions,
    Punctuation,
    Spaces,
    Swaps,
    Typos,
    WordDrop,
    WordRepeat,
)

SIGNALS = (NoiseAtSNR, Gain, ClipSignal, BandPass, TimeShift, Speed, Jitter, Dropouts)
TEXTS = (
    Typos, Swaps, Deletions, Insertions, Case, Spaces, Punctuation, Homoglyphs, OCR, WordDrop,
    WordRepeat,
)  # fmt: skip
CATALOGUE = (
    LinfNoise, L2Noise, L1Noise, GaussianNoise, UniformNoise, ShotNoise, ImpulseNoise, SpeckleNoise,
    GaussianBlur, DefocusBlur, MotionBlur, ZoomBlur, GlassBlur,
    Snow, Frost, Fog, Spatter,
    Brightness, Contrast, Saturate, Desaturate, Hue, Gamma, Pixelate, JPEG,
    Rotation, TranslationX, TranslationY, Zoom, Shear, Perspective, Elastic,
    Occlusion, Dropout,
    DeadPixels, DeadLines, Banding, Bayer, Condensation, Dirt, BrokenLens, Flare, Vignetting,
    LensDistortion, ChromaticAberration, WhiteBalance,
    *SIGNALS,
    TableNoise,
    *TEXTS,
)  # fmt: skip
"""All that have a name on the command line, in the order of the catalogue: a new one is added here.

Noise, blurs, weather, light and files, geometry, hidden parts, camera, signals, tables, texts."""
COMBINED = (RandomLevel, Chain, Mixture)
UNLISTED = (GaussianGrid, UniformGrid, GaussianShift, NoPerturbation)
"""What smooths a model: not clipped by itself, and so none that a command line names; and
`none`, which perturbs nothing."""

__all__ = [
    "JPEG",
    "OCR",
    "BandPass",
    "Banding",
    "Batched",
    "Bayer",
    "Brightness",
    "BrokenLens",
    "Case",
    "Chain",
    "ChromaticAberration",
    "ClipSignal",
    "Condensation",
    "Contrast",
    "DeadLines",
    "DeadPixels",
    "DefocusBlur",
    "Deletions",
    "Desaturate",
    "Dirt",
    "Dropout",
    "Dropouts",
    "Elastic",
    "Feature",
    "Flare",
    "Fog",
    "Frost",
    "Gain",
    "Gamma",
    "GaussianBlur",
    "GaussianGrid",
    "GaussianNoise",
    "GaussianShift",
    "GlassBlur",
    "Homoglyphs",
    "Hue",
    "ImpulseNoise",
    "InputFormat",
    "Insertions",
    "Jitter",
    "L1Noise",
    "L2Noise",
    "LensDistortion",
    "LinfNoise",
    "Mixture",
    "MotionBlur",
    "NoPerturbation",
    "NoiseAtSNR",
    "Occlusion",
    "OneByOne",
    "OneHot",
    "Perspective",
    "Pixelate",
    "Punctuation",
    "RandomLevel",
    "Rotation",
    "Saturate",
    "Shear",
    "ShotNoise",
    "Snow",
    "Spaces",
    "Spatter",
    "SpeckleNoise",
    "Speed",
    "Swaps",
    "TableNoise",
    "TimeShift",
    "TranslationX",
    "TranslationY",
    "Typos",
    "UniformGrid",
    "UniformNoise",
    "Vignetting",
    "WhiteBalance",
    "WordDrop",
    "WordRepeat",
    "Zoom",
    "ZoomBlur",
    "custom",
    "from_albumentations",
    "from_maite",
    "from_nrtk",
    "from_torchvision",
    "load_features",
]
