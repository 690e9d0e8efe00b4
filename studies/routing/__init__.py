"""Does a learned choice among disjoint paths beat shortest paths?"""
