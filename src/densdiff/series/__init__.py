"""When did a series change, and is a stream changing now?

Series are read and checked in `data`; their pictures are drawn in `plots` and `report`.
"""
