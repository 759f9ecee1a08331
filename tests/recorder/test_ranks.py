"""Recordings of several ranks, compared afterwards."""

import pickle

import pytest
import torch.multiprocessing as multiprocessing

from amp_lessons.recorder import compare_ranks, record_loop
from tests.recorder import rank_loop
from tests.recorder.observe import expected, said
from tests.recorder.toy_training import problem


def recorded(scale):
    with record_loop() as recording:
        rank_loop.train(problem()[0], scale)
    assert recording.findings == []
    return recording


def test_scales_that_differ_are_found():
    findings = compare_ranks([recorded(128.0), recorded(64.0)])
    assert said(findings) == expected(rank_loop.train)[0]
    assert "128" in findings[0].happened and "64" in findings[0].happened


def test_scales_that_agree():
    assert compare_ranks([recorded(128.0), recorded(128.0), recorded(128.0)]) == []


def test_one_rank_alone():
    assert compare_ranks([recorded(128.0)]) == []


@pytest.mark.slow
@pytest.mark.parametrize("scales", [(128.0, 128.0), (128.0, 64.0)])
def test_two_processes_of_ddp(tmp_path, scales):
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    processes = [
        context.Process(target=rank_loop.work, args=(rank, tmp_path / "meeting", scales, answers))
        for rank in range(2)
    ]
    for process in processes:
        process.start()
    by_rank = dict(answers.get(timeout=90) for _ in processes)
    for process in processes:
        process.join(30)
        assert process.exitcode == 0
    recordings = [pickle.loads(by_rank[rank]) for rank in range(2)]
    assert [said(each.findings) for each in recordings] == [[], []]
    expectation = [] if scales[0] == scales[1] else expected(rank_loop.train)[0]
    assert said(compare_ranks(recordings)) == expectation
