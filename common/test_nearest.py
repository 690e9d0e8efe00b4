from leogym.common.nearest import nearest, suggest_names

NAMES = ["leo-single", "leo-pair", "static-100-cubic", "geo", "São Paulo"]


def test_the_nearest_names_come_first_and_unlike_ones_not_at_all() -> None:
    assert nearest("leo-sngle", NAMES)[0] == "leo-single"
    assert nearest("quantum", NAMES) == []


def test_case_accents_and_underscores_do_not_matter() -> None:
    assert nearest("LEO_Single", NAMES)[0] == "leo-single"
    assert nearest("sao paulo", NAMES) == ["São Paulo"]


def test_a_message_lists_few_names_and_says_where_many_are() -> None:
    listed = "there are: leo-single, leo-pair, static-100-cubic, geo, São Paulo"
    assert suggest_names("leo-pairs", NAMES) == f"(nearest: leo-pair, leo-single; {listed})"
    many = [f"suite-{number}" for number in range(40)]
    assert suggest_names("suite-7x", many, "leogym x --list").endswith("; all 40: leogym x --list)")
    assert suggest_names("quantum", many, "leogym x --list") == "(all 40: leogym x --list)"
