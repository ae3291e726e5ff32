"""Remedies that several findings share."""

from __future__ import annotations

CHECK = "mince check-model FOLDER says which release a model was made for, and which runtime fits it."
COPY = "Copy the model folder again, whole, and compare the file sizes with the source's."
ASCII_PATH = (
    "Copy the model into a folder whose whole path is plain ASCII, outside the user profile (such as C:\\models), or "
    "link to it from there: mklink /J C:\\models\\NAME FOLDER."
)
MEMORY = (
    "Close other programs, take a smaller model, or a smaller context. On Windows the NPU and GPU get about half of "
    "the memory: a machine of 24 GB has about 12 GB for a model."
)
VISUAL_CPP = (
    "Install the current Visual C++ runtime (vc_redist.x64.exe, carried in where there is no network); in a conda "
    "environment an old copy of it (msvcp140.dll) can hide the system's."
)
TRUST = "If you trust where the folder comes from, say so with --trust-native-code."
