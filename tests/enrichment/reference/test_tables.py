"""Tables wherever they stand in a reference: JSON, CSV, Markdown, definition lines."""

from actors.enrichment.reference import tables
from actors.enrichment.reference.rows import Table


def read(name: str, text: str) -> list[tuple[tuple[str, ...], list[dict[str, str]]]]:
    return [(table.headings, [dict(row) for row in table.rows]) for table in tables.read(name, text)]


def test_a_list_of_objects_is_found_however_deep_it_stands() -> None:
    text = '{"Results": {"Message": "ok", "Columns": [{"Name": "A", "Text": null}, {"Name": "B", "Size": 3}]}}'
    assert read("a.json", text) == [
        (("Results", "Columns"), [{"Name": "A", "Text": ""}, {"Name": "B", "Size": "3"}]),
    ]


def test_an_object_of_objects_and_an_object_of_texts_are_tables_by_key() -> None:
    assert read("a.json", '{"p_act": {"name": "Active", "x": {"y": "z"}}, "p_st": {"name": "State"}}') == [
        ((), [{"(key)": "p_act", "name": "Active", "x.y": "z"}, {"(key)": "p_st", "name": "State"}])
    ]
    assert read("a.json", '{"p_act": "Active only", "p_st": "The state"}') == [
        ((), [{"(key)": "p_act", "(value)": "Active only"}, {"(key)": "p_st", "(value)": "The state"}])
    ]


def test_a_nested_table_stands_under_the_values_of_its_owner() -> None:
    text = '[{"path": "/hourly", "fields": [{"key": "amount", "text": "Rain"}]}, {"path": "/daily", "fields": []}]'
    assert read("a.json", text)[1] == (("/hourly", "fields"), [{"key": "amount", "text": "Rain"}])


def test_json_lines_are_one_table() -> None:
    assert read("a.json", '{"k": "a", "t": "A thing"}\n{"k": "b", "t": "B thing"}\n') == [
        ((), [{"k": "a", "t": "A thing"}, {"k": "b", "t": "B thing"}])
    ]


def test_deeply_nested_json_is_walked() -> None:
    assert tables.read("a.json", "[" * 900 + '{"k": "a"}' + "]" * 900)[0].rows == ({"k": "a"},)


def test_broken_json_has_no_tables() -> None:
    assert tables.read("a.json", '{"a": [1, 2') == []


def test_the_delimiter_of_a_csv_is_found() -> None:
    for delimiter in ",;\t|":
        text = f'Title\n\nKey{delimiter}Text\na{delimiter}"One; two, three"\nb{delimiter}Four\n'
        assert read("a.csv", text) == [((), [{"Key": "a", "Text": "One; two, three"}, {"Key": "b", "Text": "Four"}])]


def test_doubled_and_empty_headers_get_names_of_their_own() -> None:
    assert read("a.csv", "Key,Key,\na,b,c\n") == [((), [{"Key": "a", "column 2": "b", "column 3": "c"}])]


def test_prose_is_no_table() -> None:
    prose = "First, a line, with commas.\nThen another, one.\nAnd a last one without.\n"
    assert tables.read("a.txt", prose) == []
    assert tables.read("a.md", prose) == []


def test_tab_separated_lines_in_a_text_file_are_a_table() -> None:
    assert read("a.txt", "Key\tText\na\tOne\nb\tTwo\n") == [
        ((), [{"Key": "a", "Text": "One"}, {"Key": "b", "Text": "Two"}])
    ]


def test_markdown_tables_stand_under_their_headings() -> None:
    text = """# Top
## GET /a
| **Key** | Text |
| :--- | ---: |
| `a` | One<br>two \\| [three](http://x) |
| b |

**Bold part**

Key | Text
---|---
c | *Four* &amp; five_six_seven

## GET /b
```
| no | table |
|---|---|
| in | code |
```
"""
    assert read("a.md", text) == [
        (("Top", "GET /a"), [{"Key": "a", "Text": "One two | three"}, {"Key": "b"}]),
        (("Top", "GET /a", "Bold part"), [{"Key": "c", "Text": "Four & five_six_seven"}]),
    ]


def test_lines_that_define_a_name_are_a_table_of_their_section() -> None:
    text = """## mittel
 {kennr} ist die Kennnummer. {x} auch.
- `p_act`: Active
  only
* **Note.** Not a name
- p_st: The state
- prose with: a colon in it
Text: nothing
"""
    assert read("a.md", text) == [
        (
            ("mittel",),
            [
                {"(key)": "kennr", "(value)": "kennr ist die Kennnummer. x auch."},
                {"(key)": "p_act", "(value)": "Active only"},
                {"(key)": "Note", "(value)": "Not a name"},
                {"(key)": "p_st", "(value)": "The state"},
            ],
        )
    ]


def test_data_from_end_to_end_is_told_from_prose_with_tables() -> None:
    assert tables.is_tables_only("a.csv", "x")
    assert tables.is_tables_only("a.json", "[1]")
    assert not tables.is_tables_only("a.md", "| a | b |\n|---|---|\n| c | d |")


def test_columns_are_all_that_occur_in_order() -> None:
    assert Table(({"a": "1"}, {"b": "2", "a": "3"})).columns == ("a", "b")
