/**
 * Models of pictures and sound against PyTorch: random runs whose peaks `capture/truth/media_receipts.py` took on fake CUDA tensors,
 * some with a part of the model left untrained.
 */
import path from "node:path";
import { agrees } from "./verified-case";

describe("models of pictures and sound", () => agrees(path.join(__dirname, "media")));
