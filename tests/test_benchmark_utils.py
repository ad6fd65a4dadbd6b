"""torch.utils.benchmark: measurements, tables of them, and random inputs; the texts and numbers are those of PyTorch 2.13."""

import pytest

import rushlight
from rushlight.utils import benchmark

SPREAD = [1e-5, 1.1e-5, 1.02e-5, 1.3e-5, 0.9e-5]


def measurement(times, **task):
    return benchmark.Measurement(1, times, benchmark.TaskSpec(task.pop("stmt", "x + y"), "pass", **task))


def sweep():
    scales = iter((1, 4, 20, 30, 2, 2.1, 50))
    cases = [("small", "eager"), ("small", "compiled"), ("larger", "eager"), ("larger", "compiled")]
    return [
        measurement([each * scale for each in SPREAD], label="add", sub_label=row, description=column, num_threads=threads)
        for (threads, row, column), scale in zip(((n, *case) for n in (1, 4) for case in cases), scales)
    ]


PLAIN = """\
[-------------- add --------------]
              |  eager  |  compiled
1 threads: ------------------------
      small   |   10.2  |    40.8__
      larger  |  204.0  |   306.0__
4 threads: ------------------------
      small   |   20.4  |    21.4__
      larger  |  510.0  |__________

Times are in microseconds (us).
"""

WARNED = "[-------------  -------------]\n                |       d     \n1 threads: -------------------\n  (new)  x + y  |  1.2 (! 25%)\n  (old)  x + y  |  1.2 (! 25%)\n\nTimes are in microseconds (us).\n(! XX%) Measurement has high variance, where XX is the IQR / median * 100.\n"

PARAMETERS = [(34, 71, 1, 5), (8, 8, 3, 5), (4, 111, 3, 4), (26, 39, 1, 26)]
TENSORS = [((1,), [122, 74, 1]), ((72, 3, 24), [62, 124, 30]), ((3, 36, 1), [108, 61, 43]), ((1,), [5, 98, 53])]


def test_a_table_has_rows_for_variants_and_columns_for_descriptions():
    table = benchmark.Compare(sweep())
    assert str(table) == PLAIN.replace("_", " ")
    table.trim_significant_figures()
    assert [line.split("|")[1:] for line in str(table).splitlines()[3:5]] == [["    10   ", "     40   "], ["   200   ", "    300   "]]
    with pytest.raises(ValueError, match="Expected an instance of `Measurement`"):
        table.extend_results([1.0])


def test_a_table_tells_environments_and_marks_times_that_spread():
    wide = [1e-6, 1.3e-6, 1.1e-6, 1.6e-6]
    table = benchmark.Compare([measurement(wide, env=each, description="d") for each in ("new", "old")])
    table.highlight_warnings()
    assert str(table) == WARNED


def test_colours_tell_the_best_of_a_column_or_of_a_row():
    table = benchmark.Compare(sweep()[:4])
    table.colorize()
    end, best, worst = "\033[0m\033[0m", "\033[92m\033[1m", "\033[31m\033[1m"
    assert str(table).splitlines()[3] == f"      small   |  {best} 10.2{end}  |  {best}  40.8  {end}"
    assert str(table).splitlines()[4] == f"      larger  |  {worst}204.0{end}  |  {worst} 306.0  {end}"
    table.colorize(rowwise=True)
    assert str(table).splitlines()[3] == f"      small   |  {best} 10.2{end}  |  \033[2m\033[91m  40.8  {end}"
    assert str(table).splitlines()[4] == f"      larger  |  {best}204.0{end}  |   306.0  "


def test_a_measurement_has_the_fields_of_its_task_and_knows_how_sure_it_is():
    sure, one = measurement(SPREAD, label="add", sub_label="small"), measurement([2.0], stmt="a\nb")
    assert (sure.label, sure.num_threads, sure.env, sure.as_row_name, sure.title) == ("add", 1, None, "small", "add: small")
    assert (sure.significant_figures, sure.has_warnings, one.significant_figures) == (1, False, 4)
    assert one.title == "stmt:\n  a\n  b" and repr(one).splitlines()[-2:] == ["  2.00 s", "  1 measurement, 1 runs , 1 thread"]
    with pytest.raises(AttributeError, match="no attribute 'other'"):
        _ = sure.other


def test_random_inputs_are_those_of_the_seed():
    fuzzer = benchmark.Fuzzer(
        [
            [benchmark.FuzzedParameter("k0", 4, 64, "loguniform"), benchmark.FuzzedParameter("k1", 4, 300, "uniform")],
            benchmark.FuzzedParameter("d", 1, 3, "uniform", strict=True),
            benchmark.FuzzedParameter("k2", distribution={5: 0.5, benchmark.ParameterAlias("k0"): 0.5}),
        ],
        [
            benchmark.FuzzedTensor("x", ("k0", "k1", 3), (1, "d"), 0.4, 12, 2000, dim_parameter="d"),
            [benchmark.FuzzedTensor("i", ("k2",), dtype=rushlight.int64, max_allocation_bytes=400)],
        ],
        [lambda params: params["k0"] % 2 == 0],
        seed=7,
    )
    taken = list(fuzzer.take(4))
    assert [tuple(params.values()) for _, _, params in taken] == PARAMETERS
    assert [(tensors["x"].stride(), tensors["i"].tolist()[:3]) for tensors, _, _ in taken] == TENSORS
    assert taken[0][1]["x"]["is_contiguous"] == taken[0][0]["x"].is_contiguous() and 0 < fuzzer.rejection_rate < 1
    assert list(fuzzer.take(1))[0][2] == taken[0][2]


def test_random_sparse_inputs():
    parameters = [
        benchmark.FuzzedParameter(name, low, high, "uniform")
        for name, low, high in (("density", 0.1, 0.5), ("coalesced", 0, 1), ("sparse_dim", 1, 2))
    ]
    fuzzer = benchmark.Fuzzer(parameters, [benchmark.FuzzedSparseTensor("s", (5, 6, 2), sparse_dim="sparse_dim")], seed=1)
    for tensors, properties, params in fuzzer.take(3):
        assert (tensors["s"].sparse_dim(), tensors["s"].is_coalesced()) == (params["sparse_dim"], bool(params["coalesced"]))
        assert properties["s"]["is_hybrid"] and properties["s"]["dense_dim"] == 3 - params["sparse_dim"]


def test_bounds_that_leave_nothing_and_wrong_distributions_are_refused():
    parameter = benchmark.FuzzedParameter
    with pytest.raises(ValueError, match="Failed to generate"):
        next(benchmark.Fuzzer([parameter("n", 2, 4, "uniform")], [benchmark.FuzzedTensor("x", ("n",), min_elements=9)], seed=0).take(1))
    with pytest.raises(ValueError, match="Duplicate names"):
        benchmark.Fuzzer([parameter("n", 2, 4, "uniform")], [benchmark.FuzzedTensor("n", (2,))])
    with pytest.raises(ValueError, match="cycle"):
        names = {"a": "b", "b": "a"}
        aliases = [parameter(name, distribution={benchmark.ParameterAlias(other): 1.0}) for name, other in names.items()]
        next(benchmark.Fuzzer(aliases, [], seed=0).take(1))
    for options in (
        {"distribution": "normal"},
        {"distribution": {1: 0.5}},
        {"distribution": {1: 2.0, 2: -1.0}},
        {"minval": 1, "distribution": {1: 1.0}},
    ):
        with pytest.raises(AssertionError):
            parameter("n", **options)
