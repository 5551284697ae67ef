"""Settings check what they are given; log channels go where they are sent."""

from __future__ import annotations

import contextlib
import io
import logging

import pytest

from bcjit import logs
from bcjit.config import FIELDS, Config, config
from bcjit.errors import ArgumentError, ArgumentTypeError


def test_every_field_has_its_default_without_environment():
    settings = Config({})
    assert {name: getattr(settings, name) for name in FIELDS} == {
        name: field.default for name, field in FIELDS.items()
    }


@pytest.mark.parametrize(
    ("text", "value"), [("1", True), ("Yes", True), ("0", False), ("", False), (" off ", False)]
)
def test_environment_sets_flags(text, value):
    assert Config({"BCJIT_STRICT": text}).strict is value
    assert Config({"BCJIT_DISABLE": text}).disabled is value


def test_unreadable_environment_is_named():
    with pytest.raises(
        ArgumentError, match="environment variable BCJIT_STRICT must be 1 or 0.*'maybe'"
    ):
        Config({"BCJIT_STRICT": "maybe"})


@pytest.mark.parametrize(
    ("name", "value", "error", "says"),
    [
        ("strict", 1, ArgumentTypeError, "must be of type bool, not int: 1"),
        ("cache_limit", True, ArgumentTypeError, "must be of type int, not bool: True"),
        ("cache_limit", "8", ArgumentTypeError, "must be of type int, not str"),
        ("cache_limit", 0, ArgumentError, "must be at least 1, not 0"),
        ("inline_depth", -1, ArgumentError, "must be at least 0, not -1"),
        ("strikt", True, ArgumentError, "has no field 'strikt'; its fields are strict"),
    ],
)
def test_wrong_assignment_raises_and_changes_nothing(name, value, error, says):
    settings = Config({})
    before = repr(settings)
    with pytest.raises(error, match=says):
        setattr(settings, name, value)
    assert repr(settings) == before


def test_a_field_that_is_not_there_is_named_when_it_is_read():
    with pytest.raises(
        AttributeError,
        match="no field 'cahce_limit'; its fields are strict.*Did you mean 'cache_limit'",
    ):
        _ = config.cahce_limit
    assert not hasattr(config, "__array__")
    assert "An entry\nis one compiled variant of a part" in Config.__doc__
    assert "(environment variable BCJIT_DISABLE)" in Config.__doc__


def test_field_cannot_be_deleted():
    with pytest.raises(ArgumentError, match="cannot be deleted"):
        del config.strict


def test_override_restores_also_after_an_exception():
    settings = Config({})

    def fail():
        with settings.override(strict=True, cache_limit=3) as inside:
            assert inside is settings
            assert (settings.strict, settings.cache_limit) == (True, 3)
            raise KeyError

    pytest.raises(KeyError, fail)
    assert (settings.strict, settings.cache_limit) == (False, 8)


def test_override_sets_nothing_if_one_value_is_wrong():
    settings = Config({})
    with pytest.raises(ArgumentError), settings.override(strict=True, cache_limit=0):
        pass
    assert settings.strict is False


@pytest.fixture
def quiet_channels():
    yield
    for logger in (channel.logger() for channel in logs.CHANNELS.values()):
        logger.handlers.clear()
        logger.setLevel(logging.NOTSET)
        logger.propagate = True
    logs.forget_once()


def test_channels_are_named_loggers_and_documented():
    assert {logger.name for logger in logs.CHANNELS.values()} == {
        f"bcjit.{name}" for name in logs.CHANNELS
    }
    assert all(logs.get_logger(name) is logger for name, logger in logs.CHANNELS.items())
    assert all(f"``{name}``" in logs.__doc__ for name in logs.CHANNELS)


def test_enabled_channel_goes_to_stderr_once_and_others_do_not(capsys, quiet_channels):
    logs.enable("guards, recompiles")
    logs.enable("guards")
    logs.get_logger("guards").log(logs.DEBUG, "x: %s", "float64")
    logs.get_logger("hook").log(logs.DEBUG, "nothing")
    assert capsys.readouterr().err == "bcjit.guards: x: float64\n"


def test_messages_stay_apart_from_output_that_is_caught(capsys, quiet_channels, monkeypatch):
    monkeypatch.setattr(logging.getLogger(), "handlers", [])  # as in a program that sets up nothing
    text = io.StringIO()
    logs.enable("guards")
    with logs.apart(), contextlib.redirect_stderr(text):
        logs.get_logger("guards").info("x: float64")
        logs.get_logger("hook").log(logs.WARNING, "told unasked")
    assert text.getvalue() == ""
    assert capsys.readouterr().err == "bcjit.guards: x: float64\ntold unasked\n"
    assert not logging.getLogger("bcjit").handlers


def test_all_enables_every_channel(quiet_channels):
    logs.enable("all")
    assert all(channel.logger().handlers for channel in logs.CHANNELS.values())


def test_unknown_channel_is_named():
    with pytest.raises(ArgumentError, match="named 'guard'.*the channels are capture, guards"):
        logs.enable("guard")


def test_a_wrong_name_in_the_environment_is_told_in_one_line_and_stops_nothing(
    capsys, quiet_channels
):
    logs.enable_asked({"BCJIT_LOGS": "guards,recompile"})
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("bcjit: no log channel of bcjit is named 'recompile'")
    assert line.endswith("Did you mean 'recompiles'?")
    assert logs.CHANNELS["guards"].logger().handlers
    logs.enable_asked({})


def test_once_says_a_key_once_for_each_logger(caplog, quiet_channels):
    assert logs.once(logs.get_logger("hook"), "key", "said %d", 1)
    assert not logs.once(logs.get_logger("hook"), "key", "said %d", 2)
    assert logs.once(logs.get_logger("guards"), "key", "said %d", 3)
    assert [record.getMessage() for record in caplog.records] == ["said 1", "said 3"]


def test_once_does_not_grow_for_ever(quiet_channels):
    for key in range(10_000):
        logs.once(logs.get_logger("hook"), key, "m", level=logging.DEBUG)
    assert len(logs._said) < 5000
