#!/usr/bin/env bash
# Llama-3.1-8B on the eight GPUs of one machine, with run_clm.py of the transformers examples.
set -euo pipefail
cd "$(dirname "$0")"

deepspeed --num_gpus 8 run_clm.py train.json
