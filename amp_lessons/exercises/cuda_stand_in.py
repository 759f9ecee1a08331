"""Stands in for torch.cuda as it answers on another machine."""

import types

AVAILABLE = "is_available"
NAME = "get_device_name"
CAPABILITY = "get_device_capability"
SUPPORTED = "is_bf16_supported()"
NATIVE = "is_bf16_supported(including_emulation=False)"


class NoGpu(AssertionError, RuntimeError):
    """What torch.cuda raises where there is no GPU.

    A build for CPUs raises AssertionError, one for CUDA RuntimeError. This is both, so that an answer that
    catches either is treated as it would be there.
    """


class CudaStandIn:
    """Answers as torch.cuda does on a machine with the GPU `name` of this `capability`; None for no GPU.

    `asked` lists what was asked, in order: AVAILABLE, NAME, CAPABILITY, SUPPORTED or NATIVE.
    Source of is_bf16_supported: torch/cuda/__init__.py (2.6 to 2.13, builds for NVIDIA GPUs).
    """

    def __init__(self, name, capability):
        self._name = name
        self._capability = capability
        self.asked = []

    def is_available(self):
        self.asked.append(AVAILABLE)
        return self._capability is not None

    def device_count(self):
        self.asked.append(AVAILABLE)
        return int(self._capability is not None)

    def current_device(self):
        self.asked.append(AVAILABLE)
        self._need_gpu()
        return 0

    def get_device_name(self, device=None):
        self.asked.append(NAME)
        self._need_gpu()
        return self._name

    def get_device_capability(self, device=None):
        self.asked.append(CAPABILITY)
        self._need_gpu()
        return self._capability

    def get_device_properties(self, device=None):
        self.asked.append(CAPABILITY)
        self._need_gpu()
        major, minor = self._capability
        return types.SimpleNamespace(name=self._name, major=major, minor=minor)

    def is_bf16_supported(self, including_emulation=True):
        self.asked.append(SUPPORTED if including_emulation else NATIVE)
        if self._capability is None:
            return False
        return self._capability >= (8, 0) or bool(including_emulation)

    def __getattr__(self, name):
        if not name.startswith("_"):
            raise AttributeError(
                f"this stand-in for torch.cuda has no {name!r}. It has is_available(), "
                "get_device_capability(), is_bf16_supported() and get_device_name()"
            )
        raise AttributeError(name)

    def __repr__(self):
        return "a stand-in for torch.cuda"

    def _need_gpu(self):
        if self._capability is None:
            raise NoGpu("No CUDA GPUs are available")
