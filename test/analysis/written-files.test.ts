/** Files that a script or a notebook writes itself: they are those of its runs, and plans change them where their text stands. */
import { strict as assert } from "node:assert";
import { createAnalyzer } from "../../src/analysis";
import { LineIndex } from "../../src/analysis/documents/lines";
import { applyEdits } from "../../src/syntax/edit";
import { memoryRuntime, TINY_LLAMA, uri } from "./memory-runtime";
import { resolveFiles } from "./resolve-run";

const MODEL = { "model/config.json": JSON.stringify(TINY_LLAMA) };
const TRAINS = "train.py --model_name_or_path ./model --per_device_train_batch_size 1 --bf16 --output_dir o";
const ZERO3 = '{\n  "zero_optimization": {"stage": 3},\n  "bf16": {"enabled": true}\n}\n';

const heredoc = (path: string, body: string, command = `cat > ${path} <<'EOF'`): string => `${command}\n${body}EOF\n`;

function notebook(...cells: (string | string[])[]): string {
  return JSON.stringify({ cells: cells.map((source) => ({ cell_type: "code", source })), nbformat: 4 }, null, 1);
}

describe("analysis: files that a script writes", () => {
  it("a DeepSpeed file of a here-document is that of the command", async () => {
    const started = `deepspeed --num_gpus 4 ${TRAINS} --deepspeed ds.json\n`;
    for (const written of [
      heredoc("ds.json", ZERO3),
      heredoc("ds.json", ZERO3, "cat <<'EOF' > ds.json"),
      heredoc("ds.json", ZERO3, "cat <<'EOF' | tee ds.json"),
      heredoc("ds.json", ZERO3, "tee ds.json > /dev/null <<EOF"),
    ]) {
      const { run } = await resolveFiles({ ...MODEL, "run.sh": written + started }, "run.sh");
      assert.equal(run?.parallel.deepspeed?.zeroStage, 3, written);
    }
  });

  it("it stands before a file of that name, which it replaces, and what is added to one is no file", async () => {
    const started = `deepspeed --num_gpus 4 ${TRAINS} --deepspeed ds.json\n`;
    const files = { ...MODEL, "ds.json": '{"zero_optimization": {"stage": 1}}' };
    const { run } = await resolveFiles({ ...files, "run.sh": heredoc("ds.json", ZERO3) + started }, "run.sh");
    assert.equal(run?.parallel.deepspeed?.zeroStage, 3);
    const added = heredoc("ds.json", ZERO3, "cat >> ds.json <<'EOF'");
    assert.equal(
      (await resolveFiles({ ...files, "run.sh": added + started }, "run.sh")).run?.parallel.deepspeed?.zeroStage,
      1,
    );
  });

  it("the script that starts an open program writes for it, and variables have their values", async () => {
    const body = '{"zero_optimization": {"stage": $STAGE}, "bf16": {"enabled": true}}\n';
    const files = {
      ...MODEL,
      "run.sh": `STAGE=2\n${heredoc("ds.json", body, "cat > ds.json <<EOF")}deepspeed --num_gpus 4 train.py\n`,
      "train.py": [
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        'model = AutoModelForCausalLM.from_pretrained("./model")',
        'args = TrainingArguments("o", per_device_train_batch_size=1, bf16=True, deepspeed="ds.json")',
        "Trainer(model=model, args=args, train_dataset=data).train()",
        "",
      ].join("\n"),
    };
    const { run } = await resolveFiles(files, "train.py");
    assert.equal(run?.parallel.deepspeed?.zeroStage, 2);
  });

  it("accelerate's file, too", async () => {
    const yaml = "distributed_type: FSDP\nnum_processes: 4\nmixed_precision: bf16\nfsdp_config: {fsdp_version: 2}\n";
    const script = `${heredoc("f.yaml", yaml)}accelerate launch --config_file f.yaml ${TRAINS}\n`;
    const { run } = await resolveFiles({ ...MODEL, "run.sh": script }, "run.sh");
    assert.deepEqual([run?.parallel.worldSize, run?.parallel.fsdp?.version], [4, 2]);
  });

  it("cells that are a file's text are that file, and the command that starts one says how many GPUs", async () => {
    const text = notebook(
      ["%%writefile ds.json\n", ZERO3],
      [
        "%%writefile train.py\n",
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n",
        'model = AutoModelForCausalLM.from_pretrained("./model")\n',
        'args = TrainingArguments("o", per_device_train_batch_size=1, bf16=True, deepspeed="ds.json")\n',
        "Trainer(model=model, args=args, train_dataset=data).train()\n",
      ],
      "!deepspeed --num_gpus 2 train.py",
    );
    const { run } = await resolveFiles({ ...MODEL, "n.ipynb": text }, "n.ipynb");
    assert.deepEqual([run?.parallel.worldSize, run?.parallel.deepspeed?.zeroStage], [2, 3]);
  });

  it("the command that writes a config is not the one that starts it", async () => {
    const yaml =
      "model_name_or_path: ./model\nstage: sft\nfinetuning_type: full\ncutoff_len: 64\ndataset: a\ntemplate: llama3\noutput_dir: o\nper_device_train_batch_size: 1\n";
    const starts = "FORCE_TORCHRUN=1 NPROC_PER_NODE=4 llamafactory-cli train train.yaml\n";
    for (const files of [
      { "run.sh": `${heredoc("train.yaml", yaml, "tee train.yaml > /dev/null <<EOF")}${starts}` },
      { "run.sh": `sed -i s/a/b/ train.yaml\n${starts}`, "train.yaml": yaml },
    ]) {
      const { report } = await createAnalyzer(memoryRuntime({ ...MODEL, ...files })).analyse(uri("run.sh"), {});
      const world = report.runs[0]?.settings.find(({ name }) => name === "world_size");
      assert.equal(world?.value, 4);
    }
  });

  it("a mapping that Python dumps into a file is what the file's path stands for", async () => {
    const script = (dumps: string): string =>
      [
        "import json",
        "from transformers import AutoModelForCausalLM, Trainer, TrainingArguments",
        'config = {"zero_optimization": {"stage": 2}, "bf16": {"enabled": True}}',
        dumps,
        'model = AutoModelForCausalLM.from_pretrained("./model")',
        'args = TrainingArguments("o", per_device_train_batch_size=1, bf16=True, deepspeed="ds.json")',
        "Trainer(model=model, args=args, train_dataset=data).train()",
        "",
      ].join("\n");
    const stage = async (dumps: string) => {
      const files = { ...MODEL, "run.sh": "deepspeed --num_gpus 4 train.py\n", "train.py": script(dumps) };
      return (await resolveFiles(files, "train.py")).run?.parallel.deepspeed?.zeroStage;
    };
    assert.equal(await stage('with open("ds.json", "w") as f:\n    json.dump(config, f)'), 2);
    assert.equal(await stage('json.dump(config, open("ds.json", mode="w"), indent=2)'), 2);
    assert.equal(await stage('with open("other.json", "w") as f:\n    json.dump(config, f)'), undefined);
    assert.equal(await stage('with open("ds.json") as f:\n    json.dump(config, f)'), undefined);
  });

  it("a config that a script writes and starts a program on is its run, and a notebook's too", async () => {
    const yaml = [
      "model_name_or_path: ./model",
      "stage: sft",
      "finetuning_type: lora",
      "lora_rank: 4",
      "cutoff_len: 128",
      "dataset: a",
      "template: llama3",
      "output_dir: o",
      "per_device_train_batch_size: 4",
      "",
    ].join("\n");
    const starts = "llamafactory-cli train train.yaml";
    const python = `import json\nargs = dict(model_name_or_path="./model", stage="sft", finetuning_type="lora", lora_rank=4, cutoff_len=128, dataset="a", template="llama3", output_dir="o", per_device_train_batch_size=4)\njson.dump(args, open("train.json", "w"))\n`;
    for (const [name, text, changes] of [
      ["run.sh", `${heredoc("train.yaml", yaml)}${starts}\n`, true],
      ["written.ipynb", notebook(["%%writefile train.yaml\n", ...yaml.split(/(?<=\n)/)], `!${starts}`), true],
      ["dumped.ipynb", notebook(python, `!${starts.replace("yaml", "json")}`), false],
    ] as const) {
      const options = { set: { "device.name": "8GB" } };
      const analysis = await createAnalyzer(memoryRuntime({ ...MODEL, [name]: text })).analyse(uri(name), options);
      const [run] = analysis.report.runs;
      const value = (setting: string) => run?.settings.find((one) => one.name === setting)?.value;
      assert.deepEqual([value("micro_batch_size"), value("sequence_length")], [4, 128], name);
      assert.deepEqual(run?.documents, [uri(name), uri("model/config.json")]);
      const edits = (run?.plans ?? []).flatMap((plan) => plan.edits);
      assert.ok(edits.every((edit) => edit.uri === uri(name) || edit.uri.endsWith(".vramlens.yaml")));
      const tried = analysis.whatIfEdits(run?.id ?? "", { micro_batch_size: "2" });
      assert.equal(tried !== null && "edits" in tried, changes, name);
      if (tried === null || !("edits" in tried)) continue;
      const edited = await analysis.edited?.(run?.id ?? "", tried.edits);
      assert.equal(edited?.settings.find((one) => one.name === "micro_batch_size")?.value, 2);
      assert.ok(createAnalyzer(memoryRuntime({})).recognise(uri(name), text));
    }
  });

  it("what is found and what plans change stands in the script", async () => {
    const wrong = ZERO3.replace('"stage": 3', '"stage": 3, "overlap_com": true');
    const started = `deepspeed --num_gpus 4 ${TRAINS} --deepspeed ds.json\n`;
    const cells = notebook(["%%bash\n", heredoc("ds.json", wrong)], `!${started.trim()}`);
    for (const [name, text] of [
      ["run.sh", `# writes its own file\n${heredoc("ds.json", wrong)}${started}`],
      ["n.ipynb", cells],
    ] as const) {
      const analysis = await createAnalyzer(memoryRuntime({ ...MODEL, [name]: text })).analyse(uri(name), {});
      const finding = analysis.report.runs[0]?.findings.find(({ code }) => code === "unknown-key");
      assert.equal(finding?.uri, uri(name));
      const lines = new LineIndex(text);
      const { start, end } = finding?.range ?? assert.fail("no place");
      const at = [lines.offset(start.line, start.character), lines.offset(end.line, end.character)] as const;
      assert.match(text.slice(...at), /overlap_com/);
      const [fix] = (await analysis.fixes(finding?.range ?? assert.fail())).filter(
        ({ code }) => code === "unknown-key",
      );
      const spans = (fix?.edits ?? []).map(({ range, newText }) => ({
        start: lines.offset(range.start.line, range.start.character),
        end: lines.offset(range.end.line, range.end.character),
        newText,
      }));
      assert.equal(applyEdits(text, spans), text.replace("overlap_com", "overlap_comm"));
    }
  });

  it("keys of that text have hovers and completions where they stand, and what is around it has its own", async () => {
    const started = `deepspeed --num_gpus 4 ${TRAINS} --deepspeed ds.json\n`;
    const typed = ZERO3.replace('"stage": 3', '"stage": 3, "cpu"');
    for (const [name, textOf] of [
      ["run.sh", (file: string) => `# writes its own file\n${heredoc("ds.json", file)}${started}`],
      ["n.ipynb", (file: string) => notebook(["%%bash\n", heredoc("ds.json", file)], `!${started.trim()}`)],
      ["cell.ipynb", (file: string) => notebook(["%%writefile ds.json\n", file], `!${started.trim()}`)],
    ] as const) {
      const open = (text: string) => createAnalyzer(memoryRuntime({ ...MODEL, [name]: text })).analyse(uri(name), {});
      const at = (text: string, word: string): readonly [number, number] => {
        const { line, character } = new LineIndex(text).position(text.indexOf(word) + word.length);
        return [line, character];
      };
      const text = textOf(ZERO3);
      const hovered = await (await open(text)).hover(...at(text, "stag"));
      assert.match(hovered?.markdown ?? "", /ZeRO/, name);
      const lines = new LineIndex(text);
      const { start, end } = hovered?.range ?? assert.fail("no place");
      const spelled = text.slice(lines.offset(start.line, start.character), lines.offset(end.line, end.character));
      assert.match(spelled, /^\\?"stage\\?"$/);

      const half = textOf(typed);
      const analysis = await open(half);
      const offered = (await analysis.complete?.(...at(half, "cpu"))) ?? [];
      const key = offered.find(({ label }) => label === "offload_optimizer");
      assert.equal(
        key?.insertText,
        JSON.stringify('"offload_optimizer": ')
          .slice(1, -1)
          .replaceAll(name === "run.sh" ? "\\" : "", ""),
      );
      const outside = await analysis.complete?.(...at(half, "--bf16 "));
      assert.ok(outside?.every(({ label }) => label !== "offload_optimizer"));
    }
  });
});
