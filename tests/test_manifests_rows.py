from study_factory import whole_study

from manifests.rows import SCHEMA, read_rows


def test_columns_come_in_the_order_in_which_they_are_asked_for(tmp_path):
    path = whole_study(tmp_path / "s") / "units/base.toy.main/rows.parquet"
    asked = ["correct", "problem_id", "sampling"]
    assert asked == read_rows(path, asked).column_names
    assert SCHEMA.names == read_rows(path).column_names


def test_a_number_of_tokens_below_zero_is_refused_because_unknown_is_null(tmp_path):
    import json

    import pytest
    from study_factory import import_log, make_study

    from manifests.errors import FindingsError

    study = make_study(tmp_path / "s", n=2, samples=1)
    log = tmp_path / "log.jsonl"
    rows = [{"problem_id": f"p00{number}", "correct": True, "n_tokens": -1} for number in range(2)]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(FindingsError) as caught:
        import_log(study, "base.toy.main", log)
    assert any(
        "n_completion_tokens below 0; unknown is null" in finding.what for finding in caught.value.findings
    )
