"""Self-contained lessons for Colab: ``python -m amp_lessons.colab notebooks build/colab``.

Each built notebook carries the helper package inside its set-up cell, so that one file is all a learner needs.
"""
