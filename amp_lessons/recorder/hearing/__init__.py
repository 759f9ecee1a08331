"""What each call means for the state of the loop: one generator per call that is listened to.

A generator runs up to its ``yield`` before the call, and on after it with the call's result. Where the call
raised, the generator is closed and does not go on. They change the ``Loop``; the rules only read it.
"""
