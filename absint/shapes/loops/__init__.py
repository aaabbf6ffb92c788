"""Loop, Scan and SequenceMap: trip counts, invariants of carried values, closed forms of recurrences.

loop, scan      the meaning of their heads and exits: start with loop, which counts the trips of a Loop too
body            the symbols of a body, what outlives the loop, slices stacked, states for a trial run
invariants      claims about a carried value that hold in every iteration
closed_forms    recurrences solved by one of the forms; numbers that are carried together, from their first trips
conditions      conditions that are exact only while they hold; numeric premises of a body, for all trips
monotone, linear  what relates numbers that have no closed form: names for them, and linear invariants
unrolling       a loop of few trips, interpreted trip by trip; the iteration number and the condition that a body gets
zero_trip_ranks, zero_trip_sizes  scan outputs after no trip: the ranks and sizes that type inference finds
"""
