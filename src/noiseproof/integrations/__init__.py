"""Integrations of other libraries, one file for each; a library is imported only with its file.

====================  =================================================================================
lightning             ``RecordCallback`` for Lightning, DDP included
huggingface           ``compute_loss`` and ``RecordCallback`` for Trainer, ``fuse_loss`` for language models
skorch                ``classifier``, ``probabilities``: predict_proba that sums to 1
cleanlab              probabilities in, issues out, an issue type for Datalab
mlflow, wandb         watchers that log the metrics of a run; also ``tensorboard``
ray                   the engine of ``noiseproof compare --engine ray``
datasets              ``labels.find`` for Hugging Face datasets
====================  =================================================================================
"""
