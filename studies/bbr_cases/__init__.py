"""The test cases of draft-ietf-ccwg-bbr, for every BBR."""
