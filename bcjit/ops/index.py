"""Which op module has the rows of which names of NumPy, so that a module is read when one of its ops is first looked up.

A test compares this with the modules, and says what to write. A name is one of NumPy's, in any version of it; a
name of ``builtins`` or ``operator`` where the first word says so; one that begins with a dot is an attribute of arrays and NumPy scalars that is read. Aliases of
one function have one name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

__all__ = ["NAMES", "UNTIL_IMPORTED"]

# Modules of NumPy that it imports when they are first used -> the module here that has their rows: it is not read before that.
UNTIL_IMPORTED: Final[Mapping[str, str]] = {"numpy.fft": "fft", "numpy.random": "random"}

NAMES: Final[Mapping[str, str]] = {
    "averages": (
        "generic.mean generic.std generic.var mean ndarray.mean ndarray.std ndarray.var ptp std var"
    ),
    "axes": (
        ".T .mT expand_dims flip fliplr flipud generic.squeeze generic.transpose "
        "matrix_transpose moveaxis ndarray.squeeze ndarray.swapaxes ndarray.transpose "
        "permute_dims rollaxis rot90 squeeze swapaxes"
    ),
    "bits": "packbits unpackbits",
    "complex_functions": "angle iscomplex isreal real_if_close sort_complex",
    "compound": (
        "allclose around array_equal array_equiv builtins.complex builtins.float builtins.int "
        "clip copyto generic.clip generic.conj generic.conjugate generic.item generic.round "
        "isclose ndarray.clip ndarray.conj ndarray.conjugate ndarray.fill ndarray.item "
        "ndarray.round round where"
    ),
    "contraction": (
        "dot inner matmul ndarray.dot operator.__imatmul__ operator.__matmul__ outer vdot"
    ),
    "conversion": (
        "array asanyarray asarray asarray_chkfinite ascontiguousarray asfortranarray bool "
        "byte cdouble clongdouble complex64 double float128 float16 float32 int16 int32 int64 "
        "longlong require ubyte uint uint16 uint32 ulonglong"
    ),
    "copies": (
        ".imag .real astype copy generic.astype generic.copy generic.view imag ndarray.astype "
        "ndarray.byteswap ndarray.copy ndarray.to_device ndarray.view real"
    ),
    "creation": (
        "diag diagflat empty empty_like eye full full_like identity ones ones_like tri vander "
        "zeros zeros_like"
    ),
    "differences": "cumulative_prod cumulative_sum diff ediff1d gradient trapezoid",
    "einsum": "einsum",
    "fft": (
        "fft.fft fft.fft2 fft.fftfreq fft.fftn fft.fftshift fft.hfft fft.ifft fft.ifft2 "
        "fft.ifftn fft.ifftshift fft.ihfft fft.irfft fft.irfft2 fft.irfftn fft.rfft fft.rfft2 "
        "fft.rfftfreq fft.rfftn"
    ),
    "float_functions": "fix isneginf isposinf nan_to_num sinc unwrap",
    "grids": "indices meshgrid",
    "gufuncs": "matvec vecdot vecmat",
    "histograms": "histogram histogram2d histogram_bin_edges",
    "index_tools": (
        "diag_indices diag_indices_from ix_ ravel_multi_index tril_indices tril_indices_from "
        "triu_indices triu_indices_from unravel_index"
    ),
    "index_tricks": "mgrid.__class__.__getitem__ r_.__class__.__getitem__",
    "indexing": "operator.__getitem__ operator.__setitem__",
    "joining": (
        "append atleast_1d atleast_2d atleast_3d block column_stack concat dstack hstack "
        "stack vstack"
    ),
    "library": "interp ndarray.searchsorted searchsorted",
    "linalg": (
        "linalg.cholesky linalg.cond linalg.det linalg.eig linalg.eigh linalg.eigvals "
        "linalg.eigvalsh linalg.inv linalg.lstsq linalg.matrix_rank linalg.pinv linalg.qr "
        "linalg.slogdet linalg.solve linalg.svd linalg.svdvals linalg.tensorinv "
        "linalg.tensorsolve"
    ),
    "linalg_norms": "linalg.matrix_norm linalg.norm linalg.vector_norm",
    "metadata": (
        ".device .dtype .itemsize .nbytes .ndim .shape .size broadcast_shapes can_cast "
        "common_type dtype finfo iinfo iscomplexobj isdtype isfortran isrealobj isscalar "
        "issubdtype iterable min_scalar_type mintypecode ndim promote_types result_type shape "
        "size"
    ),
    "movement": (
        "broadcast_arrays broadcast_to generic.flatten generic.ravel generic.repeat "
        "generic.reshape ndarray.flatten ndarray.ravel ndarray.repeat ndarray.reshape ravel "
        "repeat reshape resize roll tile"
    ),
    "nan_functions": (
        "nanargmax nanargmin nancumprod nancumsum nanmax nanmean nanmin nanprod nanstd nansum "
        "nanvar"
    ),
    "padding": "pad",
    "placing": (
        "choose fill_diagonal ndarray.choose ndarray.put piecewise place put put_along_axis "
        "putmask select take_along_axis"
    ),
    "polynomials": "poly polyadd polyder polydiv polyfit polyint polymul polysub polyval",
    "products": (
        "convolve correlate cross kron linalg.cross linalg.diagonal linalg.matmul "
        "linalg.matrix_power linalg.matrix_transpose linalg.multi_dot linalg.outer "
        "linalg.tensordot linalg.trace linalg.vecdot tensordot"
    ),
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "random": (
        "random.Generator random.Generator.beta random.Generator.binomial "
        "random.Generator.chisquare random.Generator.choice random.Generator.dirichlet "
        "random.Generator.exponential random.Generator.f random.Generator.gamma "
        "random.Generator.geometric random.Generator.gumbel random.Generator.hypergeometric "
        "random.Generator.integers random.Generator.laplace random.Generator.logistic "
        "random.Generator.lognormal random.Generator.logseries random.Generator.multinomial "
        "random.Generator.multivariate_hypergeometric random.Generator.negative_binomial "
        "random.Generator.noncentral_chisquare random.Generator.noncentral_f "
        "random.Generator.normal random.Generator.pareto random.Generator.permutation "
        "random.Generator.permuted random.Generator.poisson random.Generator.power "
        "random.Generator.random random.Generator.rayleigh random.Generator.shuffle "
        "random.Generator.standard_cauchy random.Generator.standard_exponential "
        "random.Generator.standard_gamma random.Generator.standard_normal "
        "random.Generator.standard_t random.Generator.triangular random.Generator.uniform "
        "random.Generator.vonmises random.Generator.wald random.Generator.weibull "
        "random.Generator.zipf random.MT19937 random.PCG64 random.PCG64DXSM random.Philox "
        "random.RandomState random.RandomState.beta random.RandomState.binomial "
        "random.RandomState.chisquare random.RandomState.choice random.RandomState.dirichlet "
        "random.RandomState.exponential random.RandomState.f random.RandomState.gamma "
        "random.RandomState.geometric random.RandomState.gumbel "
        "random.RandomState.hypergeometric random.RandomState.laplace "
        "random.RandomState.logistic random.RandomState.lognormal "
        "random.RandomState.logseries random.RandomState.multinomial "
        "random.RandomState.negative_binomial random.RandomState.noncentral_chisquare "
        "random.RandomState.noncentral_f random.RandomState.normal random.RandomState.pareto "
        "random.RandomState.permutation random.RandomState.poisson random.RandomState.power "
        "random.RandomState.rand random.RandomState.randint random.RandomState.randn "
        "random.RandomState.random random.RandomState.random_sample "
        "random.RandomState.rayleigh random.RandomState.seed random.RandomState.shuffle "
        "random.RandomState.standard_cauchy random.RandomState.standard_exponential "
        "random.RandomState.standard_gamma random.RandomState.standard_normal "
        "random.RandomState.standard_t random.RandomState.tomaxint "
        "random.RandomState.triangular random.RandomState.uniform random.RandomState.vonmises "
        "random.RandomState.wald random.RandomState.weibull random.RandomState.zipf "
        "random.SFC64 random.SeedSequence random.beta random.binomial random.chisquare "
        "random.choice random.default_rng random.dirichlet random.exponential random.f "
        "random.gamma random.geometric random.gumbel random.hypergeometric random.laplace "
        "random.logistic random.lognormal random.logseries random.multinomial "
        "random.negative_binomial random.noncentral_chisquare random.noncentral_f "
        "random.normal random.pareto random.permutation random.poisson random.power "
        "random.rand random.randint random.randn random.random random.random_sample "
        "random.ranf random.rayleigh random.sample random.seed random.shuffle "
        "random.standard_cauchy random.standard_exponential random.standard_gamma "
        "random.standard_normal random.standard_t random.triangular random.uniform "
        "random.vonmises random.wald random.weibull random.zipf"
    ),
    "reductions": (
        "add.reduce all amax amin any argmax argmin count_nonzero generic.all generic.any "
        "generic.argmax generic.argmin generic.max generic.min generic.prod generic.sum "
        "logical_and.reduce logical_or.reduce max maximum.reduce min minimum.reduce "
        "multiply.reduce ndarray.all ndarray.any ndarray.argmax ndarray.argmin ndarray.max "
        "ndarray.min ndarray.prod ndarray.sum prod sum"
    ),
    "scans": (
        "add.accumulate cumprod cumsum generic.cumprod generic.cumsum maximum.accumulate "
        "minimum.accumulate multiply.accumulate ndarray.cumprod ndarray.cumsum"
    ),
    "searching": (
        "argwhere compress delete extract flatnonzero insert ndarray.compress ndarray.nonzero "
        "nonzero trim_zeros"
    ),
    "selection": (
        "argpartition argsort diagonal generic.argsort generic.take lexsort "
        "ndarray.argpartition ndarray.argsort ndarray.diagonal ndarray.partition ndarray.sort "
        "ndarray.take ndarray.trace partition sort take trace tril triu"
    ),
    "sequences": ("arange bartlett blackman geomspace hamming hanning i0 kaiser linspace logspace"),
    "sets": (
        "bincount digitize intersect1d isin setdiff1d setxor1d union1d unique unique_all "
        "unique_counts unique_inverse unique_values"
    ),
    "splitting": "array_split dsplit hsplit split unstack vsplit",
    "weighted": "average corrcoef cov",
    "windows": "lib.stride_tricks.sliding_window_view",
}
