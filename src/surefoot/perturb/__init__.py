"""Perturbations: frozen values that draw and apply on NumPy and Torch arrays alike."""

from surefoot.perturb._ops.input_formats import InputFormat
from surefoot.perturb.adapters import (
    from_albumentations,
    from_maite,
    from_nrtk,
    from_torchvision,
)
from surefoot.perturb.compose import Chain, Mixture
from surefoot.perturb.custom import Batched, OneByOne
from surefoot.perturb.image.blur import DefocusBlur, GaussianBlur, MotionBlur, ZoomBlur
from surefoot.perturb.image.broken_lens import BrokenLens
from surefoot.perturb.image.colour import Brightness, Contrast, Desaturate, Gamma, Hue, Saturate
from surefoot.perturb.image.digital import JPEG, Pixelate
from surefoot.perturb.image.elastic import Elastic
from surefoot.perturb.image.geometry import (
    Perspective,
    Rotation,
    Shear,
    TranslationX,
    TranslationY,
    Zoom,
)
from surefoot.perturb.image.glass import GlassBlur
from surefoot.perturb.image.lens import Condensation, Dirt, Flare, Vignetting
from surefoot.perturb.image.occlusion import Dropout, Occlusion
from surefoot.perturb.image.optics import ChromaticAberration, LensDistortion, WhiteBalance
from surefoot.perturb.image.sensor_failure import Banding, Bayer, DeadLines, DeadPixels
from surefoot.perturb.image.sensor_noise import ImpulseNoise, ShotNoise, SpeckleNoise
from surefoot.perturb.image.snow import Snow
from surefoot.perturb.image.spatter import Spatter
from surefoot.perturb.image.weather import Fog, Frost
from surefoot.perturb.noise import GaussianNoise, L1Noise, L2Noise, LinfNoise, UniformNoise
from surefoot.perturb.own_function import custom
from surefoot.perturb.random_level import RandomLevel
from surefoot.perturb.signal.audio import BandPass, ClipSignal, Gain, NoiseAtSNR
from surefoot.perturb.signal.series import Dropouts, Jitter, Speed, TimeShift
from surefoot.perturb.table.columns import Feature, OneHot, load_features
from surefoot.perturb.table.noise import TableNoise

VALUES = (LinfNoise, L2Noise, L1Noise, GaussianNoise, UniformNoise, ShotNoise, ImpulseNoise,
          SpeckleNoise)  # fmt: skip
BLURS = (GaussianBlur, DefocusBlur, MotionBlur, ZoomBlur, GlassBlur)
WEATHER = (Snow, Frost, Fog, Spatter)
DIGITAL = (Brightness, Contrast, Saturate, Desaturate, Hue, Gamma, Pixelate, JPEG)
GEOMETRY = (Rotation, TranslationX, TranslationY, Zoom, Shear, Perspective, Elastic)
OCCLUSION = (Occlusion, Dropout)
CAMERA = (DeadPixels, DeadLines, Banding, Bayer, Condensation, Dirt, BrokenLens, Flare, Vignetting,
          LensDistortion, ChromaticAberration, WhiteBalance)  # fmt: skip
SIGNALS = (NoiseAtSNR, Gain, ClipSignal, BandPass, TimeShift, Speed, Jitter, Dropouts)
TABLES = (TableNoise,)
COMBINED = (RandomLevel, Chain, Mixture)

__all__ = [
    "JPEG",
    "BandPass",
    "Banding",
    "Batched",
    "Bayer",
    "Brightness",
    "BrokenLens",
    "Chain",
    "ChromaticAberration",
    "ClipSignal",
    "Condensation",
    "Contrast",
    "DeadLines",
    "DeadPixels",
    "DefocusBlur",
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
    "GaussianNoise",
    "GlassBlur",
    "Hue",
    "ImpulseNoise",
    "InputFormat",
    "Jitter",
    "L1Noise",
    "L2Noise",
    "LensDistortion",
    "LinfNoise",
    "Mixture",
    "MotionBlur",
    "NoiseAtSNR",
    "Occlusion",
    "OneByOne",
    "OneHot",
    "Perspective",
    "Pixelate",
    "RandomLevel",
    "Rotation",
    "Saturate",
    "Shear",
    "ShotNoise",
    "Snow",
    "Spatter",
    "SpeckleNoise",
    "Speed",
    "TableNoise",
    "TimeShift",
    "TranslationX",
    "TranslationY",
    "UniformNoise",
    "Vignetting",
    "WhiteBalance",
    "Zoom",
    "ZoomBlur",
    "custom",
    "from_albumentations",
    "from_maite",
    "from_nrtk",
    "from_torchvision",
    "load_features",
]
