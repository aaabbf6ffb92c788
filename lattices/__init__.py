"""The abstract domains, from integers up to values. Standard library only (numpy for index work in `contents`).

    limits deadline              what one answer may take; a time limit that every layer looks at
    intern truth interval        one object per structure; three-valued truth; intervals and congruences
    expr normal relation         symbolic integers in normal form, their rewrites, relations over them
    comparisons rewriting sign   what comparisons say, plainly; rewrites as data; what is a natural number
    definedness                  where relations with quotients are true, and where false
    facts                        what is known of symbols: `simplify` and `decide`
    text references              the grammar: parse and print expressions and relations; the values that texts name
    lattice laws rows            the protocol of a domain, its laws as tests, tuples of elements
    dim shape dtype              dims, shapes, element types
    real contents ramp tensor    exact floats, known elements, elements that grow, abstract values of every kind

To add a domain, read `lattice.py` for what it must offer and `dim.py` for an example of fifty lines; the laws it must
pass are in `laws.py`.
"""
