import json
import re
from pathlib import Path

import pytest
import yaml

from leogym.agents import train_cli
from leogym.agents.training.settings import TrainSettings
from leogym.common.errors import InputError
from tests.support import scenarios

TINY = """
agent: astraea
num_envs: 2
scenarios: {sampler: astraea, duration_s: 1, rate_mbps: 40, base_rtt_ms: 20, flows: 1}
"""


@pytest.fixture
def config(tmp_path):
    path = tmp_path / "tiny.yaml"
    path.write_text(TINY)
    return path


def run(tmp_path, *arguments):
    return train_cli.run([*map(str, arguments), "--out", str(tmp_path / "run"), "--track", "none"])


def test_an_agent_with_nothing_to_train_says_so(tmp_path):
    with pytest.raises(InputError, match=r"^--agent: vivace: nothing to train, .* --schemes vivace,cubic$"):
        run(tmp_path, "--agent", "vivace")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("moon --steps 1", "--agent: moon: .*astraea, aurora, .*orca"),
        ("astraea", "--steps or --minutes: give one"),
        ("astraea --steps 1 --set foo=1", r"^--set: foo: unknown key \("),
        ("astraea --steps 1 --set gamma=high", "^--set: gamma: "),
        ("astraea --steps 1 --set agent=ppo", "^--set: agent: --agent names it; algo=NAME "),
        ("astraea --steps 1 --set scenarios.sampler=led", "scenarios: sampler: 'led': unknown .nearest: leo"),
        ("astraea --steps 0", "steps: must be a whole number from 1 to"),
        ("astrea --steps 1", "--agent: astrea: .*nearest: astraea"),
        ("astraea --steps 1 --workers 100000", "--workers: 100000: this machine can run"),
        ("ppo --steps 1 --workers 10000", "--workers: 10000: this machine can run"),
        (
            "ppo --steps 1 --engine rllib --workers 10000",
            "Ray gives each process a processor: there are ",
        ),
        ("astraea --minutes nan", "minutes: "),
        ("astraea --steps 1 --seed -1", "seed: "),
        ("astraea --steps 1 --engine sb3", "--engine: sb3: .* trained by native"),
        ("astraea --steps 1 --engine tf", "engine: .*'native', 'sb3' or 'rllib'"),
        ("astraea --steps 1 --backend lab", "backend: .*'simulator', 'mahimahi' or 'kernel'"),
        ("astraea --steps 1 --set spec=moon", 'spec: no .* named "moon" .*astraea, orca'),
        ("astraea --steps 1 --set reward=none", 'reward: no .* named "none" '),
        ("astraea --steps 1 --config missing.yaml", "^missing.yaml: cannot be read"),
        ("orca --config orca-minutes", "^orca-minutes: no such file: .*/agents/orca-minutes.yaml$"),
        ("ppo --steps 1 --config CONFIG", "tiny.yaml: agent: is 'astraea'"),
        ("astraea --steps 1 --resume", "run/config.yaml: no run to resume"),
    ],
)
def test_bad_input_is_one_line_and_leaves_nothing(tmp_path, config, words, message):
    if words.startswith("astraea") and "--config" not in words and "--resume" not in words:
        words += " --config CONFIG"
    with pytest.raises(InputError, match=message) as caught:
        run(tmp_path, "--agent", *words.replace("CONFIG", str(config)).split())
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_a_trace_that_is_missing_or_broken_is_named_and_leaves_nothing(tmp_path):
    broken = tmp_path / "broken.csv"
    broken.write_text("time_s,delay_ms\n0,1\n")
    for path in (broken, tmp_path / "missing.csv", "no-such-path"):
        scenarios = f"scenarios={{sampler: leo, paths: [{path}]}}"
        with pytest.raises(InputError, match=f"^{path}"):
            run(tmp_path, "--agent", "astraea", "--steps", 1, "--set", scenarios)
        assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("flags", [["--steps", "many"], ["--out", ""], ["--moon"]])
def test_an_argument_that_cannot_be_parsed_is_one_line(flags):
    with pytest.raises(InputError, match=rf"^leogym train: .*{flags[0]}"):
        train_cli.run(["--agent", "astraea", *flags])


def test_flags_win_over_assignments_and_assignments_over_the_file(tmp_path, config):
    config.write_text(TINY + "seed: 5\ntau: 0.1\ngamma: 0.5\nsteps: 1000\n")
    run(
        tmp_path, "--agent", "astraea", "--config", config, "--set", "seed=6", "tau=2e-1",
        "--set", "scenarios.loss=0.01", "--seed", 7, "--steps", 10,
    )  # fmt: skip
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert [written[key] for key in ("seed", "tau", "gamma", "steps")] == [7, 0.2, 0.5, 10]
    assert written["scenarios"]["loss"] == 0.01


def test_resuming_takes_the_settings_of_the_run_and_only_a_new_length(tmp_path, config):
    run(tmp_path, "--agent", "astraea", "--config", config, "--seed", 7, "--steps", 10)
    with pytest.raises(InputError, match="has a run already"):
        run(tmp_path, "--agent", "astraea", "--config", config, "--steps", 10)
    for change in (["--seed", 8], ["--set", "tau=0.1"], ["--config", config]):
        with pytest.raises(InputError, match=r"config\.yaml"):
            run(tmp_path, "--agent", "astraea", "--resume", *change)
    assert run(tmp_path, "--agent", "astraea", "--resume", "--seed", 7, "--steps", 20) == 0
    assert (tmp_path / "run" / "checkpoints" / "latest").read_text() == "000000000020\n"


def test_a_resume_with_nothing_left_to_train_says_so_in_one_line(tmp_path, config, capsys):
    run(tmp_path, "--agent", "astraea", "--config", config, "--steps", 1_000)
    capsys.readouterr()
    for length, reason in (
        ([], "the run has 1,000 of 1,000 steps: --resume with more --steps goes on"),
        (["--steps", 4], "the run has 1,000 of 4 steps: --resume with more --steps goes on"),
        (["--minutes", 1e-6], "the run has taken .* of 1e-06 minutes, and --minutes counts those before "),
    ):
        assert run(tmp_path, "--agent", "astraea", "--resume", *length) == 0
        _, said, policy = capsys.readouterr().out.splitlines()
        assert re.match(f"{tmp_path / 'run'}: nothing left to train: {reason}", said)
        assert policy == f"policy: {tmp_path / 'run' / 'policy'}"
    assert run(tmp_path, "--agent", "astraea", "--resume", "--steps", 1_010) == 0
    assert "nothing left" not in capsys.readouterr().out


def test_an_agent_without_a_policy_cannot_be_evaluated_and_says_so_before_it_trains(tmp_path):
    flags = ["--agent", "dreamerv3", "--engine", "rllib", "--steps", 100, "--set", "held_out_episodes=2"]
    with pytest.raises(InputError, match=r"^settings: held_out_episodes: dreamerv3 exports no policy"):
        run(tmp_path, *flags)
    assert not (tmp_path / "run").exists()


def fresh(agent, *flags):
    options = train_cli.parser().parse_args(["--agent", agent, *flags])
    return train_cli.fresh(train_cli.registry.get(agent), options)


def test_every_shipped_configuration_is_valid():
    shipped = {path.stem: path for path in sorted(train_cli.CONFIGS.glob("*.yaml"))}
    assert {"astraea", "astraea-published", "astraea-real", "aurora", "orca", "ppo"} <= shipped.keys()
    for name, path in shipped.items():
        agent = name.partition("-")[0]
        settings = fresh(agent, "--config", str(path))
        assert settings.agent == agent
        assert settings.steps or settings.minutes


def test_a_run_says_first_how_long_it_takes_where_that_was_measured():
    settings = TrainSettings(agent="astraea", steps=900, steps_per_minute=30.0, useful_steps=450)
    assert train_cli.start_line("astraea", settings, Path("runs/a")) == (
        "astraea: trains in runs/a; the whole run takes about 30 min on two idle cores; the first useful "
        "policy is there after about 15 min"
    )
    brief = settings.model_copy(update={"steps": 9})
    assert train_cli.start_line("astraea", brief, Path("runs/a")).endswith(
        "takes less than a minute on two idle cores; it ends before the first useful policy, which takes "
        "about 15 min"
    )
    timed = settings.model_copy(update={"steps": None, "minutes": 5.0, "useful_steps": None})
    assert "; the whole run takes about 5 min on" in train_cli.start_line("astraea", timed, Path("runs/a"))
    short = TrainSettings(agent="astraea", steps=900)
    assert train_cli.start_line("astraea", short, Path("runs/a")) == "astraea: trains in runs/a"


def test_astraea_as_typed_says_how_long_it_takes():
    settings = fresh("astraea")
    assert settings.steps is not None
    assert settings.steps_per_minute is not None
    assert settings.useful_steps is not None
    assert settings.steps / settings.steps_per_minute <= 180
    assert settings.useful_steps / settings.steps_per_minute <= 15


def test_the_published_configuration_is_the_defaults():
    settings = fresh("astraea", "--config", str(train_cli.CONFIGS / "astraea-published.yaml"))
    # Evaluation does not change training.
    assert settings.model_dump(exclude_defaults=True).keys() - {"held_out_episodes"} <= {"agent", "steps"}
    assert settings.held_out_episodes


def test_any_observation_action_and_reward_train_together(tmp_path):
    small = ["rollout_steps=16", "minibatch_size=16", "num_envs=2", "scenarios.duration_s=1"]
    chosen = ["observation=orca", "action=cwnd_ratio", "reward={throughput: 1, delay: -0.5, fairness: 0.1}"]
    assert run(tmp_path, "--agent", "ppo", "--steps", 32, "--set", *small, *chosen) == 0
    written = yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())
    assert written["spec"] == "orca+cwnd_ratio"
    assert written["reward"] == "throughput:1,delay:-0.5,fairness:0.1"
    policy = json.loads((tmp_path / "run" / "policy" / "policy.json").read_text())
    assert (policy["agent"], policy["observation_dim"]) == ("orca+cwnd_ratio", 70)


def settings_of(*arguments):
    flags = train_cli.parser().parse_args([*map(str, arguments)])
    scheme = train_cli.registry.get(flags.agent)
    algorithm = train_cli.take_algorithm(flags)
    assert algorithm is not None
    return train_cli.fresh(algorithm, flags, train_cli.task_of(scheme))


def told_of(capsys, *arguments):
    fresh("ppo", "--engine", "sb3", *arguments)
    return capsys.readouterr().err.splitlines()


def test_other_scenarios_say_what_they_drop_and_bring_in_one_line(capsys, tmp_path):
    preset = tmp_path / "preset.yaml"
    preset.write_text("agent: ppo\nscenarios: {sampler: astraea, flows: 1, rate_mbps: [20, 40]}\n")
    line, _ = told_of(capsys, "--config", str(preset), "--set", "scenarios=leo")
    assert line.startswith("scenarios: leo in the place of the preset's astraea; dropped: flows=1, ")
    assert "rate_mbps=[20.0, 40.0]" in line.partition("its defaults:")[0]
    assert "flows=[1, 3]" in line.partition("its defaults:")[2]
    told = told_of(
        capsys, "--config", str(preset), "--set", "scenarios={sampler: leo, flows: 1, rate_mbps: 9}"
    )
    assert "dropped: rate_mbps=[20.0, 40.0]; its defaults: duration_s=60.0" in told[0]
    assert len(told) == 1
    for quiet in ("scenarios.rate_mbps=9", "scenarios={sampler: astraea, flows: 1, rate_mbps: [20, 40]}"):
        assert told_of(capsys, "--config", str(preset), "--set", quiet) == []


def test_the_presets_own_sampler_says_which_ranges_change_and_how_to_keep_them(capsys):
    assert told_of(capsys, "--set", "scenarios=leo") == [
        "scenarios: the preset samples leo already, and your value replaces all of its ranges: "
        "duration_s=60.0 instead of 120.0, flows=[1, 3] instead of 1, rate_mbps=[40.0, 160.0] instead of "
        "[10.0, 160.0], extra_delay_ms=0.0 instead of [0.0, 40.0]; to change a single range, use --set "
        "scenarios.KEY=VALUE",
        "scenarios: sb3 trains one flow of each scenario, up to 2 others run cubic; --engine rllib trains "
        "all, and scenarios.learning_flows=1 trains one with every engine",
    ]
    same = "{sampler: leo, flows: 1, duration_s: 120, rate_mbps: [10, 160], extra_delay_ms: [0, 40]}"
    assert told_of(capsys, "--set", f"scenarios={same}") == []


def test_flows_that_do_not_learn_with_sb3_are_named_however_they_were_set(capsys, tmp_path):
    (line,) = told_of(capsys, "--set", "scenarios.flows=3", "scenarios.background=[bbr3]")
    assert line.startswith("scenarios: sb3 trains one flow of each scenario, up to 2 others run bbr3; ")
    for quiet in (["scenarios.flows=3", "scenarios.learning_flows=1"], ["scenarios.flows=1"]):
        assert told_of(capsys, "--set", *quiet) == []
    assert told_of(capsys, "--engine", "rllib", "--set", "scenarios.flows=3") == []


def test_the_help_names_only_agents_that_can_be_trained():
    (listed,) = [action.help for action in train_cli.parser()._actions if action.dest == "agent"]
    assert "astraea" in listed
    assert "vivace" not in listed


def test_an_algorithm_may_learn_the_task_of_another_agent():
    orca = train_cli.registry.get("orca").settings(agent="orca")
    found = settings_of("--agent", "orca", "--engine", "rllib", "--set", "algo=sac", "tau=0.1")
    assert (found.agent, found.engine, found.tau) == ("sac", "rllib", 0.1)
    assert (found.spec, found.reward, found.interval_ms) == (orca.spec, orca.reward, orca.interval_ms)
    assert found.scenarios == orca.scenarios
    given = settings_of("--agent", "orca", "--set", "algo=ppo", "spec=aurora")
    assert (given.agent, given.spec, given.reward) == ("ppo", "aurora", "orca")
    baseline = settings_of("--agent", "ppo", "--engine", "rllib", "--set", "algo=appo")
    assert (baseline.agent, baseline.spec) == ("appo", "astraea")
    published = settings_of("--agent", "astraea", "--set", "algo=ppo")
    assert (published.spec, published.reward) == ("astraea", "astraea")


def test_a_spec_replaces_the_presets_observation():
    assert fresh("ppo").spec == "orbit+astraea"
    assert fresh("ppo", "--set", "spec=orca").spec == "orca"
    assert fresh("ppo", "--set", "spec=orca", "observation=sage").spec == "sage+orca"


def test_an_algorithm_that_there_is_not_is_answered_with_those_that_there_are(tmp_path):
    with pytest.raises(InputError, match=r"^--agent: moon: .*appo, astraea"):
        run(tmp_path, "--agent", "orca", "--steps", 1, "--set", "algo=moon")


@pytest.mark.parametrize("name", ["static-100-cubic", "leo-single", "FILE"])
def test_training_takes_the_scenarios_that_evaluation_takes(tmp_path, config, name):
    given = scenarios.written(tmp_path) if name == "FILE" else name
    words = ["--agent", "astraea", "--config", config, "--steps", 20, "--set", f"scenarios={given}"]
    assert run(tmp_path, *words) == 0
    assert yaml.safe_load((tmp_path / "run" / "config.yaml").read_text())["scenarios"]["names"] == [given]


def test_a_wrong_name_to_train_on_is_answered_by_the_nearest(tmp_path, config):
    with pytest.raises(InputError, match=r"scenarios: .*'leo-sngle': neither a file nor .*leo-single"):
        run(tmp_path, "--agent", "astraea", "--config", config, "--steps", 1, "--set", "scenarios=leo-sngle")
