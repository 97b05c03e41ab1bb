"""`enrich FILE`: import, run and export in one go; what is shown, what is written, how it is stopped and resumed."""

import json
import re
from pathlib import Path
from uuid import UUID

import pika
import pytest

from base.terminal.exits import Exit
from tests.cli.running import DATA, Running, longhaul, on
from tests.cli.scene import asking, definition, mappings, rows
from tests.fakes.llm_enriching import enriching
from tests.fakes.llm_server import Hold, LlmServer
from tests.services.postgres import Clone

_OFFLINE = (
    "No language model: names from identifiers, meanings from your dictionary. "
    "Set LONGHAUL_LLM__BASE_URL and LONGHAUL_LLM__MODEL."
)


@pytest.fixture
def small(tmp_path: Path) -> Path:
    return definition(tmp_path)


def test_a_real_definition_with_its_dictionary_offline(clone: Clone, tmp_path: Path) -> None:
    done = longhaul(
        "enrich",
        DATA / "epa-sdw.json",
        "--reference",
        DATA / "ref-epa-sdw-metadata.json",
        env=on(clone),
        cwd=tmp_path,
    )
    assert done.code == Exit.DONE, done.said
    lines = done.out.splitlines()
    assert lines[0] == _OFFLINE
    headings = ["field", "name before", "name after", "description before", "description after", "where"]
    assert re.split(r" {2,}", lines[1]) == headings
    assert len([line for line in lines[2:] if re.search(r", (response 200|query|form)$", line)]) == 20
    written = [Path(line.split()[1]) for line in lines if line.startswith("wrote ")]
    assert [path.parent for path in written] == [Path("longhaul-out/epa-sdw")] * 2
    for path in written:
        json.loads((tmp_path / path).read_bytes())
    assert "enriching" in done.err


def test_the_embedded_database_is_made_on_first_use(home: Path, small: Path) -> None:
    from tests.cli.running import environment  # noqa: PLC0415

    done = longhaul("enrich", small, env=environment(LONGHAUL_HOME=str(home)), cwd=small.parent)
    assert done.code == Exit.DONE, done.said
    listed = longhaul("runs", "list", "--json", env=environment(LONGHAUL_HOME=str(home)))
    assert [run["state"] for run in listed.json["runs"]] == ["Completed"]


def test_tokens_are_the_servers_and_the_first_line_names_the_model(clone: Clone, small: Path) -> None:
    with LlmServer(enriching()) as server:
        done = longhaul("enrich", small, "--json", env=asking(clone, server), cwd=small.parent)
        assert done.code == Exit.DONE, done.said
        run = done.json["run"]
        assert (run["input_tokens"], run["output_tokens"]) == (server.input_tokens, server.output_tokens)
    assert done.err.splitlines()[0].startswith("Language model: scripted at ")
    assert run["completed_items"] == run["total_items"] == 4
    assert {change["token"] for change in done.json["changes"]} >= {"p_cst0", "cstNo1", "totAmt2"}


def test_out_says_where(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--out", "here", "--json", env=on(clone), cwd=small.parent)
    assert done.code == Exit.DONE, done.said
    assert {Path(path).parent for path in done.json["files"]} == {Path("here")}
    assert all((small.parent / path).is_file() for path in done.json["files"])


def test_instructions_language_and_selection_reach_the_prompts(clone: Clone, small: Path) -> None:
    (small.parent / "mind.txt").write_text("Amounts are in euro cents.")
    with LlmServer(enriching()) as server:
        done = longhaul(
            *("enrich", small, "--json", "--instructions", "@mind.txt", "--language", "German"),
            *("--select", "GET::/thing1", "--target", "output-field-names"),
            env=asking(clone, server),
            cwd=small.parent,
        )
        prompts = [received.prompt for received in server.requests]
    assert done.code == Exit.DONE, done.said
    assert len(prompts) == 1
    assert "Amounts are in euro cents." in prompts[0]
    assert "German" in prompts[0]
    assert "/thing1" in prompts[0]
    assert "/thing2" not in prompts[0]
    assert {change["token"] for change in done.json["changes"]} == {"cstNo1", "totAmt1"}


def test_a_glossary_of_ones_own_wins(clone: Clone, small: Path) -> None:
    glossary = small.parent / "words.csv"
    glossary.write_text("key,name,meaning\ncstNo0,Customer,Who ordered it.\n")
    done = longhaul("enrich", small, "--glossary", glossary, "--json", env=on(clone), cwd=small.parent)
    assert done.code == Exit.DONE, done.said
    (change,) = [change for change in done.json["changes"] if change["token"] == "cstNo0"]
    assert (change["name_after"], change["description_after"]) == ("Customer", "Who ordered it.")


def test_a_dry_run_calls_nothing_and_writes_nothing(clone: Clone, small: Path) -> None:
    with LlmServer(enriching()) as server:
        done = longhaul("enrich", small, "--dry-run", "--json", env=asking(clone, server), cwd=small.parent)
        assert server.requests == []
    assert done.code == Exit.DONE, done.said
    assert (done.json["operations"], done.json["chunks"], done.json["fields"]) == (3, 3, 9)
    assert done.json["input_tokens"] > 0
    assert mappings(clone) == []
    assert not (small.parent / "longhaul-out").exists()


def test_a_dry_run_reads_well(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--dry-run", env=on(clone), cwd=small.parent)
    assert done.code == Exit.DONE, done.said
    assert done.out.splitlines()[0] == _OFFLINE
    assert "of which 1 chunk" in done.out


def test_a_token_limit_stops_at_a_pass_with_a_partial_result(clone: Clone, small: Path) -> None:
    with LlmServer(enriching()) as server:
        done = longhaul("enrich", small, "--max-tokens", "1", "--json", env=asking(clone, server), cwd=small.parent)
        assert len(server.requests) < 4
    assert done.code == Exit.PARTIAL, done.said
    assert done.json["run"]["open"] is False


def test_a_new_version_of_a_definition_goes_onto_its_mapping(clone: Clone, small: Path) -> None:
    first = longhaul("enrich", small, "--json", env=on(clone), cwd=small.parent)
    assert first.code == Exit.DONE, first.said
    newer = definition(small.parent, name="orders-2.json", operations=2, fields=("newFld",))
    done = longhaul("enrich", newer, "--mapping", "Orders", env=on(clone), cwd=small.parent)
    assert "added    GET /thing0, response 200 newFld" in done.err, done.said
    assert "gone     GET /thing2" in done.err
    assert [str(row["id"]) for row in mappings(clone)] == [first.json["imported"]["mapping_id"]]


def test_a_finished_run_is_never_reused_and_the_files_are_there_all_the_same(clone: Clone, small: Path) -> None:
    first = longhaul("enrich", small, "--json", env=on(clone), cwd=small.parent)
    assert first.code == Exit.DONE, first.said
    for path in first.json["files"]:
        (small.parent / path).unlink()
    second = longhaul("enrich", small, "--json", env=on(clone), cwd=small.parent)
    assert second.code == Exit.DONE, second.said
    assert second.json["run"]["id"] != first.json["run"]["id"]
    assert second.json["files"] == first.json["files"]
    assert all((small.parent / path).is_file() for path in second.json["files"])


def test_where_nothing_is_left_to_do_the_files_are_an_earlier_runs(clone: Clone, small: Path) -> None:
    named = ("enrich", small, "--target", "output-field-names", "--only-missing")
    first = longhaul(*named, "--json", env=on(clone), cwd=small.parent)
    assert first.code == Exit.DONE, first.said
    before = mappings(clone)
    again = longhaul(*named, env=on(clone), cwd=small.parent)
    assert again.code == Exit.FAILED, again.said
    assert "nothing_to_apply" in again.out
    assert "Nothing was applied; the mapping is as it was." in again.err
    assert again.out.count("as an earlier run made it") == len(first.json["files"]) == 2
    assert mappings(clone) == before


def test_files_that_can_not_be_written_do_not_hide_what_was_paid_for(clone: Clone, small: Path) -> None:
    with LlmServer(enriching()) as server:
        hold = Hold()
        with _interrupted(clone, small, server, hold, after=1) as running:
            (run,) = rows(clone, "SELECT id FROM enrichment_runs")
            results = small.parent / "longhaul-out" / small.stem
            # Room was found before the run began; since then somebody has put a folder where its files go.
            (results / f"{small.stem}.overlay.json.{run['id'].hex}.part").mkdir(parents=True)
            hold.open()
            done = running.ended()
    assert done.code == Exit.NOT_WRITTEN, done.said
    assert "Completed" in done.out
    assert f"{server.input_tokens:,} in" in done.out
    assert f"./longhaul runs export {run['id']} --out FOLDER" in done.err
    assert longhaul("runs", "export", str(run["id"]), "--out", small.parent / "b", env=on(clone)).code == Exit.DONE


def test_beside_up_an_interrupted_command_says_that_the_run_goes_on(clone: Clone, small: Path) -> None:
    hold = Hold()
    with LlmServer(enriching()) as server, Running("up", env=asking(clone, server)) as up:
        up.wait_for(lambda: rows(clone, "SELECT id FROM workers"))
        with _interrupted(clone, small, server, hold, after=1) as running:
            running.interrupt()
            running.wait_for_words("Handing over")
            # Whoever holds it, the next pass does not end: the run can't be over before the command is.
            server.default = enriching(hold=Hold())
            hold.open()
            stopped = running.ended()
    assert stopped.code == Exit.INTERRUPTED, stopped.said
    assert "A worker of its lane goes on with it, and spends" in stopped.err


def test_without_a_model_a_language_is_said_to_have_no_effect(clone: Clone, small: Path) -> None:
    done = longhaul("enrich", small, "--language", "German", env=on(clone), cwd=small.parent)
    assert done.code == Exit.DONE, done.said
    assert "--language has no effect" in done.err


def test_a_broker_that_will_not_have_us_is_refused_before_anything_is_written(
    clone: Clone, small: Path, rabbit: str
) -> None:
    with pika.BlockingConnection(pika.URLParameters(rabbit)) as connection:
        connection.channel().queue_declare("enrichment", durable=True, arguments={"x-max-length": 7})
    wrong = rabbit.replace("guest:guest", "guest:wrong")
    for url, words in ((rabbit, "other arguments"), (wrong, "refused user or password")):
        done = longhaul("enrich", small, env=on(clone, LONGHAUL_BROKER_URL=url), cwd=small.parent)
        assert done.code == Exit.USAGE, done.said
        assert words in done.err
        assert len(done.err.splitlines()) == 1
    assert mappings(clone) == []


# Stopping and resuming.


def _interrupted(clone: Clone, small: Path, server: LlmServer, hold: Hold, *, after: int) -> Running:
    """A command whose run has finished `after` passes and waits in the next one."""
    server.then(*[enriching()] * after, enriching(hold=hold))
    running = Running("enrich", small, env=asking(clone, server), cwd=small.parent)
    running.wait_for(lambda: len(server.requests) == after + 1)
    return running


def test_ctrl_c_leaves_the_run_open_and_the_same_command_resumes_it(clone: Clone, small: Path) -> None:
    hold = Hold()
    with LlmServer(enriching()) as server:
        with _interrupted(clone, small, server, hold, after=2) as running:
            running.interrupt()
            running.wait_for_words("Handing over")
            hold.open()
            stopped = running.ended()
        assert stopped.code == Exit.INTERRUPTED, stopped.said
        assert "stays open" in stopped.err
        assert "Nobody works on it now. The same command resumes it" in stopped.err
        assert [row["status"] for row in mappings(clone)] == ["Enriching"]
        asked = len(server.requests)
        assert asked == 3
        done = longhaul("enrich", small, "--json", env=asking(clone, server), cwd=small.parent)
        assert done.code == Exit.DONE, done.said
        assert "Resuming the open run" in done.err
        assert len(server.requests) == 4, "what was answered is not asked again"
        run = done.json["run"]
        assert (run["input_tokens"], run["output_tokens"]) == (server.input_tokens, server.output_tokens)


def test_sigterm_does_the_same_with_its_own_code(clone: Clone, small: Path) -> None:
    hold = Hold()
    with LlmServer(enriching()) as server, _interrupted(clone, small, server, hold, after=1) as running:
        running.terminate()
        running.wait_for_words("Handing over")
        hold.open()
        assert running.ended().code == Exit.TERMINATED


def test_a_second_ctrl_c_ends_at_once_and_the_run_is_resumed_all_the_same(clone: Clone, small: Path) -> None:
    with LlmServer(enriching()) as server:
        with _interrupted(clone, small, server, Hold(), after=2) as running:
            running.interrupt()
            running.wait_for_words("Handing over")
            running.interrupt()
            ended = running.ended(seconds=10)
            assert ended.code == Exit.INTERRUPTED
            assert "Ended at once. The run stays open" in ended.err
        done = longhaul("enrich", small, "--json", env=asking(clone, server), cwd=small.parent)
        assert done.code == Exit.DONE, done.said
        assert len(server.requests) == 5, "only the pass that was cut is asked again"


@pytest.mark.parametrize("options", [["--language", "German"], ["--target", "mapping-name"], ["--model", "other"]])
def test_other_options_on_an_open_run_leave_with_4_and_both_ways_out(
    clone: Clone, small: Path, options: list[str]
) -> None:
    with LlmServer(enriching()) as server:
        with _interrupted(clone, small, server, Hold(), after=1) as running:
            running.interrupt()
            running.wait_for_words("Handing over")
            running.interrupt()
            running.ended()
        refused = longhaul("enrich", small, *options, env=asking(clone, server), cwd=small.parent)
        (open_run,) = rows(clone, "SELECT id FROM enrichment_runs")
        assert refused.code == Exit.IN_THE_WAY, refused.said
        assert f"./longhaul runs cancel {open_run['id']}" in refused.err
        assert "resume" in refused.err
        assert f"compare {options[0]}" in refused.err
        assert len(refused.err.splitlines()) == 1
        canceled = longhaul("runs", "cancel", str(open_run["id"]), env=asking(clone, server))
        assert canceled.code == Exit.DONE, canceled.said
        done = longhaul("enrich", small, *options, "--json", env=asking(clone, server), cwd=small.parent)
        assert done.code == Exit.DONE, done.said
        assert UUID(done.json["run"]["id"]) != open_run["id"]


def test_a_run_canceled_while_it_is_followed(clone: Clone, small: Path) -> None:
    with LlmServer(enriching()) as server:
        with _interrupted(clone, small, server, Hold(), after=1) as running:
            (run,) = rows(clone, "SELECT id FROM enrichment_runs")
            canceled = longhaul("runs", "cancel", str(run["id"]), "--json", env=asking(clone, server))
            assert canceled.json == {"run": str(run["id"]), "answer": "accepted"}
            done = running.ended()
        assert done.code == Exit.CANCELED, done.said
        assert "Nothing was applied; the mapping is as it was." in done.err
        assert [row["status"] for row in mappings(clone)] == ["Draft"]
