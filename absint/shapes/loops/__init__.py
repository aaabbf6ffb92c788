"""Loop, Scan and SequenceMap: trip counts, invariants of carried values, closed forms of recurrences.

loop, scan, sequence_map  what their heads and exits mean
body           the symbols of a body, and what is left of a value after the loop
head_values    the iteration number and the condition that a body gets
trip_counts    how many iterations a Loop makes
invariants     what holds of a carried value in every iteration
closed_forms   recurrences solved; polynomials: exact quotients of them
unrolling      a loop of few trips, gone through trip by trip
premises       numeric premises of a body, for all trips
inferred_ranks ranks of body values that type inference alone fixes
"""
