"""What share of each class does an unlabelled sample hold?"""
