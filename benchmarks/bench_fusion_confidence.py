"""How often the truth is in the 95 % interval that fusion tells (docs/measured-fusion.md).

python benchmarks/bench_fusion_confidence.py
"""

from __future__ import annotations

from statistics import fmean, pstdev

from headway_studies.beyond.simulated_confidence import shares

SEEDS = range(1, 9)
CASES = {
    "reports taken for independent": (False, 0.0),
    "correlated": (True, 0.0),
    "correlated, fixes share an error of 2 m, declared": (True, 2.0),
}


def main() -> None:
    print(f"40 cars, 24 s counted, seeds {SEEDS[0]} to {SEEDS[-1]}: mean and deviation of a seed")
    for name, (correlated, shared) in CASES.items():
        found = [
            shares(correlated=correlated, shared=shared, cycles=300, seed=seed) for seed in SEEDS
        ]
        told, ours = (
            f"{fmean(column):.1%} ± {pstdev(column):.1%}" for column in zip(*found, strict=True)
        )
        print(f"{name}: what the cars report {told}, our type 2 {ours}")


if __name__ == "__main__":
    main()
