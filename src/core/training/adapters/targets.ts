/** Modules peft takes when none are named, by model type (`peft/utils/constants.py`, 0.21). */
export const PEFT_TARGETS: Readonly<Record<string, readonly string[]>> = {
  ...Object.fromEntries(
    "bart opt gptj gpt_neo llama llama4 mistral mixtral stablelm gemma gemma2 gemma3_text qwen2 qwen3"
      .split(" ")
      .map((type) => [type, ["q_proj", "v_proj"]]),
  ),
  t5: ["q", "v"],
  mt5: ["q", "v"],
  gpt2: ["c_attn"],
  gpt_bigcode: ["c_attn"],
  bloom: ["query_key_value"],
  gpt_neox: ["query_key_value"],
  falcon: ["query_key_value"],
  chatglm: ["query_key_value"],
  bert: ["query", "value"],
  roberta: ["query", "value"],
  "xlm-roberta": ["query", "value"],
  electra: ["query", "value"],
  "deberta-v2": ["query_proj", "value_proj"],
  deberta: ["in_proj"],
  mpt: ["Wqkv"],
  phi: ["q_proj", "v_proj", "fc1", "fc2"],
};
