"""What this machine has and does: NPU, drivers, power; and where a run ran, with the proof.

Every reader is bounded in time, and what cannot be read is a value with its reason (`Reading`), never an error:
locked-down machines refuse WMI, drivers hang their own tools. Parsers are functions over text.

    tools       system tools, bounded; ended with what they started
    pci         which NPU, by its PCI ids                 xrt_smi      AMD's tool: asked, or sampled without waiting
    driver      its driver's version, compared            xrt_reports  what it writes, JSON and tables
    power       mains, battery, power mode                state        all of it, for a run's conditions
    place       where a run ran; proof by process id
"""

from mince_gui.run.devices.place import PlaceWatch, place_at_load
from mince_gui.run.devices.state import machine_state

__all__ = ["PlaceWatch", "machine_state", "place_at_load"]
