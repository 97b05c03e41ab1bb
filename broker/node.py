"""Asks RabbitMQ's node what it tells no client, by rabbitmqctl, where that can be run. Never raises."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Collection
from datetime import timedelta

from base.errors import LonghaulError
from base.settings import Settings
from broker import queues
from broker.address import address, said_of_itself

#: Asking starts an Erlang of its own; a node that is busy answers later than this.
_PATIENCE_SECONDS = 10

#: Where packages put it, which an ordinary user's PATH need not name.
_ELSEWHERE = "/usr/sbin:/usr/local/sbin:/opt/homebrew/sbin"

#: A policy holds for a lane's queue, the configuration for every other. `undefined` is greater than every number.
_QUESTION = """
Global = application:get_env(rabbit, consumer_timeout, undefined),
OfQueue = fun(Name) ->
  case rabbit_amqqueue:lookup(rabbit_misc:r({vhost}, queue, Name)) of
    {{ok, Queue}} -> case rabbit_policy:get(<<"consumer-timeout">>, Queue) of undefined -> Global; Own -> Own end;
    _ -> Global
  end
end,
Least = lists:min([OfQueue(Name) || Name <- [{lanes}]]),
iolist_to_binary(io_lib:format("~p of ~ts", [Least, rabbit_nodes:cluster_name()])).
"""
_ANSWER = re.compile(r'<<"(?P<ms>\d+) of (?P<cluster>.*)">>')


def read_ack_timeout(settings: Settings, lanes: Collection[str]) -> timedelta | None:
    """The shortest ack timeout of the lanes' queues; None where the node can't be asked, or has none.

    rabbitmqctl talks to a node by a name of its own: what it says counts only if that node is of the cluster that
    LONGHAUL_BROKER_URL leads to.
    """
    if settings.broker_url is None or not lanes or not (command := _command(settings.broker.rabbitmqctl)):
        return None
    where = address(settings.broker_url, settings.broker, "ack timeout")
    try:
        with queues.errand(where, settings.broker) as channel:
            cluster = said_of_itself(channel.connection).get("cluster_name")
        question = _QUESTION.format(
            vhost=_binary(where.vhost),
            lanes=", ".join(map(_binary, sorted(lanes))),
        )
        done = subprocess.run(
            [*command, "-q", "eval", question],
            check=True,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE_SECONDS,
        )
    except (LonghaulError, OSError, subprocess.SubprocessError):
        return None
    answer = _ANSWER.search(done.stdout)
    if answer is None or answer["cluster"] != cluster:
        return None
    return timedelta(milliseconds=int(answer["ms"]))


def _command(setting: str) -> list[str]:
    words = shlex.split(setting)
    if words == ["none"] or not words:
        return []
    program = shutil.which(words[0]) or shutil.which(words[0], path=_ELSEWHERE)
    return [program, *words[1:]] if program else []


def _binary(text: str) -> str:
    """A text as Erlang writes one, whatever it holds."""
    return "<<" + ",".join(map(str, text.encode())) + ">>"
