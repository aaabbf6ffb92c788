"""Loop, Scan and SequenceMap: trip counts, invariants of carried values, closed forms of recurrences.

loop, scan, sequence_map  the meaning of their heads and exits
body           the symbols of a body, and the part of a value that outlives the loop
body_states    the states of a body that is run beside the analysis
no_trip        a scan output after no trip
conditions     conditions that are exact only while they hold; numeric premises of a body, for all trips
trip_counts    the number of iterations of a Loop
invariants     claims about a carried value that hold in every iteration
closed_forms   recurrences solved by one of the forms; numbers that are carried together, from their first trips
unrolling      a loop of few trips, interpreted trip by trip; the iteration number and the condition that a body gets
inferred_ranks ranks of body values that type inference alone fixes
"""
