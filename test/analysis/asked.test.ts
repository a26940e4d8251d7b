/** What `--device` and `--set` understand: a misspelling is refused with the nearest name, never ignored. */
import { strict as assert } from "node:assert";
import { isSettable, requestComplaint, unusedComplaint } from "../../src/analysis/linking/asked";
import { complaintText } from "../../src/analysis/pins/complaints";
import { fakeRun } from "../cli/fake";

/** The complaint in one line; empty where the request is understood. */
function said(request: Parameters<typeof requestComplaint>[0]): string {
  const complaint = requestComplaint(request);
  return complaint === null ? "" : complaintText(complaint, "en");
}

describe("what is asked for by name", () => {
  for (const device of ["RTX 4090", "A100-80GB", "24GB", "24", "8xH100", "p4d.24xlarge", "H100 MIG 3g.40gb"]) {
    it(`knows the device ${device}`, () => assert.equal(said({ device }), ""));
  }

  for (const [device, near] of [
    ["banana", 'no GPU called "banana"; vram-lens devices lists them'],
    ["A100 80", 'no GPU called "A100 80" (did you mean NVIDIA A100'],
    ["4O90", 'no GPU called "4O90" (did you mean NVIDIA GeForce RTX 4090'],
  ] as const) {
    it(`refuses the device ${device}`, () => assert.ok(said({ device }).startsWith(near), said({ device })));
  }

  for (const [key, value] of [
    ["micro_batch_size", "4"],
    ["per_device_train_batch_size", "4"],
    ["bf16", "true"],
    ["compute_dtype", "bf16"],
    ["load_dtype", "bfloat16"],
    ["torch_dtype", "auto"],
    ["optim", "adamw_8bit"],
    ["attention", "flash_attention_2"],
    ["attn_implementation", "kernels-community/flash-attn2"],
    ["quantization", "nf4"],
    ["adapter", "lora"],
    ["model", "my/model"],
    ["sequence_length", "4096"],
    ["lora_target_modules", "q_proj,v_proj"],
  ] as const) {
    it(`takes ${key}=${value}`, () => assert.equal(said({ set: { [key]: value } }), ""));
  }

  for (const [key, value, complaint] of [
    ["per_device_train_batch_sise", "2", 'no setting called "per_device_train_batch_sise" (did you mean per_device_'],
    ["micro_batch_size", "two", 'micro_batch_size cannot be "two"; it is a whole number from 1'],
    ["sequence_length", "1.5", 'sequence_length cannot be "1.5"'],
    ["load_dtype", "bf61", 'load_dtype cannot be "bf61"'],
    ["attention", "flsh", 'attention cannot be "flsh"'],
    ["zero_stage", "7", 'zero_stage cannot be "7"; it is a whole number from 0 to 3'],
    ["__proto__", "1", 'no setting called "__proto__"'],
  ] as const) {
    it(`refuses ${key}=${value}`, () => {
      const text = said({ set: Object.fromEntries([[key, value]]) });
      assert.ok(text.startsWith(complaint), text);
    });
  }

  it("is said in the person's language", () => {
    for (const [request, complaint] of [
      [{ device: "banana" }, "没有名为“banana”的 GPU；vram-lens devices 可列出"],
      [{ set: { zero_stage: "7" } }, "zero_stage 不能是“7”；它是 0 到 3 的整数"],
      [{ set: { micro_batch_sise: "2" } }, "没有名为“micro_batch_sise”的设置（是否指 micro_batch_size？）"],
    ] as const) {
      const found = requestComplaint(request);
      assert.equal(found === null ? "" : complaintText(found, "zh-cn"), complaint);
    }
  });

  it("asks the formats of the runs: another format's key changes nothing there", () => {
    const run = fakeRun("file:///a/train.yaml");
    const ofRuns = (set: Readonly<Record<string, string>>): string => {
      const complaint = unusedComplaint(set, [run]);
      return complaint === null ? "" : complaintText(complaint, "en");
    };
    assert.equal(unusedComplaint({ per_device_train_batch_size: "2" }, [run]), null);
    assert.match(ofRuns({ train_iters: "2" }), /no setting called "train_iters"/);
    assert.equal(unusedComplaint({ batch: "1" }, [run])?.near[0], "micro_batch_size");
    assert.deepEqual(unusedComplaint({ bf16: "ture" }, [run])?.near, ["true"]);
    assert.match(ofRuns({ fp16: "ture" }), /fp16 cannot be "ture"/);
  });
});

describe("keys that settle an assumption", () => {
  it("are those that a file, a pin or an option can state", () => {
    for (const name of ["model", "dtype", "libraries", "zero3_init_flag", "init_lora_weights", "lora_dropout"])
      assert.ok(isSettable(name), name);
    for (const name of ["cudnn", "torch", "routing"]) assert.ok(!isSettable(name), name);
  });
});
