"""What share of each class does an unlabelled sample hold?

Rows and labels are checked in `data`; pictures of the answer are drawn in `plots` and `report`.
"""
