"""How a join over many inputs is computed within limits of processor time and memory.

`graph` has the inputs and predicates, `tree` the ways to join them, `cost` what each needs of both resources. The
planners are `mjoin`, `bjtree`, `finder` (JTree-Finder, exact and exponential), `state_selection`, `state_removal`,
`two_layers` and `state_exchange`; `choice` puts them together, `shortfall` says what is missing if nothing fits, and
`drawing` shows it. Several joins (`member`) are weighed against each other by their `front`s, of which `sums` are made,
and what they may keep in common (`division`). No search takes longer than its `budget`.
"""
