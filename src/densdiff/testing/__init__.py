"""Are two samples really different?"""
