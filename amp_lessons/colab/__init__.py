"""Self-contained lessons for Colab: ``python -m amp_lessons.colab notebooks build/colab``.

Each built notebook carries the helper package in its set-up cell, so one file is all a learner needs.
"""
