"""logs: readers (one format each), detection, the checked score matrix."""
