"""Programs and training on many workers.

    program = partition(annotate(module, Mesh(data=4), {"x": "{data}, {}"}))     a program for each rank
    simulate(program, inputs)                                                    all ranks in one process
    step = Step(loss, params, batch, train.AdamW(1e-3), mesh=Mesh(data=4), zero=1)

See docs/distributed-training.md.
"""

from .annotations import annotate, annotations, shard
from .checkpoints import ShardedCheckpoints
from .cut import cut_pipeline
from .merge import merge_collectives
from .mesh import Mesh, Sharding
from .partitioning import Partitioned, partition
from .pipeline import Pipeline
from .propagation import propagate_shardings
from .ranks import LostWorker
from .schedules import schedule_pipeline
from .simulator import merged, simulate
from .training import Step

__all__ = [
    "LostWorker",
    "Mesh",
    "Partitioned",
    "Pipeline",
    "Sharding",
    "ShardedCheckpoints",
    "Step",
    "annotate",
    "annotations",
    "cut_pipeline",
    "merge_collectives",
    "merged",
    "partition",
    "propagate_shardings",
    "schedule_pipeline",
    "shard",
    "simulate",
]
