"""The crash-point lab: workers are killed and frozen at named points, and what became of the effect
is read from the database.
"""
