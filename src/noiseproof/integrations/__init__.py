"""Other libraries, one file for each; none is imported before you import its file.

====================  =================================================================================
lightning             ``RecordCallback`` for Lightning, DDP included
huggingface           ``compute_loss`` and ``RecordCallback`` for Trainer, ``fuse_loss`` for language models
skorch                ``classifier``, ``probabilities``: predict_proba that sums to 1
cleanlab              probabilities in, issues out, an issue type for Datalab
mlflow, wandb         watchers that pass the metrics of a run on; ``tensorboard`` the same
ray                   the engine of ``noiseproof compare --engine ray``
datasets              columns of a Hugging Face dataset in, findings as columns out
====================  =================================================================================
"""
