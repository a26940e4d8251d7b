/** Modules that are no code of a person's own, whatever lies in the workspace: libraries, and Python's own. */
const NAMES: ReadonlySet<string> = new Set(
  (
    "transformers peft trl accelerate datasets diffusers deepspeed bitsandbytes sentence_transformers setfit evaluate tokenizers safetensors " +
    "huggingface_hub timm pytorch_lightning monai numpy np pandas scipy sklearn matplotlib seaborn PIL cv2 tqdm wandb mlflow yaml omegaconf hydra " +
    "fire typer click tyro rich loguru einops flash_attn xformers apex liger_kernel vllm openai nltk sacrebleu jiwer librosa soundfile " +
    "albumentations requests packaging absl psutil ray optuna jax flax tensorflow keras __future__ abc argparse ast asyncio base64 collections " +
    "concurrent contextlib copy csv dataclasses datetime enum functools gc glob gzip hashlib importlib inspect io itertools json logging math " +
    "multiprocessing operator os pathlib pickle platform pprint queue random re shutil signal socket statistics string struct subprocess sys " +
    "tempfile textwrap threading time traceback types unittest urllib uuid warnings weakref zipfile"
  ).split(" "),
);
/** Names that begin those of several. */
const KINDS = /^(?:torch|unsloth|lightning|tensorboard|rouge|typing)\w*$/;

/** Whether a dotted name is one of a library's. */
export function isLibrary(dotted: string): boolean {
  const [root = ""] = dotted.split(".", 1);
  return NAMES.has(root) || KINDS.test(root);
}
