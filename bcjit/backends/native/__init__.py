"""The native backend: groups of elementwise calls as machine code, made by LLVM; NumPy does the rest.

``scalars`` is what a kernel computes for an element, ``tracing`` finds it for a call, ``groups`` says which calls become one kernel,
``program`` is what is compiled, ``rules`` and ``text`` write it as LLVM has it, ``emit`` a whole kernel, ``engine`` makes machine code,
``views`` and ``writes`` are operands that a kernel makes itself and what it stores, ``outcomes`` what it gives, ``unread`` what it need not give, ``inputs`` what it is called with,
``build`` puts kernels into a graph, ``backend`` is the backend. Nothing is imported here: `bcjit.backends.choice` reads the package when it is
first needed.
"""
