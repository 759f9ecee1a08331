"""Exercises: what the notebooks call, and in lesson_*.py the exercises of each lesson."""

from amp_lessons.exercises import watch
from amp_lessons.exercises.checking import check
from amp_lessons.exercises.helping import hint, reset, solution
from amp_lessons.exercises.own_scaler import compare_own_scaler
from amp_lessons.exercises.progress_map import progress
from amp_lessons.exercises.quick_checks import quick_check
from amp_lessons.exercises.rebuilding import rebuild_progress

__all__ = [
    "check",
    "compare_own_scaler",
    "hint",
    "progress",
    "quick_check",
    "rebuild_progress",
    "reset",
    "solution",
]

watch.start()
