"""Plinth: 3D models to turntable videos and training data. The program is `plinth`; this package carries it."""
