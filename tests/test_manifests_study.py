import pytest

from manifests.errors import BeforehandError, FindingsError
from manifests.names import UnitId, is_slug
from manifests.roster import check_overrides, roster
from manifests.study import RosterOverride, Study

UNIT, OTHER = UnitId.parse("base.toy.main"), UnitId.parse("sft.toy.main")


def write_study(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_bytes(text.encode())
    return folder


def test_a_study_is_its_folder_with_a_study_toml(tmp_path):
    study = Study.open(write_study(tmp_path / "s", 'name = "s"\ntitle = "T"\n'))
    assert ("s", tmp_path / "s/ledger.csv") == (study.config.name, study.ledger_path)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ('name = "s"\ntitle = "T"\ncap_usd = 5\n', "cap_usd"),
        ('name = "s"\ntitle = "T"\nrevision = "main"\n', "revision"),
        ('name = "S s"\ntitle = "T"\n', "name"),
        ('name = "s"\n', "title"),
        ('name = "s"\ntitle = 3\n', "title"),
        (
            'name = "s"\ntitle = "T"\n[roster.nonsense]\nstatus = "skipped"\nreason = "x"\ndecision = "D1"\n',
            "roster",
        ),
        (
            'name = "s"\ntitle = "T"\n[roster."a.b.c"]\nstatus = "lost"\nreason = "x"\ndecision = "D1"\n',
            "roster",
        ),
        ('name = "s"\ntitle = "T"\n[roster."a.b.c"]\nstatus = "skipped"\nreason = "x"\n', "roster"),
    ],
)
def test_an_unknown_or_impossible_key_is_refused_with_its_place(tmp_path, text, place):
    with pytest.raises(FindingsError) as caught:
        Study.open(write_study(tmp_path / "s", text))
    assert any(finding.where.startswith(place) for finding in caught.value.findings)


@pytest.mark.parametrize("text", ["name = ", '\ufeffname = "s"\ntitle = "T"\n'])
def test_what_is_no_toml_is_refused_with_line_and_column(tmp_path, text):
    with pytest.raises(BeforehandError, match="is not TOML"):
        Study.open(write_study(tmp_path / "s", text))


def test_a_folder_without_study_toml_is_no_study(tmp_path):
    with pytest.raises(BeforehandError, match="does not exist"):
        Study.open(tmp_path)


@pytest.mark.parametrize(
    "text", ["base.toy", "a.b.c.d", "A.b.c", "../x.b.c", "a..c", "", "a/b.c.d", f"{'x' * 49}.b.c", "-a.b.c"]
)
def test_a_unit_id_is_three_slugs(text):
    with pytest.raises(BeforehandError, match="is not a unit id"):
        UnitId.parse(text)


def test_slugs_are_lower_case_ascii_of_at_most_48_characters():
    assert [True, True, False, False, False] == [
        is_slug(text) for text in ("a", "x" * 48, "x" * 49, "é", "a\n")
    ]


def test_a_unit_that_is_there_is_found_whatever_an_override_says():
    override = RosterOverride(status="skipped", reason="x", decision="D1")
    entries = roster([OTHER, UNIT], [UNIT], {str(UNIT): override})
    assert [(UNIT, "found"), (OTHER, "pending")] == [(entry.unit, entry.status) for entry in entries]


def test_overrides_must_fit_the_plan_the_units_and_the_decisions():
    override = RosterOverride(status="skipped", reason="x", decision="D1")
    findings = check_overrides([UNIT], [UNIT], {str(UNIT): override, str(OTHER): override}, decisions=["D2"])
    said = " ".join(str(finding) for finding in findings)
    assert 4 == len(findings)
    for part in ("yet it is there", "the design plans no such unit", "has no entry D1", "cite one of D2"):
        assert part in said
