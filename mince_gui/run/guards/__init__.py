"""What a run watches and holds besides its answers, each on its own: nothing here knows the runner.

awake       sleep is held off while a run is on         memory      a worker that grows too large
clock       sleep and clock jumps are noticed           repetition  answers that repeat themselves without end
lease       one run on a device at a time
"""
