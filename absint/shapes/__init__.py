"""The shape analysis: a run of the engine over a program.

analysis        the transfer function; meanings: which function interprets a step of control flow, and its types
interpretation  the state that these functions see: the knowledge about each node
application     operators: a rule applied, its result checked, typed and named
evaluation      elements that constant inputs decide; reference: computed by onnx.reference
summaries       what one application gives, with holes for fresh symbols
calls           the summary of a folded call, whose body is a program of its own
two_versions    the summary of a node whose operator has one version in its function and another in the model
readability     the shortest of the known equal forms of what a rule gives
branches        gates and joins of an If; joining: two values as one; cases: rules of inputs whose rank sizes choose
loops/          heads and exits of Loop, Scan and SequenceMap
counts/         sizes that data decide, related by masks and value numbers, for whoever asks
inputs          symbols of the graph inputs and of their elements
input_shapes    shapes that a caller states for inputs without one
refinement      requirements of one round become facts of the next; rounds: what a round is, teaches and leaves open;
                choosing: choices that facts settle; what other analyses tell this one, and both in turns
policies        one run under another tool's choice between two dims
sizes           sizes, ranges, shapes and assumptions that a caller gives, read against the inputs
names           printed names of fresh symbols; timings: times of phases and rules
memo/, sweep    speed only
"""
