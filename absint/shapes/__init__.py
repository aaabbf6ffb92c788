"""The shape analysis: a run of the engine over a program.

analysis        the transfer function; meanings: which function interprets a step of control flow, and its types
interpretation  the state that these functions see: the knowledge about each node
application     operators: a rule applied, its result checked, typed and named; elements that constant inputs decide
reference       computes these with onnx.reference
summaries       what one application gives, with holes for fresh symbols
calls           the summary of a folded call, whose body is a program of its own
cases           the summary of a node that is one of several: of inputs whose rank sizes choose, or of two versions
readability     the shortest of the known equal forms of what a rule gives; printed names of fresh symbols
branches        gates and joins of an If: two values as one
loops/          heads and exits of Loop, Scan and SequenceMap
counts/         sizes that data decide, related by masks and value numbers, for whoever asks
inputs          symbols of the graph inputs and of their elements
input_shapes    shapes that a caller states for inputs without one
refinement      requirements of one round become facts of the next, and what other analyses tell this one, in turns
rounds          what a round is, teaches and leaves open; choices that facts settle
policies        one run under another tool's choice between two dims
sizes           sizes, ranges, shapes and assumptions that a caller gives, read against the inputs
timings         times of phases and rules
memo/           speed only, as is `analysis.swept`
"""
