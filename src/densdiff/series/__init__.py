"""When did a series change, and is a stream changing now?"""
