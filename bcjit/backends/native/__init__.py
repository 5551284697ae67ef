"""The native backend: groups of calls as machine code, made by LLVM; NumPy does the rest.

In the order in which a graph goes through it:

==================================================  ================================================================================================
`scalars`, `tracing`                                what a kernel computes for one element, and how that is found for a call
`views`, `writes`, `masks`, `unread`                operands that a kernel makes itself, what it stores (through masks), what it need not give
`groups`, `waiting`, `alone`, `outcomes`            which calls become one kernel, that none waits for itself, which single ones do, and what it gives
`reduce_tracing`, `reduce_groups`, `reduce_plan`,   the same for calls with reductions
`reduce_bound`
`scan_tracing`, `scan_groups`, `scan_plan`          and with scans
`parts`, `part_rules`                               calls with several results
`unroll`, `unroll_tracing`                          sums over few elements written out, with ``fast`` contractions too
`inputs`, `program`                                 what a kernel is called with; what is compiled
`rules`, `halves`, `complexes`, `division`          scalar functions as vector instructions: floats, integers and bools; float16; complex numbers; quotients
`fast`, `fast_rules`, `polynomials`, `lanes`        the option ``fast``: functions as polynomials
`text`, `emit`, `loop_calls`                        LLVM's text: instructions, a whole kernel, calls of NumPy's inner loops
`engine`, `compiled`                                machine code: from text, in memory and on disk
`flags`, `threads`                                  what C asks Python: whether flags matter, how many threads
`build`, `backend`                                  kernels in the place of calls in a graph; the backend
==================================================  ================================================================================================

In C: ``csrc/kernel*``, ``csrc/reduce*`` and ``csrc/scan*``. Nothing is imported here: `bcjit.backends.choice` reads the package when it is first needed.
"""
