import pytest

from leogym.common.errors import InputError
from leogym.traces.orbit import places


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("Frankfurt", "fra"),
        ("New York", "ny"),
        ("NYC", "ny"),
        ("new york city", "ny"),
        ("São Paulo", "sao"),
        ("sao paulo", "sao"),
        ("Bombay", "bom"),
        ("Köln", "koln-de"),
        ("Cologne", "koln-de"),
        ("München", "munich-de"),
        ("Tromso", "tromso-no"),
        ("Valencia, Spain", "valencia-es"),
        ("valencia, es", "valencia-es"),
        ("London, Canada", "london-ca"),
        ("London", "ldn"),
        ("Washington DC", "was"),
    ],
)
def test_a_city_goes_by_any_usual_name(text: str, key: str) -> None:
    assert places.parse(text, "--from") == places.cities()[key]


def test_a_name_of_several_cities_lists_them() -> None:
    with pytest.raises(InputError) as caught:
        places.parse("Birmingham", "--from")
    told = str(caught.value)
    assert told.startswith("--from: 'Birmingham': several cities have this name; give one's key: ")
    assert "birmingham-gb (Birmingham, United Kingdom)" in told
    assert "birmingham-us (Birmingham, United States)" in told


@pytest.mark.parametrize(
    ("text", "near"), [("Frankfort am Main", "Frankfurt am Main"), ("Sidney", "Sydney"), ("Pariss", "Paris")]
)
def test_an_unknown_city_is_answered_by_the_nearest(text: str, near: str) -> None:
    with pytest.raises(InputError, match=rf"nearest: {near}.*leogym traces list CITY"):
        places.parse(text, "--from")


def test_every_key_is_unique_and_none_is_another_citys_name() -> None:
    keys = [city.key for city in places.table()]
    assert len(keys) == len(set(keys))
    for city in places.table():
        assert places.parse(city.key, "--to") == city.site
        assert places.parse(f"{city.site.name}, {city.code}", "--to") == city.site


# Coordinates from the CIA's World Factbook, in degrees and minutes rounded to degrees.
@pytest.mark.parametrize(
    ("name", "lat_deg", "lon_deg"),
    [
        ("Abu Dhabi", 24.47, 54.37),
        ("Bern", 46.92, 7.47),
        ("Canberra", -35.27, 149.13),
        ("Lusaka", -15.42, 28.28),
        ("Luxembourg", 49.6, 6.12),
        ("Ottawa", 45.42, -75.7),
        ("Asunción", -25.27, -57.67),
        ("Rabat", 34.02, -6.82),
        ("Tbilisi", 41.68, 44.83),
        ("Hanoi", 21.03, 105.85),
    ],
)
def test_capitals_are_where_the_world_factbook_has_them(name: str, lat_deg: float, lon_deg: float) -> None:
    site = places.parse(name, "city")
    assert (site.lat_deg, site.lon_deg) == pytest.approx((lat_deg, lon_deg), abs=0.15)
