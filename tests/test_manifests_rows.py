from study_factory import whole_study

from manifests.rows import SCHEMA, read_rows


def test_columns_come_in_the_order_in_which_they_are_asked_for(tmp_path):
    path = whole_study(tmp_path / "s") / "units/base.toy.main/rows.parquet"
    asked = ["correct", "problem_id", "sampling"]
    assert asked == read_rows(path, asked).column_names
    assert SCHEMA.names == read_rows(path).column_names
