"""`units pull`: what lies in the study folder is verified as well as what lies in the cache."""

pytest_plugins = ("minihub_fixtures",)


def test_a_pull_verifies_units_that_lie_in_the_study_folder(client, pushed):
    done = client.ok("pull", pushed)
    assert "2 units at hand, 0 fetched (0.0 MB), all verified" in done.out
    path = pushed / "units/base.toy.main/rows.parquet"
    data = path.read_bytes()
    path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
    done = client.run("pull", pushed)
    assert 1 == done.code
    assert "1 files in the study folder are damaged" in done.out
    assert "base.toy.main/rows.parquet" in done.out
