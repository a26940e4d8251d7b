// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the samples are shell and OmegaConf text
import { strict as assert } from "node:assert";
import { mainCommand, parseShell } from "../../src/syntax/shell";
import { codes, plain } from "./values";

describe("syntax: shell", () => {
  const main = (text: string, flavour?: "makefile" | "dockerfile") => {
    const parsed = parseShell(text, flavour);
    const command = parsed.shell === undefined ? null : mainCommand(parsed.shell);
    assert.ok(command !== null, "no command");
    return command;
  };
  const flags = (text: string, flavour?: "makefile" | "dockerfile") => plain(main(text, flavour).flags);

  it("reads continued commands, both flag forms, lists and booleans", () => {
    const text = `#!/bin/bash
export CUDA_VISIBLE_DEVICES=0,1
NPROC_PER_NODE=2 torchrun --nproc_per_node 2 train.py \\
  --bf16 True --tf32 \\
  --learning_rate=2e-5 \\
  --target_modules q_proj v_proj \\
  --name "a b" -b 4
`;
    assert.deepEqual(flags(text), {
      nproc_per_node: 2,
      bf16: true,
      tf32: true,
      learning_rate: 2e-5,
      target_modules: ["q_proj", "v_proj"],
      name: "a b",
      b: 4,
    });
    assert.deepEqual(plain(main(text).environment), { CUDA_VISIBLE_DEVICES: "0,1", NPROC_PER_NODE: 2 });
    assert.deepEqual(
      main(text).positional.map((word) => word.text),
      ["torchrun", "train.py"],
    );
  });

  it("takes what is not known of further options for no value", () => {
    const text = `MODEL=$2
MODEL=\${MODEL:-"a/b"}
python train.py --model $MODEL --beta 0.1 \${EXTRA_ARGS} --fp16 "$@"
`;
    assert.deepEqual(flags(text), { model: "a/b", beta: 0.1, fp16: true });
  });

  it("takes a place that is left to be written for a value that is not known", () => {
    const text = "python t.py --model <PATH-TO-Qwen2-2B> --bf16 True --out <OUTPUT DIR>\n";
    const [model, bf16] = main(text).flags.entries;
    assert.equal(model?.value.kind, "unknown");
    assert.equal(bf16?.value.kind === "scalar" && bf16.value.value, true);
    assert.deepEqual(flags("python t.py --model a <in.txt >out.txt\n"), { model: "a" });
  });

  it("takes what a script gives in place of an argument for its default", () => {
    const text = `while [[ $# -gt 0 ]]; do
  case $1 in
    --model) MODEL="$2"; shift 2 ;;
    *) break ;;
  esac
done
if [ -z "$MODEL" ]; then
  MODEL="a/b"
fi
python train.py --model $MODEL
`;
    assert.deepEqual(flags(text), { model: "a/b" });
  });

  it("follows variables, defaults, arrays, arithmetic and strings of flags", () => {
    const text = `GPUS=8
NODES=\${NNODES:-2}
WORLD=$((GPUS * $NODES))
OLD=$[$WORLD/(2*$NODES)]
MBS=4
ARGS=(
  --micro-batch-size $MBS # comment
  --global-batch-size 128
)
MORE="
  --num-layers 32 \\
  --bf16"
torchrun \${ARGS[@]} $MORE --world $WORLD --old $OLD --save $1 --name x-$UNSET-y
`;
    const value = flags(text) as Record<string, unknown>;
    assert.equal(value["micro-batch-size"], 4);
    assert.equal(value["global-batch-size"], 128);
    assert.equal(value["num-layers"], 32);
    assert.equal(value["bf16"], true);
    assert.equal(value["world"], 16);
    assert.equal(value["old"], 4);
    assert.deepEqual(value["save"], { unknown: "an argument of the script" });
    assert.deepEqual(value["name"], { unknown: "`UNSET` is set outside of this file" });
  });

  it("splits the elements of an array that stands without quotes, as bash does", () => {
    const list = `ARGS=(\n  "--fp8-format hybrid"\n  "--data-path $DATA/x"\n  "--bf16"\n)\n`;
    const unquoted = flags(`${list}torchrun train.py \${ARGS[@]}\n`) as Record<string, unknown>;
    assert.equal(unquoted["fp8-format"], "hybrid");
    assert.equal(unquoted["bf16"], true);
    assert.ok("data-path" in unquoted);
    const quoted = flags(`NAMES=("a b" c)\ntorchrun train.py --names "\${NAMES[@]}"\n`) as Record<string, unknown>;
    assert.deepEqual(quoted["names"], ["a b", "c"]);
  });

  it("places a value where it is used and its source where it is written", () => {
    const text = "MBS=4\nrun --micro $MBS --x=\"8\" --y='9'\n";
    const entries = main(text).flags.entries;
    const micro = entries[0]?.value;
    assert.ok(micro?.kind === "scalar" && micro.source !== undefined);
    assert.equal(text.slice(micro.start, micro.end), "$MBS");
    assert.equal(text.slice(micro.source.start, micro.source.end), "4");
    const x = entries[1];
    assert.ok(x?.value.kind === "scalar");
    assert.equal(text.slice(x.keySpan.start, x.keySpan.end), "--x");
    assert.equal(text.slice(x.value.start, x.value.end), '"8"');
    assert.equal(x.value.value, 8);
  });

  it("keeps the output of a command in one piece", () => {
    const text = 'HERE=$(cd -- "$(dirname "$0")" ; pwd)\nrun $HERE/train.py --config $HERE/a.yaml --b 2\n';
    assert.deepEqual(flags(text), { config: { unknown: "the output of a command" }, b: 2 });
    assert.equal(main(text).words.length, 6);
  });

  it("reads Hydra overrides", () => {
    const command = main(
      "python3 -m verl.trainer.main_ppo data.train_batch_size=1024 +trainer.x='a' --config-name='p.yaml' $@",
    );
    assert.deepEqual(plain(command.overrides), { "data.train_batch_size": 1024, "trainer.x": "a" });
    assert.deepEqual(plain(command.flags), { m: "verl.trainer.main_ppo", "config-name": "p.yaml" });
  });

  it("calls a value that depends on a condition or a loop unknown", () => {
    const text = "B=1\nif [ x ]; then B=2; fi\nfor s in 1 2; do run --batch $B --seed $s; done\n";
    assert.deepEqual(flags(text), {
      batch: { unknown: "`B` depends on a condition" },
      seed: { unknown: "a loop variable" },
    });
  });

  it("follows a condition the script itself decides", () => {
    const text =
      'DEBUG=0\nif [[ $DEBUG -eq 1 ]]; then\n B=32\nelif [ "$DEBUG" = "0" ]; then\n B=8\nelse\n B=256\nfi\nrun --b $B\n';
    assert.deepEqual(flags(text), { b: 8 });
    assert.deepEqual(flags('if [ -z "$A" ]; then A=1; else A=2; fi\nrun --a $A\n'), {
      a: { unknown: "`A` depends on a condition" },
    });
    assert.deepEqual(flags('if [ -z "$A" ]; then A=1; fi\nrun --a $A\n'), { a: 1 });
  });

  it("follows a case over a value the script sets", () => {
    const text =
      'S="8B"\ncase "${S}" in\n  "800M"|tiny)\n    H=1\n    ;;\n  "8B") H=4; X=2 ;;\n  *) exit 1 ;;\nesac\nrun --h $H --x $X\n';
    assert.deepEqual(flags(text), { h: 4, x: 2 });
    assert.deepEqual(flags("case $1 in a) H=1;; b) H=2;; esac\nrun --h $H\n"), {
      h: { unknown: "`H` depends on a condition" },
    });
  });

  it("reads nested scripts: bash -c, eval and here-documents", () => {
    assert.deepEqual(flags('CMD="train --a 1 --b 2"\nsrun bash -c "$CMD --c 3"\n'), { a: 1, b: 2, c: 3 });
    assert.deepEqual(flags("read -r -d '' ARGS <<EOF\n--a 1 \\\n--b 2\nEOF\ndeepspeed --module x.y $ARGS\n"), {
      module: "x.y",
      a: 1,
      b: 2,
    });
    assert.deepEqual(flags("cat <<EOF > x.json\n--not a flag\nEOF\ntrain --a 1\n"), { a: 1 });
    assert.deepEqual(flags('cmd="GPU=0 train --a 1 --b 2"\neval $cmd\n'), { a: 1, b: 2 });
  });

  it("takes what an environment's runner starts for the command", () => {
    assert.deepEqual(flags("uv run --extra gpu python -m train --a 1\n"), { m: "train", a: 1 });
    assert.deepEqual(flags("docker run --gpus all -v a:b image torchrun --a 1 train.py --b 2\n"), { a: 1, b: 2 });
  });

  it("reads Makefiles and Dockerfiles", () => {
    assert.deepEqual(flags("B ?= 4\n\ntrain: data\n\t@python train.py --batch $(B) \\\n\t  --bf16\n", "makefile"), {
      batch: 4,
      bf16: true,
    });
    assert.deepEqual(flags('FROM x\nENV B=4\nCMD ["torchrun", "train.py", "--batch", "4"]\n', "dockerfile"), {
      batch: 4,
    });
  });

  it("reports what ends a command by mistake", () => {
    assert.deepEqual(codes(parseShell("train --a 1 \\ \n  --b 2\n").problems), ["lost-continuation"]);
    assert.deepEqual(codes(parseShell("train --a 1 \\\n  # --b 2 \\\n  --c 3\n").problems), ["comment-ends-command"]);
    const twice = "train --a 1 \\\n  # one\n  --b 2 \\\n  # two\n  --c 3\n";
    assert.deepEqual(codes(parseShell(twice).problems), ["comment-ends-command"]);
    assert.equal(parseShell(`${twice}${twice}`).problems.length, 2);
    // Options below a comment are meant for the command; a shell would not pass them.
    const below = parseShell("train --a 1 \\\n  # --b 2 \\\n  --c 3\necho done\n").shell?.commands ?? [];
    assert.deepEqual(
      below.map(({ flags }) => plain(flags)),
      [{ a: 1, c: 3 }, {}],
    );
    assert.deepEqual(plain(parseShell("#SBATCH --gpus-per-node=8\n#SBATCH -N 2\n").shell?.directives), {
      "gpus-per-node": 8,
      N: 2,
    });
  });

  it("takes what stands before a loop over the script's arguments as the default", () => {
    const text = `MODEL="a/b"
OTHER="x"
while [[ "$1" != "" ]]; do
  case $1 in
    -m) shift; MODEL=$1 ;;
    -o) OTHER=$(pick) ;;
  esac
  shift
done
train --model $MODEL --other $OTHER
`;
    const command = parseShell(text).shell?.commands.at(-1);
    const [model, other] = command?.flags.entries ?? [];
    assert.ok(model?.value.kind === "scalar" && model.value.value === "a/b" && model.value.standard === "MODEL");
    assert.equal(other?.value.kind, "unknown");
  });
});
