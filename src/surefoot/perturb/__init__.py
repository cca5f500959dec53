"""Perturbations: frozen values that draw and apply on NumPy and Torch arrays alike."""

from surefoot.perturb.adapters import (
    from_albumentations,
    from_maite,
    from_nrtk,
    from_torchvision,
)
from surefoot.perturb.balls import L1Noise, L2Noise, LinfNoise
from surefoot.perturb.blurs import DefocusBlur, GaussianBlur, MotionBlur, ZoomBlur
from surefoot.perturb.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from surefoot.perturb.combine import Chain, Mixture
from surefoot.perturb.custom import Batched, OneByOne, custom
from surefoot.perturb.digital import JPEG, Pixelate
from surefoot.perturb.elastic import Elastic
from surefoot.perturb.features import Feature, OneHot, load_features
from surefoot.perturb.geometry import (
    Perspective,
    Rotation,
    Shear,
    TranslationX,
    TranslationY,
    Zoom,
)
from surefoot.perturb.glass import GlassBlur
from surefoot.perturb.noise import GaussianNoise, UniformNoise
from surefoot.perturb.occlusion import Dropout, Occlusion
from surefoot.perturb.photons import ImpulseNoise, ShotNoise, SpeckleNoise
from surefoot.perturb.series import Dropouts, Jitter, TimeShift
from surefoot.perturb.signals import BandPass, ClipSignal, Gain, NoiseAtSNR
from surefoot.perturb.snow import Snow
from surefoot.perturb.spatter import Spatter
from surefoot.perturb.spread import Spread
from surefoot.perturb.tables import TableNoise
from surefoot.perturb.weather import Fog, Frost

VALUES = (LinfNoise, L2Noise, L1Noise, GaussianNoise, UniformNoise, ShotNoise, ImpulseNoise,
          SpeckleNoise)  # fmt: skip
BLURS = (GaussianBlur, DefocusBlur, MotionBlur, ZoomBlur, GlassBlur)
WEATHER = (Snow, Frost, Fog, Spatter)
DIGITAL = (Brightness, Contrast, Saturate, Desaturate, Hue, Gamma, Pixelate, JPEG)
GEOMETRY = (Rotation, TranslationX, TranslationY, Zoom, Shear, Perspective, Elastic)
COVERING = (Occlusion, Dropout)
SIGNALS = (NoiseAtSNR, Gain, ClipSignal, BandPass, TimeShift, Jitter, Dropouts)
COMBINED = (Spread, Chain, Mixture)

__all__ = [
    "JPEG",
    "BandPass",
    "Batched",
    "Brightness",
    "Chain",
    "ClipSignal",
    "Contrast",
    "DefocusBlur",
    "Desaturate",
    "Dropout",
    "Dropouts",
    "Elastic",
    "Feature",
    "Fog",
    "Frost",
    "Gain",
    "Gamma",
    "GaussianBlur",
    "GaussianNoise",
    "GlassBlur",
    "Hue",
    "ImpulseNoise",
    "Jitter",
    "L1Noise",
    "L2Noise",
    "LinfNoise",
    "Mixture",
    "MotionBlur",
    "NoiseAtSNR",
    "Occlusion",
    "OneByOne",
    "OneHot",
    "Perspective",
    "Pixelate",
    "Rotation",
    "Saturate",
    "Shear",
    "ShotNoise",
    "Snow",
    "Spatter",
    "SpeckleNoise",
    "Spread",
    "TableNoise",
    "TimeShift",
    "TranslationX",
    "TranslationY",
    "UniformNoise",
    "Zoom",
    "ZoomBlur",
    "custom",
    "from_albumentations",
    "from_maite",
    "from_nrtk",
    "from_torchvision",
    "load_features",
]
