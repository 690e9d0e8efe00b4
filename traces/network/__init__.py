"""Networks: stations, the links of each moment, traffic and routes of a network file."""
