"""Cleanup after a failed capture; test_graph_cuda tests graphs on a GPU."""

import pytest
import torch

from noiseproof.devices import capture as capture_module
from noiseproof.devices.capture import CaptureError, Captures


class Graph:
    """Records its calls; ``capture_end`` fails unless ``ends``."""

    def __init__(self, ends=True):
        self.ends, self.asked = ends, []

    def capture_begin(self, pool, capture_error_mode):
        self.asked.append(("begin", pool, capture_error_mode))

    def capture_end(self):
        self.asked.append("end")
        if not self.ends:
            raise RuntimeError("operation failed due to a previous error\nduring capture")


@pytest.fixture
def captures(monkeypatch):
    """Captures that use given graphs; ``cleared`` lists the pools that were cleaned up after a failure."""

    def make(*graphs):
        left, pools, cleared = list(graphs), iter("abcdef"), []
        monkeypatch.setattr(torch.cuda, "CUDAGraph", lambda: left.pop(0))
        monkeypatch.setattr(torch.cuda, "graph_pool_handle", lambda: next(pools))
        monkeypatch.setattr(capture_module, "_free_memory", lambda: None)
        monkeypatch.setattr(capture_module, "_clean_up", cleared.append)
        found = Captures(torch.device("cuda"))
        found.cleared = cleared
        return found

    return make


def test_graphs_of_a_run_share_memory(captures):
    graphs = [Graph(), Graph()]
    made = captures(*graphs)
    for _ in graphs:
        made._recorded(lambda: None)
    assert [graph.asked for graph in graphs] == [[("begin", "a", "thread_local"), "end"]] * 2
    assert made.cleared == []


def test_failed_capture_is_retried_with_a_new_pool(captures):
    graphs = [Graph(ends=False), Graph(), Graph()]
    made = captures(*graphs)
    assert made._recorded(lambda: None) is graphs[1]
    assert made._recorded(lambda: None) is graphs[2]
    assert [graph.asked[0][1] for graph in graphs] == ["a", "b", "b"]
    assert made.cleared == ["a"]


@pytest.mark.parametrize(
    ("problem", "words"),
    [(RuntimeError("no sync\nhere"), "no sync"), (KeyError("x"), "'x'"), (RuntimeError(), "RuntimeError")],
)
def test_failed_capture_is_ended_and_reports_the_reason(captures, problem, words):
    def step():
        raise problem

    graphs = [Graph(ends=False), Graph()]
    made = captures(*graphs)
    with pytest.raises(CaptureError, match=rf"cannot be captured as a CUDA graph \({words}\)$"):
        made._recorded(step)
    assert [graph.asked[-1] for graph in graphs] == ["end", "end"]
    assert made.cleared == ["a", "b"]
