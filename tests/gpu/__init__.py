"""What only a CUDA machine can show: ``make gpu``, or ``python -m tests.gpu [RESULTS.json]``.

It executes every lesson, runs the tests that need CUDA, measures speed, and writes one JSON. The test files
here belong to ``make test`` too, which skips them where there is no GPU.
"""
