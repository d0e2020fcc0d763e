"""Training problems that a validity rule reads: each has a name, or the list is refused."""

import pytest

from manifests.errors import FindingsError
from report.training import parse_problem_names


@pytest.mark.parametrize("line", ['{"statement": "1 + 1"}', '{"problem_id": 7}', '{"problem_id": ""}'])
def test_a_training_problem_without_an_id_is_refused_with_its_line(line):
    with pytest.raises(FindingsError) as caught:
        parse_problem_names(f'{{"problem_id": "a"}}\n{line}\n'.encode(), where="p.jsonl")
    assert ["p.jsonl:2"] == [finding.where for finding in caught.value.findings]
