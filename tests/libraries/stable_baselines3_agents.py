# ruff: noqa
"""stable-baselines3: agents learn, predict, are saved."""

# libraries: stable-baselines3 gymnasium
import torch, numpy as np, gymnasium as gym, warnings

warnings.simplefilter("ignore")
from gymnasium import spaces


class Env(gym.Env):
    observation_space = spaces.Box(-10, 10, (3,), np.float32)

    def __init__(s, cont=False):
        s.action_space = spaces.Box(-1, 1, (1,), np.float32) if cont else spaces.Discrete(2)
        s.cont = cont

    def reset(s, seed=None, options=None):
        super().reset(seed=seed)
        s.x = np.array([0.5, -0.2, 0.1], np.float32)
        s.t = 0
        return s.x.copy(), {}

    def step(s, a):
        u = float(a[0]) if s.cont else (1.0 if a == 1 else -1.0)
        s.x = (s.x * 0.9 + np.array([u * 0.1, 0.05, -u * 0.05], np.float32)).astype(np.float32)
        s.t += 1
        return s.x.copy(), -float((s.x**2).sum()), False, s.t >= 20, {}


from stable_baselines3 import PPO, A2C, DQN, SAC, TD3, DDPG

for alg, cont, kw in (
    (PPO, False, dict(n_steps=32, batch_size=16, n_epochs=2)),
    (A2C, True, dict(n_steps=8)),
    (DQN, False, dict(learning_starts=20, buffer_size=200)),
    (SAC, True, dict(learning_starts=20, buffer_size=200, batch_size=16)),
    (TD3, True, dict(learning_starts=20, buffer_size=200, batch_size=16)),
    (DDPG, True, dict(learning_starts=20, buffer_size=200, batch_size=16)),
):
    try:
        m = alg("MlpPolicy", Env(cont), seed=0, policy_kwargs=dict(net_arch=[16]), device="cpu", **kw)
        m.learn(64)
        a, _ = m.predict(np.array([0.1, 0.2, 0.3], np.float32), deterministic=True)
        print(alg.__name__, np.round(a, 3), f"{sum(p.abs().sum() for p in m.policy.parameters()).item():.3f}")
        m.save("m.zip")
        m2 = alg.load("m.zip")
        print(np.allclose(m2.predict(np.array([0.1, 0.2, 0.3], np.float32), deterministic=True)[0], a))
    except Exception as e:
        print(alg.__name__, type(e).__name__, str(e)[:200])
