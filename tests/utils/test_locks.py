import os
import sys

import pytest

from keras_elmo.utils.locks import held


def test_held_once(tmp_path):
    pytest.importorskip("fcntl")
    with held(tmp_path, "in use"):
        with pytest.raises(ValueError, match="in use"), held(tmp_path, "in use"):
            pass
    with held(tmp_path, "in use"):
        pass


def test_without_locks(tmp_path, monkeypatch):
    """As on Windows, which cannot open a folder either."""
    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setattr(os, "open", None)
    with held(tmp_path, "in use"), held(tmp_path, "in use"):
        pass


def test_disk_without_locks(tmp_path, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError("no locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    with held(tmp_path, "in use"):
        pass
