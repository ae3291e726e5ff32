"""What brings each execution provider, and which Ryzen AI release has which OGA."""

from __future__ import annotations

from collections.abc import Mapping

from mince_gui.run.provider_names import provider_key

# Major and minor of a Ryzen AI release -> the OGA that it brings.
OGA_OF_RELEASE: Mapping[str, str] = {"1.5": "0.7.0", "1.6": "0.9.2", "1.7": "0.11.2", "1.8": "0.14.0"}

_CARRY = (
    "Where there is no network, fetch the wheels on another machine (pip download), carry them in, and install them "
    "into an environment of their own (pip install --no-index --find-links FOLDER); then: mince runtimes add PYTHON"
)
_WHEELS = {
    "dml": "onnxruntime-genai-directml (Windows)",
    "cuda": "onnxruntime-genai-cuda, and the CUDA libraries that it was built for",
    "nvtensorrtrtx": "an onnxruntime-genai that was built with TensorRT RTX",
    "qnn": "an onnxruntime-genai that was built for QNN (Windows on Arm)",
    "openvino": "an onnxruntime-genai that was built for OpenVINO",
    "webgpu": "an onnxruntime-genai that was built for WebGPU",
    "cpu": "onnxruntime-genai",
}
_TITLES = {
    "ryzenai": "RyzenAI",
    "vitisai": "VitisAI",
    "dml": "DirectML",
    "cuda": "CUDA",
    "nvtensorrtrtx": "TensorRT RTX",
    "qnn": "QNN",
    "openvino": "OpenVINO",
    "webgpu": "WebGPU",
    "cpu": "CPU",
}


def provider_title(name: str) -> str:
    """How a provider is written for people."""
    return _TITLES.get(provider_key(name), name)


def install_for(name: str, release: str | None = None) -> str:
    """What to install, and from where, so that a runtime has the provider `name`.

    `release` is the Ryzen AI release that the model was made for, None where it is not known.
    """
    key = provider_key(name)
    if key == "ryzenai":
        which = f"Ryzen AI {release}" if release else "the Ryzen AI release that the model was made for"
        return (
            f"Carry in AMD's installer of {which} and run it: its conda environment holds AMD's wheel "
            "onnxruntime-genai-directml-ryzenai (the public onnxruntime-genai cannot run on this NPU). "
            "Then: mince runtimes add PYTHON, with that environment's python"
        )
    if key == "vitisai":
        return (
            "Two stacks have it: the environment of AMD's Ryzen AI installer "
            f"({'release ' + release if release else 'of the release that the model was made for'}), and Windows ML "
            "(the wheel onnxruntime-genai-winml, with AMD's provider that Windows keeps). Take the one that the model "
            "was made with; they cannot be exchanged. Then: mince runtimes add PYTHON"
        )
    return f"Install {_WHEELS.get(key, f'an onnxruntime-genai that was built with {name}')}. {_CARRY}"
