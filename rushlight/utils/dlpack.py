"""DLPack: exchange of tensors with other libraries without copying."""

from __future__ import annotations

from enum import IntEnum

from ..tensor.construct import from_dlpack
from ..tensor.interop import to_dlpack


class DLDeviceType(IntEnum):
    """The kinds of devices by their numbers in DLPack."""

    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17


__all__ = ["DLDeviceType", "from_dlpack", "to_dlpack"]
