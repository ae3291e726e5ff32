"""mince-gui: does an INT4 model still score like its full benchmark says?"""

__version__ = "0.1.0"
