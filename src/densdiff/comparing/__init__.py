"""Do two tables differ, how much, in which columns, and where?"""
