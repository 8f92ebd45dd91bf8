"""How far apart are two samples?"""
